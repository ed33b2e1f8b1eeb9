"""Certificates of an authority of the tests' own, made by openssl."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.programs import at_another_time, program


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key: two files."""

    cert: Path
    key: Path


class Certificates:
    """An authority (`ca`), and what it has signed for loopback: for servers, and for clients."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._openssl = program("openssl")
        self.ca = folder / "ca.pem"
        self._ca_key = folder / "ca.key"
        subject = ["-subj", "/CN=the tests' authority"]
        # Python 3.13 refuses one that does not say what its key is for, and what is signed without its name.
        use = ["-addext", "keyUsage=critical,keyCertSign,cRLSign"]
        self._run("req", "-x509", *_new_key(self._ca_key), "-days", "30", *subject, *use, "-out", str(self.ca))
        self.server = self.signed("server")
        self.client = self.signed("client")

    def signed(self, name: str, *, days_ago: int = 0, host: str = "IP:127.0.0.1,DNS:localhost") -> Pair:
        """Return a certificate of this name; one that was signed so many days ago ended the day after."""
        pair = Pair(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        request, extra = self._folder / f"{name}.csr", self._folder / f"{name}.ext"
        extra.write_text(
            f"subjectAltName={host}\nextendedKeyUsage=serverAuth,clientAuth\nauthorityKeyIdentifier=keyid\n"
        )
        self._run("req", "-new", *_new_key(pair.key), "-subj", f"/CN={name}", "-out", str(request))
        words = ["x509", "-req", "-in", str(request), "-CA", str(self.ca), "-CAkey", str(self._ca_key)]
        words += ["-CAcreateserial", "-extfile", str(extra), "-days", "1", "-out", str(pair.cert)]
        before = at_another_time(f"-{days_ago}d") if days_ago else []
        self._run(*words, before=before)
        pair.key.chmod(0o600)
        return pair

    def _run(self, *words: str, before: list[str] | None = None) -> None:
        subprocess.run([*(before or []), self._openssl, *words], check=True, capture_output=True)


def _new_key(path: Path) -> list[str]:
    return ["-newkey", "rsa:2048", "-nodes", "-keyout", str(path)]
