"""The life of a ring as a picture, made of `rings.EDGES`: ARCHITECTURE.md shows it."""

from cmgr.model.values.rings import EDGES, Phase


def diagram() -> str:
    """Return the phases and edges as a mermaid state diagram, fences included."""
    edges = [f"    {before} --> {after}: {why}" for (before, after), why in EDGES.items()]
    return "\n".join(["```mermaid", "stateDiagram-v2", f"    [*] --> {Phase.HEALTHY}", *edges, "```", ""])
