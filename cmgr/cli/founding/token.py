"""The file by which an appliance joins a fleet: it is carried there and used once."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from ipaddress import ip_address

from cmgr.config.engine import FleetSettings, contradictions
from cmgr.errors import CmgrError, ConfigError
from cmgr.frozen import dataclass
from cmgr.model.values.names import APPLIANCE
from cmgr.sentences.sentence import say
from cmgr.words import json_of

FORM = 1
"""The form of the file. Another one was made by another version."""

CA = "/etc/etcd/ca.pem"
PASSWORD = "/etc/cmgr/etcd-password"  # noqa: S105 - where it lies

_PLAIN = re.compile(r"[A-Za-z0-9_./:=\[\]-]*")


@dataclass(frozen=True, slots=True)
class Member:
    """An appliance: its name in the fleet, and its address where it has an etcd of its own, else empty."""

    name: str
    address: str = ""


@dataclass(frozen=True, slots=True)
class Token:
    """The way of one appliance into its fleet. Its text is a secret, for it has a key and a password.

    `cluster`: etcd's nodes, where each machine has one. `cert`, `key`, `ca`: PEM.
    """

    name: str
    prefix: str
    endpoints: tuple[str, ...]
    password: str
    ca: str = ""
    cert: str = ""
    key: str = ""
    cluster: tuple[str, ...] = ()
    address: str = ""
    form: int = FORM

    @property
    def text(self) -> str:
        return json.dumps(asdict(self), indent=1) + "\n"

    @property
    def settings(self) -> str:
        """The table for the configuration."""
        lines = ["[fleet]", 'engine = "etcd"', f"endpoints = {json.dumps(self.endpoints)}"]
        if self.ca:
            lines.append(f'ca = "{CA}"')
        lines += [f'name = "{self.name}"', f'prefix = "{self.prefix}"']
        lines += [f'user = "{self.name}"', f'password_file = "{PASSWORD}"']
        return "\n".join(lines) + "\n"

    @property
    def variables(self) -> str:
        """The variables of this machine's etcd."""
        at = f"https://{self.address}"
        own = f"/etc/etcd/{self.name}"
        rows = {
            "NAME": self.name,
            "DATA_DIR": "/var/lib/etcd/cmgr",
            "INITIAL_CLUSTER": ",".join(self.cluster),
            "INITIAL_CLUSTER_STATE": "new",
            "LISTEN_PEER_URLS": f"{at}:2380",
            "INITIAL_ADVERTISE_PEER_URLS": f"{at}:2380",
            "LISTEN_CLIENT_URLS": f"{at}:2379",
            "ADVERTISE_CLIENT_URLS": f"{at}:2379",
            "CERT_FILE": f"{own}.pem",
            "KEY_FILE": f"{own}.key",
            "PEER_CERT_FILE": f"{own}.pem",
            "PEER_KEY_FILE": f"{own}.key",
            "PEER_TRUSTED_CA_FILE": CA,
            "PEER_CLIENT_CERT_AUTH": "true",
            "AUTO_COMPACTION_RETENTION": "1h",
        }
        return "".join(f"ETCD_{name}={value}\n" for name, value in rows.items())


def token_of(text: str, path: str) -> Token:
    """Read a token. Raises `CmgrError`: it was cut, is of another form, or is something else."""
    command = "cmgr fleet setup"
    hint = say("found.copy-again", command=command)
    refused = CmgrError(say("found.no-token", path=path, command=command), hint=hint)
    try:
        told = json_of(text)
    except ValueError:
        raise refused from None
    if isinstance(told, dict) and told.get("form", FORM) != FORM:
        raise CmgrError(say("found.other-version", path=path), hint=say("found.same-cmgr"))
    if not isinstance(told, dict) or told.keys() != {field.name for field in fields(Token)} or not _is_plain(told):
        raise refused
    return Token(**{**told, "endpoints": tuple(told["endpoints"]), "cluster": tuple(told["cluster"])})


def _is_plain(told: Mapping[str, object]) -> bool:
    """Whether each value is of its kind, and none has what means something in a file of settings."""
    lists, files = ("endpoints", "cluster"), ("ca", "cert", "key")
    words = [told[name] for name in ("name", "prefix", "password", "address")]
    for name in lists:
        value = told[name]
        if not isinstance(value, list):
            return False
        words += value
    return all(isinstance(word, str) and _PLAIN.fullmatch(word) for word in words) and all(
        isinstance(text := told[name], str) and (not text or text.startswith("-----BEGIN ")) for name in files
    )


def members_of(words: Sequence[str], *, addressed: bool) -> tuple[Member, ...]:
    """Read the appliances of a command line: NAME=ADDRESS each, or NAME where etcd is elsewhere.

    Raises `ConfigError` with every mistake.
    """
    found = tuple(Member(name, address) for name, _, address in (word.partition("=") for word in words))
    mistakes: list[str] = [
        mistake for word, member in zip(words, found, strict=True) for mistake in _wrong(word, member, addressed)
    ]
    mistakes += [say("found.two-names", value=each) for each in _doubled([m.name for m in found])]
    mistakes += [say("found.two-addresses", value=each) for each in _doubled([m.address for m in found if m.address])]
    if not found:
        mistakes.append(say("found.names-none"))
    if mistakes:
        form = "a=10.0.0.1 b=10.0.0.2" if addressed else "a b"
        hint = say("found.name-each", command=f"cmgr fleet setup {form}")
        raise _refused(tuple(mistakes), hint)
    return found


def _refused(mistakes: tuple[str, ...], hint: str = "") -> ConfigError:
    # One alone is the message: of several each is shown.
    what = say("found.the-fleet", why=mistakes[0]) if len(mistakes) == 1 else say("found.cannot")
    return ConfigError(what, mistakes=mistakes, hint=hint)


def _doubled(values: list[str]) -> list[str]:
    return sorted({each for each in values if values.count(each) > 1})


def _wrong(word: str, member: Member, addressed: bool) -> list[str]:
    mistakes = list[str]()
    if not APPLIANCE.fullmatch(member.name):
        mistakes.append(say("found.letters", word=word))
    if addressed and not member.address:
        mistakes.append(say("found.address-missing", word=word, such=f"{member.name}=10.0.0.1"))
    elif not addressed and member.address:
        mistakes.append(say("found.needs-no-address", word=word))
    elif member.address:
        try:
            ip_address(member.address)
        except ValueError:
            kinds = ["IPv4", "IPv6"]
            mistakes.append(say("found.no-address", word=word, address=member.address, kinds=kinds))
    return mistakes


def tokens(
    members: Sequence[Member], prefix: str, endpoints: Sequence[str], passwords: Sequence[str]
) -> tuple[Token, ...]:
    """Return the tokens of all members, still without certificates. Raises `ConfigError`: no such way to an engine."""
    cluster = tuple(f"{member.name}=https://{host(member.address)}:2380" for member in members if member.address)
    found = tuple(
        Token(member.name, prefix, tuple(endpoints), password, cluster=cluster, address=host(member.address))
        for member, password in zip(members, passwords, strict=True)
    )
    mistakes = tuple(contradictions(FleetSettings(engine="etcd", endpoints=tuple(endpoints), prefix=prefix)))
    if mistakes:
        raise _refused(mistakes)
    return found


def host(address: str) -> str:
    """Return an address as it stands in a URL."""
    return f"[{address}]" if ":" in address else address
