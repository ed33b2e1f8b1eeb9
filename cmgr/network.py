"""The certificates by which cmgr believes a server."""

import ssl
from pathlib import Path

from cmgr.errors import CmgrError

_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
)
"""Where systems keep the certificates that they trust; a Python built elsewhere perhaps knows none."""


def trusting(ca_file: str) -> ssl.SSLContext:
    """Return what believes the certificates in this file alone, or those of the system. Raises `CmgrError`."""
    try:
        if ca_file:
            return ssl.create_default_context(cafile=ca_file)
        context = ssl.create_default_context()
        known = ssl.get_default_verify_paths()
        if not known.cafile and not known.capath:
            for path in (p for p in _BUNDLES if Path(p).exists()):
                context.load_verify_locations(cafile=path)
                break
        return context
    except OSError as error:
        why = error.strerror or f"{type(error).__name__} {error}".strip()[:200]
        raise CmgrError(f"cannot read the certificates in {ca_file or 'the system'}: {why}") from None
