"""The checks of a fleet's engine. Nothing is written there, and nothing is loaded where there is no fleet."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from cmgr.cli.check.finding import ERROR, OK, WARNING, Finding, of_error
from cmgr.config.settings import Config
from cmgr.errors import CmgrError, FleetError, Unsure
from cmgr.sentences.sentence import say

if TYPE_CHECKING:
    from cmgr.fleet.gateway import Gateway
    from cmgr.fleet.registration import Identity
    from cmgr.fleet.trial import Prefix
    from cmgr.model.values.presence import EngineNode

WHAT, PREFIX, NAME, OTHERS, NODE = "fleet", "fleet prefix", "fleet name", "fleet appliances", "etcd"
OLDEST = (3, 4)
"""Older ones have no gateway below /v3/."""

APART = timedelta(seconds=2)
FULL = say("check.make-room", commands=["etcdctl compact", "etcdctl defrag"], last="etcdctl alarm disarm")


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
        yield Finding(WHAT, WARNING, say("check.etcd-open"), say("check.give-users"))
    elif not has_user:
        yield Finding(WHAT, ERROR, say("check.etcd-asks"), say("check.set-user"))
        return
    found = trial.prefix(gateway, who)
    trial.writes(gateway, who)
    below = who.keys.prefix
    text = say("check.may-read", prefix=below, appliances=len(found.claims), groups=found.groups)
    yield Finding(PREFIX, OK, text)
    if found.odd:
        text = say("check.odd-keys", count=len(found.odd), prefix=below, names=found.odd[:3])
        yield Finding(PREFIX, WARNING, text, say("check.set-prefix"))
    yield _name(who, found)
    yield from _others(who, found)


def _name(who: "Identity", found: "Prefix") -> Finding:
    owner = found.claims.get(who.name)
    if owner is None:
        return Finding(NAME, OK, say("check.name-free", name=who.name))
    if owner.machine != who.machine():
        hint = say("check.set-name", command=f"etcdctl del {who.keys.appliance(who.name)}")
        return Finding(NAME, ERROR, say("check.name-taken", name=who.name), hint)
    return Finding(NAME, OK, say("check.name-ours", name=who.name, count=owner.life))


def _others(who: "Identity", found: "Prefix") -> Iterator[Finding]:
    """Yield the other appliances, and what they say is wrong with them."""
    for name, claim in sorted(found.claims.items()):
        shown = found.shown.get(name)
        if name == who.name:
            continue
        if shown is None:
            hint = say("check.does-it-run", command=f"etcdctl del {who.keys.appliance(name)}")
            yield Finding(OTHERS, WARNING, say("check.not-seen", name=name), hint)
        elif not shown.ails:
            yield Finding(OTHERS, OK, say("check.seen", name=name, version=claim.version, state=shown.state))
        for ail in shown.ails if shown is not None else ():
            hint = say("check.on-that", name=name, hint=ail.hint or "cmgr status")
            yield Finding(OTHERS, WARNING, say("word.because", what=name, why=ail.text), hint)


def _nodes(found: "Sequence[EngineNode]") -> Iterator[Finding]:
    for node in found:
        if node.error:
            state = ERROR if all(each.error for each in found) else WARNING
            text, _, hint = node.error.partition(" (hint: ")
            look = say("check.etcd-well", command="journalctl -u etcd", endpoint=node.endpoint)
            yield Finding(NODE, state, text if hint else node.error, hint.removesuffix(")") or look)
            continue
        yield _version(node)
        if node.is_full:
            yield Finding(NODE, ERROR, say("check.etcd-full", endpoint=node.endpoint), FULL)
        if node.ahead is not None and abs(node.ahead) > APART:
            text = say("check.clock-behind", endpoint=node.endpoint, length=str(-node.ahead))
            if node.ahead > timedelta():
                text = say("check.clock-ahead", endpoint=node.endpoint, length=str(node.ahead))
            yield Finding(NODE, WARNING, text, say("check.compare-clocks", command="timedatectl"))


def _version(node: "EngineNode") -> Finding:
    version = node.version or say("check.no-version")
    text = say("check.etcd", endpoint=node.endpoint, version=version)
    if node.leads:
        text = say("check.etcd-leads", endpoint=node.endpoint, version=version)
    numbers = node.version.split(".")[:2]
    if len(numbers) == 2 and all(n.isdigit() for n in numbers) and tuple(map(int, numbers)) < OLDEST:
        too_old = say("word.because", what=text, why=say("check.too-old"))
        return Finding(NODE, ERROR, too_old, say("check.etcd-since", version="3.4"))
    return Finding(NODE, OK, text)
