"""Checks of what stands around recoveries: receivers of alarms, hooks, metrics, the directories of cmgr's files."""

import errno
import http.client
import ipaddress
import os
import ssl
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

from cmgr import redact, trust
from cmgr.cli.check.finding import ERROR, OK, WARNING, Finding, of_error
from cmgr.config.receivers import Receiver, address_of, named, secret_of
from cmgr.config.settings import Config, Metrics
from cmgr.errors import CmgrError, ConfigError, system_words
from cmgr.host.host import obstacle
from cmgr.sentences.sentence import chained, say
from cmgr.service.door.http.secured import locks
from cmgr.service.door.scrapes import PATH, address, bound
from cmgr.service.extras import hook_files
from cmgr.service.notices.programs import objection
from cmgr.service.notices.ways import GROUPED

SECONDS = 3.0
CONNECTORS = "webhook.office.com"


def findings(config: Config) -> Iterator[Finding]:
    """Yield what is found. Nothing is sent, and no hook is run."""
    yield from _receivers(config)
    yield from _hooks(config.hooks.dir)
    yield from _test(config.reset.test)


def _receivers(config: Config) -> Iterator[Finding]:
    for receiver in config.alarms.receivers:
        what = say("check.alarms", format=receiver.format)
        try:
            url = address_of(receiver)
            for path in (receiver.token_file, receiver.secret_file):
                secret_of(path)
        except ConfigError as error:
            yield of_error(what, error)
            continue
        if receiver.program and (why := objection(receiver.program)):
            yield Finding(what, ERROR, say("check.not-run", path=receiver.program, why=why.reason), why.hint)
        elif text := _in_plain(receiver, url):
            yield Finding(what, WARNING, text, say("check.use-https"))
        elif receiver.format == "teams" and (urlsplit(url).hostname or "").endswith(f".{CONNECTORS}"):
            yield Finding(what, WARNING, say("check.no-connectors", host=CONNECTORS), say("check.make-workflow"))
        else:
            yield Finding(what, OK, say("check.receiver", who=named(receiver), events=receiver.events))


def _in_plain(receiver: Receiver, url: str) -> str:
    """Return that a secret is sent where others can read it."""
    if not url.startswith("http:"):
        return ""
    if receiver.token_file:
        return say("check.token-in-plain", address=redact.address(url))
    return say("check.key-in-plain", address=redact.address(url)) if receiver.format in GROUPED else ""


def _test(path: str) -> Iterator[Finding]:
    if not path:
        return
    why = hook_files.objection(Path(path), str(Path(path).parent))
    if why:
        yield Finding("test of chips", ERROR, say("check.test-not-run", path=path, why=why.reason), why.hint)
    elif not hook_files.is_enabled(Path(path)):
        yield Finding("test of chips", ERROR, say("check.test-off", path=path), f"chmod a+x {path}")
    else:
        yield Finding("test of chips", OK, path)


def _hooks(directory: str) -> Iterator[Finding]:
    if not directory:
        return
    for hook in hook_files.HOOKS:
        what = say("check.hook", name=hook)
        for path in hook_files.commands(directory, hook):
            why = hook_files.objection(path, directory)
            if not hook_files.is_enabled(path):
                hint = say("check.or-remove", command=f"chmod u+x {path}")
                yield Finding(what, WARNING, say("check.hook-off", path=str(path)), hint)
            elif why:
                text = say("check.not-run", path=str(path), why=why.reason)
                yield Finding(what, ERROR, text, why.hint)
            else:
                yield Finding(what, OK, str(path))
    for name in hook_files.strangers(directory):
        hint = say("check.hooks-are", names=hook_files.HOOKS, directory="NAME.d")
        yield Finding("hooks", WARNING, say("check.no-hook", path=f"{directory}/{name}"), hint)


def programs(bus: str, pid: int) -> Finding:
    """Return how the service of this number runs hooks and makers' tools."""
    why = obstacle(bus, pid)
    if not why:
        return Finding("programs", OK, say("check.as-units", unit="cmgr-….service"))
    text = say("check.as-children", why=why)
    if not os.path.isdir("/run/systemd/system"):
        return Finding("programs", OK, text)
    hint = say("check.systemd-begins", command="systemctl start cmgr", bus=bus)
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
            why = say("check.way-unseen", path=path, why=system_words(error))
            found = trust.Weakness(why, say("trust.run-as-root"))
        if found is not None:
            yield Finding("directories", state, say("word.because", what=name, why=found.reason), found.hint)
            sound = False
    if sound:
        yield Finding("directories", OK, say("check.way-sound"))


def metrics(settings: Metrics) -> Finding:
    """Return what speaks against serving metrics there. Blocks up to a few seconds.

    Warnings only: no port that is taken keeps the service from running.
    """
    listen = settings.listen
    if not listen:
        return Finding("metrics", OK, say("check.switched-off"))
    try:
        for lock in locks(settings):
            if lock is not None:
                lock.begin()
        bound(listen).close()
    except CmgrError as error:
        return Finding("metrics", WARNING, chained(error), error.hint)
    except OSError as error:
        return _taken(settings) if error.errno == errno.EADDRINUSE else _impossible(listen, error)
    return _open_to_all(settings) or Finding("metrics", OK, say("check.port-free", listen=listen))


def _impossible(listen: str, error: OSError) -> Finding:
    hint = say("check.as-root") if error.errno in (errno.EACCES, errno.EPERM) else say("check.set-listen")
    why = os.strerror(error.errno) if error.errno and error.errno > 0 else system_words(error)
    return Finding("metrics", WARNING, say("check.cannot-listen", listen=listen, why=why), hint)


def _taken(settings: Metrics) -> Finding:
    listen = settings.listen
    if not _is_cmgr(settings):
        return Finding("metrics", WARNING, say("check.other-listens", listen=listen), say("check.set-free-port"))
    scheme = "https" if settings.cert else "http"
    served = say("check.served", address=f"{scheme}://{listen}{PATH}")
    return _open_to_all(settings) or Finding("metrics", OK, served)


def _is_cmgr(settings: Metrics) -> bool:
    place = address(settings.listen)
    try:
        if settings.cert:
            # A client's certificate, which this command has not, is asked for after the server has shown its own.
            shown = ssl.get_server_certificate(place, timeout=SECONDS)
            return shown.strip() in Path(settings.cert).read_text()
        with closing(http.client.HTTPConnection(*place, timeout=SECONDS)) as connection:
            connection.request("GET", PATH)
            answer = connection.getresponse()
            if answer.status == http.client.UNAUTHORIZED:
                return "cmgr" in answer.headers.get("WWW-Authenticate", "")
            return b"\ncmgr_build_info{" in answer.read(1 << 20)
    except (OSError, ValueError, http.client.HTTPException):
        return False


def _open_to_all(settings: Metrics) -> Finding | None:
    listen = settings.listen
    host, _ = address(listen)
    if host == "localhost" or (settings.cert and (settings.client_ca or settings.password_file)):
        return None
    try:
        if ipaddress.ip_address(host).is_loopback:
            return None
    except ValueError:
        pass  # A name: it was written on purpose, and for others.
    if settings.password_file:
        return Finding("metrics", WARNING, say("check.passwords-in-plain", listen=listen), say("check.set-cert"))
    return Finding("metrics", WARNING, say("check.no-password", listen=listen), say("check.guard-port"))
