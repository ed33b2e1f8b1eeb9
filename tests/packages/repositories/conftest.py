import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.packages import dists
from tests.packages.test_rpm import newer

NAME = "cmgr tests <owner@packages.example>"

URL = "file:///repo"
"""Where machines have the repository."""


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


@pytest.fixture(scope="session")
def repository(owner: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One of this version and a later one."""
    dist = tmp_path_factory.mktemp("dist")
    for arch in dists.ARCHES:
        for package in (dists.deb(arch), dists.rpm(arch)):
            (dist / package.name).symlink_to(package)
    later = dists.later(dists.deb(), tmp_path_factory.mktemp("later"), "8.0.0")
    later.rename(dist / f"cmgr_8.0.0-1_{dists.DEB_NAMES[dists.NATIVE]}.deb")
    newer(dist)
    settings = [f"{name}={value}" for name, value in {**owner, "CMGR_DIST": dist, "URL": URL}.items()]
    dists.said("env", *settings, "sh", str(dists.ROOT / "packaging/repo.sh"))
    return dist / "repo"
