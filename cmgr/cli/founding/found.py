"""The commands that make a fleet of appliances, and let one join it."""

import json
import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from cmgr import trust
from cmgr.cli import source
from cmgr.cli.founding import steps
from cmgr.cli.founding.token import CA, Member, Token, host, members_of, token_of, tokens
from cmgr.cli.text import out
from cmgr.errors import CmgrError, ConfigError, system_words
from cmgr.frozen import dataclass, replace
from cmgr.sentences.sentence import chained, say
from cmgr.shortcut import DEFAULT_CONFIG
from cmgr.words import json_of

if TYPE_CHECKING:
    from cmgr.cli.options import FleetOptions

KEPT = f"{steps.DIRECTORY}/cmgr-fleet.json"
"""A setup that was interrupted goes on with this: all tokens, and the password of etcd's root."""

ROOT_PASSWORD = f"{steps.DIRECTORY}/root-password"

_LOOK_EVERY = 2.0
_SEE_IT = ("cmgr check", "cmgr fleet status")


@dataclass(frozen=True, slots=True)
class Fleet:
    """A fleet that is being made here. `own`: each machine has an etcd of its own; else there is one elsewhere."""

    tokens: tuple[Token, ...]
    root_password: str
    own: bool
    goes_on: bool = False

    @property
    def is_certified(self) -> bool:
        return all(token.cert for token in self.tokens)

    def of(self, member: Member) -> Token:
        return next(token for token in self.tokens if token.name == member.name)

    @property
    def members(self) -> tuple[Member, ...]:
        return tuple(Member(token.name, token.address.strip("[]")) for token in self.tokens)


def setup(options: "FleetOptions") -> None:
    """Make the fleet whose first machine this is."""
    members = members_of(options.words or (), addressed=not options.engine)
    fleet = _kept(members) or _new(options, members)
    here = _here(options, members)
    config = str(options.config or DEFAULT_CONFIG)
    if options.shows:
        out.lines(_shown(fleet, here, config))
        return
    variables = _ready(fleet, config)
    out.told(_promises(fleet))
    if not options.yes:
        others = [member.name for member in members if member != here]
        question = say("found.ask", here=here.name, others=others) if others else say("found.ask-one")
        out.confirm(say("found.no-terminal"), question)
    _keep(fleet)
    if fleet.own and not fleet.is_certified:
        # Nobody has seen what a setup made that ended in here.
        _all(_certifying(members))
        fleet = _certified(fleet)
        _keep(fleet)
    own = fleet.of(here)
    _tell_others(fleet, own)
    if not source.configuration(options).fleet.engine:
        _all(steps.joining(own, config, variables))
    _wait(fleet, own)
    _all(steps.users(fleet.tokens, fleet.root_password, own=fleet.own, goes_on=fleet.goes_on))
    if fleet.own:
        steps.Write(ROOT_PASSWORD, f"{fleet.root_password}\n").do()
    os.unlink(KEPT)
    out.told([say("found.made", commands=_SEE_IT)])


def join(options: "FleetOptions") -> None:
    """Let this machine join by a token."""
    if not options.words or len(options.words) > 1:
        raise ConfigError(say("found.one-token"), hint="cmgr fleet join NAME.join")
    path = options.words[0]
    token = token_of(sys.stdin.read() if path == "-" else trust.read(path), path)
    config = str(options.config or DEFAULT_CONFIG)
    if options.shows:
        variables = steps.variables_file() if token.cluster else ""
        out.lines(_lines(steps.joining(token, config, variables)))
        return
    variables = _ready(Fleet((token,), "", own=bool(token.cluster)), config)
    _all(steps.joining(token, config, variables))
    if path != "-":
        os.unlink(path)  # It is for one machine, and has its key.
    if token.cluster:
        out.told([say("found.joined-etcd", name=token.name, commands=_SEE_IT)])
    else:
        out.told([say("found.joined", name=token.name, commands=_SEE_IT)])


def _new(options: "FleetOptions", members: Sequence[Member]) -> Fleet:
    own = not options.engine
    endpoints = [f"https://{host(m.address)}:2379" for m in members] if own else options.engine or []
    made = tokens(members, options.prefix, endpoints, [secrets.token_urlsafe(24) for _ in members])
    if own:
        return Fleet(made, secrets.token_urlsafe(24), own=True)
    ca = _text(str(options.ca)) if options.ca else ""
    password = trust.read(str(options.root_password)).strip() if options.root_password else ""
    return Fleet(tuple(replace(token, ca=ca) for token in made), password, own=False)


def _kept(members: Sequence[Member]) -> Fleet | None:
    """Return what an interrupted setup of the same members has left."""
    try:
        told = json_of(Path(KEPT).read_text())
        found = Fleet(
            tuple(token_of(json.dumps(token), KEPT) for token in told["tokens"]),
            told["root_password"],
            told["own"],
            goes_on=True,
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CmgrError(say("found.cannot-go-on", path=KEPT, why=chained(error)), hint=f"rm {KEPT}") from None
    if found.members != tuple(members):
        hint = say("found.name-the-same", command=f"rm {KEPT} {steps.CA_KEY}")
        raise CmgrError(say("found.other-members", path=KEPT), hint=hint)
    return found


def _keep(fleet: Fleet) -> None:
    told = {
        "tokens": [json_of(token.text) for token in fleet.tokens],
        "root_password": fleet.root_password,
        "own": fleet.own,
    }
    steps.Write(KEPT, json.dumps(told)).do()


def _here(options: "FleetOptions", members: Sequence[Member]) -> Member:
    """Return which of them this machine is."""
    name = options.here or (members[0].name if options.engine else "")
    found = [m for m in members if m.name == name] if name else [m for m in members if _is_ours(m.address)]
    if len(found) != 1:
        why = say("found.none-of", name=name) if name else say("found.not-one")
        raise CmgrError(say("found.the-fleet", why=why), hint=say("found.which", option="--here NAME"))
    return found[0]


def _is_ours(address: str) -> bool:
    """Whether this machine has the address: only then can a socket be bound to it."""
    import socket

    family = socket.AF_INET6 if ip_address(address).version == 6 else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True


def _ready(fleet: Fleet, config: str) -> str:
    """Return the file of variables of this machine's etcd. Raises `CmgrError`: something is missing or in the way."""
    if os.geteuid():
        raise CmgrError(say("found.takes-root"), hint=say("found.sudo", command="sudo -i"))
    if re.search(r"^\s*\[fleet\]", _text(config), re.MULTILINE) and not fleet.goes_on:
        hint = say("found.see-it", command="cmgr fleet status")
        raise CmgrError(say("found.fleet-there", table="[fleet]", path=config), hint=hint)
    if not fleet.own:
        if shutil.which("etcdctl") is None and len(fleet.tokens) > 1:
            raise CmgrError(say("found.no-etcdctl", program="etcdctl"), hint="apt-get install etcd-client")
        return ""
    variables = steps.variables_file()
    if len(fleet.tokens) > 1 and shutil.which("openssl") is None:
        raise CmgrError(say("found.no-openssl", program="openssl"), hint="apt-get install openssl")
    is_set = steps.set_already(variables, fleet.tokens[0].variables if len(fleet.tokens) == 1 else "")
    if not fleet.goes_on and (is_set or Path(steps.CA_KEY).exists()):
        has = say("found.has-settings", path=variables) if is_set else say("found.there-is", path=steps.CA_KEY)
        hint = say("found.use-it", command="cmgr fleet setup --engine https://…")
        raise CmgrError(say("found.etcd-is-set", why=has), hint=hint)
    return variables


def _certified(fleet: Fleet) -> Fleet:
    """Return it with what was made for its members."""
    ca, own = _text(CA), f"{steps.DIRECTORY}/"
    certified = (
        replace(token, ca=ca, cert=_text(f"{own}{token.name}.pem"), key=_text(f"{own}{token.name}.key"))
        for token in fleet.tokens
    )
    return replace(fleet, tokens=tuple(certified))


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except (OSError, ValueError) as error:
        raise CmgrError(say("found.unread", path=path, why=system_words(error))) from None


def _tell_others(fleet: Fleet, own: Token) -> None:
    """Write the tokens of the others, and say what to do with them."""
    told = []
    for token in fleet.tokens:
        if token != own:
            path = f"{steps.DIRECTORY}/{token.name}.join"
            steps.Write(path, token.text).do()
            to = f"root@{token.address.strip('[]') or token.name}"
            command = f"scp {path} {to}: && ssh {to} cmgr fleet join {token.name}.join"
            told.append(out.spoken(say("found.for-member", name=token.name, command=command)))
    if told:
        out.lines(["", out.spoken(say("found.bring"))])
        out.lines(f"  {line}" for line in told)
        out.lines([""])
    out.flush()


def _wait(fleet: Fleet, own: Token) -> None:
    """Wait until etcd answers. A person may end that, and type the same line again later."""
    asked = steps.answers(own, fleet.root_password)
    if not fleet.own:
        if (failed := asked.tried()) is not None:
            raise CmgrError(say("found.cannot-use-etcd", why=failed), hint="cmgr check")
        return
    told = False
    while (failed := asked.tried()) is not None:
        if not told:
            out.told([say("found.waiting")])
            out.flush()
            told = True
        time.sleep(_LOOK_EVERY)


def _certifying(members: Sequence[Member]) -> Iterator[steps.Step]:
    yield from steps.authority()
    for member in members:
        yield from steps.certificate(member)


def _all(them: Iterable[steps.Step]) -> None:
    for step in them:
        step.do()


def _lines(them: Iterable[steps.Step]) -> Iterator[str]:
    return (line for step in them for line in step.shown())


def _shown(fleet: Fleet, here: Member, config: str) -> Iterator[str]:
    own = fleet.of(here)
    variables = steps.variables_file() if fleet.own else ""
    if fleet.own and not fleet.is_certified:
        yield from _lines(_certifying(fleet.members))
    for token in fleet.tokens:
        if token is not own:
            told = say("found.writes-token", path=f"{steps.DIRECTORY}/{token.name}.join", mode="600")
            yield f"# {out.spoken(told)}"
    if fleet.own:
        above = f"# {out.spoken(say('found.as-above'))}"
        own = replace(own, ca=above, cert=above)
    yield from _lines(steps.joining(own, config, variables))
    yield from _lines(steps.users(fleet.tokens, fleet.root_password, own=fleet.own, goes_on=fleet.goes_on))


def _promises(fleet: Fleet) -> Iterator[str]:
    """Say what such a fleet survives."""
    count = len(fleet.tokens)
    if not fleet.own:
        yield say("found.survives-away")
    elif count == 1:
        yield say("found.survives-one")
    elif count == 2:
        yield say("found.survives-two")
    else:
        yield say("found.survives", count=count, away=(count - 1) // 2)
