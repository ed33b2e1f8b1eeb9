"""The lives of a ring and of a hold as pictures, made of their `EDGES`: ARCHITECTURE.md shows them."""

from collections.abc import Iterable
from enum import StrEnum

from cmgr.model.values import holds, rings


def diagram() -> str:
    """Return the phases of a ring as a mermaid state diagram, fences included."""
    return _picture([rings.Phase.HEALTHY], [(*pair, why) for pair, why in rings.EDGES.items()])


def hold_diagram() -> str:
    """Return the states of a hold as one. "anew": what was tried before does not count any more."""
    edges = [
        (*pair, f"{edge.why} (anew)" if edge.anew else edge.why)
        for pair, edge in holds.EDGES.items()
        if edge is not holds.CANNOT_HAPPEN
    ]
    return _picture([holds.HoldState.TO_STOP, holds.HoldState.DOWN], edges)


def _picture(first: Iterable[StrEnum], edges: Iterable[tuple[StrEnum, StrEnum, str]]) -> str:
    lines = [f"    [*] --> {_word(state)}" for state in first]
    lines += [f"    {_word(before)} --> {_word(after)}: {why}" for before, after, why in edges]
    return "\n".join(["```mermaid", "stateDiagram-v2", *lines, "```", ""])


def _word(state: StrEnum) -> str:
    return state.replace(" ", "_")
