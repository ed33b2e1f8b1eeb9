"""The variables of a hook's environment."""

import re
from collections.abc import Iterable, Mapping

from cmgr.config.load import HOOK_VARIABLE
from cmgr.config.settings import Config
from cmgr.host.act import PLAIN
from cmgr.model.scope import holds_on
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Fault
from cmgr.model.values.node import Node, known_faults
from cmgr.model.values.rings import Ring
from cmgr.model.values.services.containers import ContainerKey
from cmgr.words import one_line

_LONGEST = 64 * 1024
"""Linux takes no variable longer than 128 KiB."""


def environment(config: Config, hook: str, words: Mapping[str, str]) -> dict[str, str]:
    """Return the whole environment of a hook.

    Names and ids of containers are there as data: a hook that quotes its variables, as every shell script should, can
    do nothing else with them.
    """
    told = {HOOK_VARIABLE: hook, **{f"{HOOK_VARIABLE}_{name}": value for name, value in words.items()}}
    # With these, `cmgr status` in a hook asks this very service.
    ours = {"CMGR_SOCKET": config.socket, "CMGR_STATE_DIR": config.state_dir}
    return {**PLAIN, **ours, **{name: one_line(value)[:_LONGEST] for name, value in told.items()}}


def of_ring(node: Node, ring: Ring) -> dict[str, str]:
    """Return what there is to tell of a ring in its episode."""
    faults = [f for chip in ring.chips for f in known_faults(node, chip) if _concerns(f, ring)]
    holds = holds_on(node, ring)
    return {
        "EPISODE": str(ring.episode),
        "RING": str(ring.id),
        **of_chips(node, ring.chips),
        **of_faults(faults),
        **of_containers((h.key, h.name) for h in holds),
        "REASON": ring.reason,
    }


def _concerns(fault: Fault, ring: Ring) -> bool:
    # Those that the reset has cured are what the episode is about, too.
    return fault.level.handled and (fault.active or ring.began is None or fault.changed >= ring.began)


def of_faults(faults: Iterable[Fault]) -> dict[str, str]:
    found = tuple(faults)
    codes = dict.fromkeys(f.code for f in sorted(found, key=lambda f: (-f.level, f.since)))
    return {"FAULTY_CHIPS": numbers(f.chip for f in found), "CODES": " ".join(map(_word, codes))}


def of_containers(found: Iterable[tuple[ContainerKey, str]]) -> dict[str, str]:
    """Return names and ids, in the same order. A blank in a name, which no real runtime allows, becomes a `_`."""
    named = sorted(dict(found).items(), key=lambda item: (item[1], item[0]))
    return {
        "CONTAINERS": " ".join(_word(name) or "_" for _, name in named),
        "CONTAINER_IDS": " ".join(_word(key.id) for key, _ in named),
    }


def _word(text: str) -> str:
    return "_".join(text.split())


def of_chips(node: Node, chips: Iterable[ChipId]) -> dict[str, str]:
    """Return the chips by their ids, and in the same order by the numbers that their maker's tool takes: `3/1`."""
    found = sorted(set(chips))
    known = {chip: node.chips[chip].tool_name for chip in found if chip in node.chips}
    return {"CHIPS": numbers(found), "CALLED": " ".join(_in_tool(known.get(chip, ""), chip) for chip in found)}


def _in_tool(name: str, chip: ChipId) -> str:
    return "/".join(re.findall("[0-9]+", name)) or str(chip)


def numbers(chips: Iterable[ChipId]) -> str:
    return " ".join(str(chip) for chip in sorted(set(chips)))
