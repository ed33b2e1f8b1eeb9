import subprocess
from collections.abc import Iterator, Mapping

import pytest

from tests.packages import dists

NAME = "cmgr tests <owner@packages.example>"


@pytest.fixture(scope="session")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """The environment of somebody whose key signs: one that is thrown away."""
    home = tmp_path_factory.mktemp("gpg")
    home.chmod(0o700)
    gpg = ("env", f"GNUPGHOME={home}", "gpg", "--batch", "--quiet", "--passphrase", "")
    try:
        dists.said(*gpg, "--quick-gen-key", NAME, "rsa3072", "sign", "never")
        yield {"GNUPGHOME": str(home), "KEY": NAME}
    finally:
        subprocess.run(["env", f"GNUPGHOME={home}", "gpgconf", "--kill", "gpg-agent"], check=True)
