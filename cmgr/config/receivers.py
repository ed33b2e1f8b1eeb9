"""Receivers of alarms: the formats in which they are told, and what each of these needs and takes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import timedelta
from typing import Annotated
from urllib.parse import urlsplit

from cmgr import redact, trust
from cmgr.config.kinds import is_receiver
from cmgr.declare import Form, Meta
from cmgr.errors import ConfigError
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import ENGLISH, LANGUAGES, because, say

EVENTS = ("detected", "stopped", "reset", "recovered", "isolated", "gave_up", "deaf", "down", "up", "group", "trouble")

PLAIN_MAIL = "smtp+plain"


@dataclass(frozen=True, slots=True)
class Format:
    """The schemes of its addresses, none where it has no address; the settings that it needs, and others it takes."""

    schemes: tuple[str, ...] = ("https", "http")
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ("ca_file", "proxy", "every")


FORMATS: Mapping[str, Format] = {
    "json": Format(takes=("token_file", "ca_file", "proxy")),
    "alertmanager": Format(takes=("token_file", "ca_file", "proxy")),
    "wecom": Format(),
    "dingtalk": Format(takes=("secret_file", "ca_file", "proxy", "every")),
    "feishu": Format(takes=("secret_file", "ca_file", "proxy", "every")),
    "slack": Format(),
    "teams": Format(),
    "mail": Format(("smtp", "smtps", PLAIN_MAIL), ("sender", "to"), ("user", "secret_file", "ca_file", "every")),
    "syslog": Format(("udp", "tcp", "tls"), takes=("ca_file",)),
    "snmp": Format(("udp",), takes=("secret_file",)),
    "program": Format((), ("program",), ("every",)),
}


@dataclass(frozen=True, slots=True)
class Receiver:
    """A receiver of alarms."""

    url: Annotated[
        str,
        Meta(
            "Where it is reached, without a password; for Alertmanager its own address alone.",
            form=Form.RECEIVER,
            example='"https://alarms.example/cmgr"',
        ),
    ] = ""
    url_file: Annotated[
        str,
        Meta("A file whose text is that address, where a key is in it, as in those of chats.", form=Form.PATH),
    ] = ""
    format: Annotated[
        str,
        Meta("The form of its messages; docs/notices.md says what each needs.", choices=tuple(FORMATS)),
    ] = "json"
    events: Annotated[tuple[str, ...], Meta("The events that are sent to it.", choices=EVENTS)] = EVENTS
    lang: Annotated[str, Meta("The language of what it is told: en, or zh for Chinese.", choices=LANGUAGES)] = ENGLISH
    token_file: Annotated[
        str,
        Meta(
            "A file whose text is sent as bearer token; the same rule holds for it as for this file; empty: none.",
            form=Form.PATH,
        ),
    ] = ""
    secret_file: Annotated[
        str,
        Meta(
            "A file whose text is the key by which dingtalk and feishu are signed, the password of mail, or the"
            " community of snmp (else public).",
            form=Form.PATH,
        ),
    ] = ""
    user: Annotated[str, Meta("The name by which mail logs in; empty: it does not.")] = ""
    sender: Annotated[str, Meta("The address from which mail comes.", form=Form.MAIL)] = ""
    to: Annotated[tuple[str, ...], Meta("The addresses to which mail goes.", form=Form.MAIL)] = ()
    program: Annotated[
        str, Meta("The program of yours that is run for format program, root's alone.", form=Form.PATH)
    ] = ""
    every: Annotated[
        timedelta,
        Meta(
            "The shortest time between two messages of chats, mail and program; what comes meanwhile goes into one.",
            within=("1s", "24h"),
        ),
    ] = timedelta(seconds=4)
    proxy: Annotated[str, Meta("The proxy through which an https address is reached; empty: none.", form=Form.URL)] = ""
    ca_file: Annotated[
        str,
        Meta("The certificates to trust for TLS, PEM; empty: those of the system.", form=Form.PATH),
    ] = ""


def named(receiver: Receiver) -> str:
    """Return which receiver it is, without what may be secret."""
    if receiver.url:
        return redact.address(receiver.url)
    return receiver.program or f"{receiver.format} by {receiver.url_file}"


def address_of(receiver: Receiver) -> str:
    """Return where it is reached. Raises `ConfigError`, which tells nothing of what is in a file."""
    path = receiver.url_file
    if not path:
        return receiver.url
    url = trust.read(path).strip()
    schemes = FORMATS[receiver.format].schemes
    if not is_receiver(url) or urlsplit(url).scheme not in schemes:
        hint = say("config.begin-with", schemes=_begins(schemes))
        raise ConfigError(say("config.no-address", path=path, format=receiver.format), hint=hint)
    return url


def secret_of(path: str) -> str:
    """Return the secret in this file; empty where none is named. Raises `ConfigError`."""
    # Read each time: what was exchanged counts at once.
    secret = trust.read(path).strip() if path else ""
    if path and not secret:
        raise ConfigError(say("config.secret-empty", path=path), hint=say("config.write-secret"))
    return secret


def contradictions(receivers: Sequence[Receiver]) -> Iterator[str]:
    """Yield a sentence for each."""
    for number, receiver in enumerate(receivers, start=1):
        yield from _of_one(f"alarms.receivers[{number}]", receiver)


def _of_one(key: str, receiver: Receiver) -> Iterator[str]:
    form, name = FORMATS[receiver.format], receiver.format
    if form.schemes and bool(receiver.url) == bool(receiver.url_file):
        yield say("config.either-url", key=key, format=name, keys=["url", "url_file"])
    scheme = urlsplit(receiver.url).scheme
    if receiver.url and form.schemes and scheme not in form.schemes:
        yield say("config.format-address", key=f"{key}.url", format=name, schemes=_begins(form.schemes))
    known = {"format", "events", "lang", *form.needs, *form.takes, *(("url", "url_file") if form.schemes else ())}
    for field in fields(Receiver):
        given = getattr(receiver, field.name)
        if field.name in form.needs and not given:
            yield say("config.format-needs", key=f"{key}.{field.name}", format=name)
        elif field.name not in known and given != field.default:
            yield say("config.format-takes-not", key=f"{key}.{field.name}", format=name)
    if name == "mail" and bool(receiver.user) != bool(receiver.secret_file):
        yield because(key, say("config.both-or-none", keys=["user", "secret_file"]))
    if name == "mail" and receiver.user and scheme == PLAIN_MAIL:
        yield say("config.password-over-tls", key=f"{key}.url", schemes=_begins(("smtp", "smtps")))
    if receiver.proxy and scheme == "http":
        yield say("config.https-alone", key=f"{key}.proxy")
    if receiver.proxy.startswith("https:"):
        yield say("config.proxy-by-http", key=f"{key}.proxy", scheme="http://")


def _begins(schemes: Sequence[str]) -> list[str]:
    return [f"{scheme}://" for scheme in schemes]
