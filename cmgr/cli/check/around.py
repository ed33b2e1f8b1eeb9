"""Checks of what stands around recoveries: receivers of alarms, hooks, metrics, the directories of cmgr's files."""

import errno
import http.client
import ipaddress
import os
from collections.abc import Iterator

from cmgr import redact, trust
from cmgr.cli.check.finding import ERROR, OK, WARNING, Finding, of_error
from cmgr.config.settings import Config
from cmgr.errors import ConfigError
from cmgr.host.host import obstacle
from cmgr.service.door.scrapes import PATH, address, bound
from cmgr.service.extras import hook_files

SECONDS = 3.0


def findings(config: Config) -> Iterator[Finding]:
    """Yield what is found. Nothing is sent, and no hook is run."""
    yield from _receivers(config)
    yield from _hooks(config.hooks.dir)


def _receivers(config: Config) -> Iterator[Finding]:
    for receiver in config.alarms.receivers:
        what = f"alarms {receiver.format}"
        try:
            if receiver.token_file and not trust.read(receiver.token_file).strip():
                yield Finding(what, ERROR, f"{receiver.token_file} is empty", "write the token into it")
                continue
        except ConfigError as error:
            yield of_error(what, error)
            continue
        named = redact.address(receiver.url)
        if receiver.token_file and named.startswith("http:"):
            yield Finding(what, WARNING, f"the token goes to {named} unencrypted", "use https")
        else:
            yield Finding(what, OK, f"{named} is told of {', '.join(receiver.events)}")


def _hooks(directory: str) -> Iterator[Finding]:
    if not directory:
        return
    for hook in hook_files.HOOKS:
        for path in hook_files.commands(directory, hook):
            why = hook_files.objection(path, directory)
            if not hook_files.is_enabled(path):
                hint = f"chmod u+x {path}, or remove it"
                yield Finding(f"hook {hook}", WARNING, f"{path} is not executable, and so not run", hint)
            elif why:
                text, _, hint = why.partition(": ")
                yield Finding(f"hook {hook}", ERROR, f"{path} is not run: {text}", hint)
            else:
                yield Finding(f"hook {hook}", OK, f"{path}")
    for name in hook_files.strangers(directory):
        hint = f"the hooks are {', '.join(hook_files.HOOKS)}, and files in NAME.d"
        yield Finding("hooks", WARNING, f"{directory}/{name} is no hook's name: it is never run", hint)


def programs(bus: str, pid: int) -> Finding:
    """Return how the service of this number runs hooks and makers' tools."""
    why = obstacle(bus, pid)
    if not why:
        return Finding("programs", OK, "hooks and makers' tools run in the host, each as a unit cmgr-….service")
    text = f"hooks and makers' tools are children of the service, in its sandbox, and end with it: {why}"
    if not os.path.isdir("/run/systemd/system"):
        return Finding("programs", OK, text)
    hint = f"have systemd begin it (systemctl start cmgr), with D-Bus on {bus}"
    return Finding("programs", WARNING, text, hint)


def directories(config: Config) -> Iterator[Finding]:
    """Yield each place where others could put their own files instead of cmgr's. A configuration there is not read."""
    # Many a system lets the group of its log daemon write /var/log: that is no reason not to log there.
    paths = (
        ("state_dir", f"{config.state_dir}/file", ERROR),
        ("socket", config.socket, ERROR),
        ("log.file", config.log.file, WARNING),
    )
    sound = True
    for name, path, state in paths:
        try:
            found = trust.weakness(path) if path else None
        except OSError as error:
            found = trust.Weakness(f"cannot look at the way to {path}: {error.strerror or error}", "run it as root")
        if found is not None:
            yield Finding("directories", state, f"{name}: {found.reason}", found.hint)
            sound = False
    if sound:
        yield Finding("directories", OK, "others can change nothing on the way to cmgr's files")


def metrics(listen: str) -> Finding:
    """Return what speaks against serving metrics there. Blocks up to a few seconds.

    Warnings only: no port that is taken keeps the service from running.
    """
    if not listen:
        return Finding("metrics", OK, "switched off")
    try:
        bound(listen).close()
    except OSError as error:
        return _taken(listen) if error.errno == errno.EADDRINUSE else _impossible(listen, error)
    return _open_to_all(listen) or Finding("metrics", OK, f"{listen} is free; the service takes it")


def _impossible(listen: str, error: OSError) -> Finding:
    hint = "run cmgr check as root" if error.errno in (errno.EACCES, errno.EPERM) else "set metrics.listen"
    why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
    return Finding("metrics", WARNING, f"cannot listen on {listen}: {why}", hint)


def _taken(listen: str) -> Finding:
    if not _is_cmgr(listen):
        return Finding("metrics", WARNING, f"another program listens on {listen}", "set metrics.listen to a free port")
    return _open_to_all(listen) or Finding("metrics", OK, f"served on http://{listen}{PATH}")


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
    return Finding("metrics", WARNING, text, "let a firewall guard it, or listen on 127.0.0.1")
