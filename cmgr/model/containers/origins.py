"""Whether a list is about the containers that are known: an engine may have come up with other books, or with none.

A data root whose disk is not mounted, a socket at which another engine answers, a machine that was set up anew: they
list nobody, and whoever ran is perhaps on its chips still. Such a list removes nobody. It is doubted until one of them
is listed again, or removed, or a person says that the runtime, as it was, is gone for good.
"""

from collections.abc import Collection

from cmgr.frozen import replace
from cmgr.model.turn import Turn
from cmgr.model.values.node import Node, RuntimeState
from cmgr.model.values.services.containers import ContainerKey
from cmgr.model.values.services.origins import Origin
from cmgr.sentences.sentence import say


def look_at_origin(turn: Turn, state: RuntimeState, origin: Origin | None, listed: Collection[ContainerKey]) -> str:
    """Return in words why this list, which has these in it, removes nobody; nothing where it is to be believed."""
    known = turn.node.origins.get(state.name)
    lost = _lost(turn.node, state, origin, listed)
    if lost:
        since = known.doubted if known is not None else None
        doubted = replace(known or Origin(state.name), doubted=since or turn.at)
        turn.node = replace(turn.node, origins={**turn.node.origins, state.name: doubted})
        return _words(lost, known, origin or Origin(state.name))
    told = origin if origin is not None and origin.word else known
    if told is not None:
        believed = replace(told, doubted=None)
        if believed != known:
            turn.node = replace(turn.node, origins={**turn.node.origins, state.name: believed})
    return ""


def _lost(node: Node, state: RuntimeState, origin: Origin | None, listed: Collection[ContainerKey]) -> int:
    """Return how many ran of whom none is listed, where that is no news of theirs; else 0."""
    remembered = {key for key in (*node.containers, *node.holds) if key.runtime == state.name}
    ran = {key for key in remembered if _is_missed(node, key)}
    if not ran.isdisjoint(listed):
        return 0
    known = node.origins.get(state.name)
    if known is not None and known.doubted is not None:
        return len(ran)
    if known is not None and origin is not None and known.word and origin.word and known.word != origin.word:
        return len(ran) if remembered.isdisjoint(listed) else 0
    came_up = state.restarted is not None and (state.listed is None or state.listed < state.restarted)
    return len(ran) if came_up and remembered.issuperset(listed) else 0


def _is_missed(node: Node, key: ContainerKey) -> bool:
    """Return whether it ran, or is to run, and nobody who makes it anew with each start takes it away."""
    container = node.containers.get(key)
    if container is None:
        return True
    made_anew = container.auto_remove or container.owner or container.unit
    return not made_anew and (container.running or container.kept.wanted or key in node.holds)


def _words(lost: int, known: Origin | None, origin: Origin) -> str:
    text = say("container.lists-none", runtime=origin.runtime, count=lost)
    if not origin.words:
        return text
    if known is not None and known.root not in ("", origin.root):
        return say("container.another-root", lost=text, origin=origin.words, root=known.root)
    return say("container.another-origin", lost=text, origin=origin.words)
