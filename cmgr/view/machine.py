"""The machine around the chips as a person or a program reads it: its faults, its reboot, and the troubles they are."""

import shlex
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from cmgr.model.values.faults import FaultCode
from cmgr.model.values.machine import MachineFault
from cmgr.model.values.node import Node
from cmgr.model.values.standing import RebootStage
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.sentences.hints import order
from cmgr.sentences.sentence import parts, say
from cmgr.words import one_line, stamp, stamp_or_none

if TYPE_CHECKING:
    from cmgr.view import shapes

MOST_PARTS = 4
"""So many parts are named in a line; of more it says how many there are."""

CANCEL_REBOOT = order("cancel", reboot=True)


def machine_faults(node: Node) -> "list[shapes.MachineFault]":
    """Return the active faults of the machine, the gravest first."""
    return [_row(fault) for fault in sorted(active(node), key=lambda f: (-f.handling, f.key))]


def active(node: Node) -> list[MachineFault]:
    """Return the active faults of the machine, by code and part."""
    return sorted((f for f in node.machine_faults.values() if f.active), key=lambda f: f.key)


def _row(fault: MachineFault) -> "shapes.MachineFault":
    return {
        "code": fault.code,
        "part": one_line(fault.part),
        "source": fault.source,
        "handling": fault.handling.name,
        "since": stamp(fault.since),
        "changed": stamp(fault.changed),
        "count": fault.count,
        "text": one_line(fault.text),
        "until": stamp_or_none(fault.until),
    }


def troubles(node: Node) -> Iterator[Trouble]:
    """Yield a reboot, and each code that a person is to be told of: once, however many parts have it.

    Its cause is mostly one.
    """
    yield from _reboots(node)
    for code, alike in groupby((f for f in active(node) if f.told), key=lambda f: f.code):
        found = list(alike)
        stays, since = any(f.mark for f in found), min(f.since for f in found)
        text, what = _where(code, found), f"cmgr explain {shlex.quote(code)}"
        yield Trouble(TroubleKind.MACHINE, code, text, _why(node, found), what, since, stays, codes=(code,))


def _reboots(node: Node) -> Iterator[Trouble]:
    known = node.reboot
    if known is not None and known.under_way:
        text, what = say("machine.rebooted"), say("hint.call-off", order=CANCEL_REBOOT)
        why: str = say("machine.rebooted-soon", what=known.what)
        if known.due is not None:
            why = say("machine.rebooted-at", time=stamp(known.due), what=known.what)
    elif known is not None and known.stage is RebootStage.FAILED:
        text, why = say("machine.not-rebooted"), known.reason
        what = say("hint.reboot-by-hand")
    else:
        return
    yield Trouble(TroubleKind.REBOOTS, "machine", text, one_line(why), what, known.since)


def _where(code: FaultCode, found: list[MachineFault]) -> str:
    names = [f.part for f in found if f.part]
    if len(names) > MOST_PARTS:
        return say("machine.on-many", code=code, count=len(names))
    return say("machine.on-parts", code=code, names=names) if names else say("machine.here", code=code)


def _why(node: Node, found: list[MachineFault]) -> str:
    (first, *others) = found
    told = one_line(first.text if first.text and not others else node.catalog.judge(first.code, None).words)
    return parts((told, say("machine.kept-free") if any(f.pre_isolates for f in found) else ""))
