"""The checks of a fleet's engine. Nothing is written there, and nothing is loaded where there is no fleet."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from cmgr.cli.check.finding import ERROR, OK, WARNING, Finding, of_error
from cmgr.config.settings import Config
from cmgr.errors import CmgrError, FleetError, Unsure
from cmgr.words import counted

if TYPE_CHECKING:
    from cmgr.fleet.gateway import Gateway
    from cmgr.fleet.registration import Identity
    from cmgr.fleet.trial import Prefix
    from cmgr.model.values.presence import EngineNode

WHAT, PREFIX, NAME, OTHERS, NODE = "fleet", "fleet prefix", "fleet name", "fleet appliances", "etcd"
OLDEST = (3, 4)
"""Older ones have no gateway below /v3/."""

APART = timedelta(seconds=2)
FULL = "etcdctl compact, etcdctl defrag, then etcdctl alarm disarm: docs/fleet.md"


def findings(config: Config) -> Iterator[Finding]:
    """Yield what is found. Blocks up to some seconds for each thing that is asked."""
    if not config.fleet.engine:
        return
    from cmgr.fleet import access
    from cmgr.fleet.appliance_text import Keys
    from cmgr.fleet.gateway import Gateway
    from cmgr.fleet.registration import Identity

    settings = config.fleet
    try:
        who = Identity(access.name_of(settings), Keys(settings.prefix), access.machine, settings.lease)
        who.machine()
        if any(endpoint.startswith("https:") for endpoint in settings.endpoints):
            access.context(settings)
        if settings.user:
            access.password(settings.password_file)
    except CmgrError as error:
        yield of_error(WHAT, error)
        return
    gateway = Gateway(access.access(settings))
    try:
        yield from _engine(gateway, who, bool(settings.user))
    finally:
        gateway.close()


def _engine(gateway: "Gateway", who: "Identity", has_user: bool) -> Iterator[Finding]:
    from cmgr.fleet.nodes import nodes

    try:
        yield from _rights(gateway, who, has_user)
    except (FleetError, Unsure) as error:
        yield of_error(PREFIX, error)
    yield from _nodes(nodes(gateway))


def _rights(gateway: "Gateway", who: "Identity", has_user: bool) -> Iterator[Finding]:
    from cmgr.fleet import trial

    if not trial.asks_for_passwords(gateway):
        text = "etcd asks nobody for a password: whoever reaches it can stop and start all labelled containers"
        yield Finding(WHAT, WARNING, text, "give it users, and set fleet.user and fleet.password_file: docs/fleet.md")
    elif not has_user:
        hint = "set fleet.user and fleet.password_file: docs/fleet.md"
        yield Finding(WHAT, ERROR, "etcd asks for a password, and no fleet.user is set", hint)
        return
    found = trial.prefix(gateway, who)
    trial.writes(gateway, who)
    there = f"{counted(len(found.claims), 'appliance')} and {counted(found.groups, 'group')} are there"
    yield Finding(PREFIX, OK, f"may read and write below {who.keys.prefix}: {there}")
    if found.odd:
        names = ", ".join(found.odd[:3])
        text = f"{counted(len(found.odd), 'key')} below {who.keys.prefix} cannot be read: {names}"
        yield Finding(PREFIX, WARNING, text, "does something else write there? set another fleet.prefix")
    yield _name(who, found)
    yield from _others(who, found)


def _name(who: "Identity", found: "Prefix") -> Finding:
    owner = found.claims.get(who.name)
    if owner is None:
        return Finding(NAME, OK, f"the name {who.name} is free; the service takes it")
    if owner.machine != who.machine():
        hint = f"set fleet.name; or, if that machine is gone for good: etcdctl del {who.keys.appliance(who.name)}"
        return Finding(NAME, ERROR, f"another machine is {who.name} in this fleet", hint)
    return Finding(NAME, OK, f"this machine is {who.name}, registered {counted(owner.life, 'time')}")


def _others(who: "Identity", found: "Prefix") -> Iterator[Finding]:
    """Yield the other appliances, and what they say is wrong with them."""
    for name, claim in sorted(found.claims.items()):
        shown = found.shown.get(name)
        if name == who.name:
            continue
        if shown is None:
            hint = f"does cmgr run there? when it is gone for good: etcdctl del {who.keys.appliance(name)}"
            yield Finding(OTHERS, WARNING, f"{name} is not seen", hint)
        elif not shown.ails:
            yield Finding(OTHERS, OK, f"{name} is seen: cmgr {claim.version}, {shown.state}")
        for ail in shown.ails if shown is not None else ():
            yield Finding(OTHERS, WARNING, f"{name}: {ail.text}", f"on {name}: {ail.hint or 'cmgr status'}")


def _nodes(found: "Sequence[EngineNode]") -> Iterator[Finding]:
    for node in found:
        if node.error:
            state = ERROR if all(each.error for each in found) else WARNING
            text, _, hint = node.error.partition(" (hint: ")
            yield Finding(
                NODE,
                state,
                text,
                hint.removesuffix(")") or f"is etcd well there? journalctl -u etcd on {node.endpoint}",
            )
            continue
        yield _version(node)
        if node.is_full:
            yield Finding(NODE, ERROR, f"{node.endpoint} is full: no group can go on", FULL)
        if node.ahead is not None and abs(node.ahead) > APART:
            way = "ahead of" if node.ahead > timedelta() else "behind"
            text = f"the clock of {node.endpoint} is {abs(node.ahead)} {way} ours: times of other appliances read oddly"
            yield Finding(NODE, WARNING, text, "nothing is decided by them; does NTP run on both? timedatectl")


def _version(node: "EngineNode") -> Finding:
    leads = ", which leads" if node.leads else ""
    text = f"{node.endpoint} answers: etcd {node.version or 'of no version'}{leads}"
    numbers = node.version.split(".")[:2]
    if len(numbers) == 2 and all(n.isdigit() for n in numbers) and tuple(map(int, numbers)) < OLDEST:
        return Finding(NODE, ERROR, f"{text}: it is too old", "etcd 3.4 or later")
    return Finding(NODE, OK, text)
