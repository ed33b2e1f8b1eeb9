"""Whether metrics are served, or could be. Warnings only: no port that is taken keeps the service from running."""

import errno
import http.client
import ipaddress
import os

from cmgr.cli.check.checks import OK, WARNING, Finding
from cmgr.service.metrics_http import PATH, address, bound

SECONDS = 3.0
WHAT = "metrics"


def metrics(listen: str) -> Finding:
    """Return what speaks against serving metrics there. Blocks up to a few seconds."""
    if not listen:
        return Finding(WHAT, OK, "switched off")
    try:
        bound(listen).close()
    except OSError as error:
        return _taken(listen) if error.errno == errno.EADDRINUSE else _impossible(listen, error)
    return _open_to_all(listen) or Finding(WHAT, OK, f"{listen} is free; the service takes it")


def _impossible(listen: str, error: OSError) -> Finding:
    hint = "run cmgr check as root" if error.errno in (errno.EACCES, errno.EPERM) else "set metrics.listen"
    why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
    return Finding(WHAT, WARNING, f"cannot listen on {listen}: {why}", hint)


def _taken(listen: str) -> Finding:
    if not _is_cmgr(listen):
        return Finding(WHAT, WARNING, f"another program listens on {listen}", "set metrics.listen to a free port")
    return _open_to_all(listen) or Finding(WHAT, OK, f"served on http://{listen}{PATH}")


def _is_cmgr(listen: str) -> bool:
    connection = http.client.HTTPConnection(*address(listen), timeout=SECONDS)
    try:
        connection.request("GET", PATH)
        return b"\ncmgr_build_info{" in connection.getresponse().read(1 << 20)
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _open_to_all(listen: str) -> Finding | None:
    host, _ = address(listen)
    if host == "localhost":
        return None
    try:
        if ipaddress.ip_address(host).is_loopback:
            return None
    except ValueError:
        pass  # A name: it was written on purpose, and for others.
    text = f"on {listen} everybody who can reach it reads them: there is no password"
    return Finding(WHAT, WARNING, text, "let a firewall guard it, or listen on 127.0.0.1")
