"""Some of a status: the rows that a person asks for. Troubles stay whole: nothing reads as if all were well."""

from typing import TYPE_CHECKING, NamedTuple

from cmgr.view.text.reading import fitting

if TYPE_CHECKING:
    from cmgr.view import shapes


class Wish(NamedTuple):
    """The rows that are wanted: those that fit all that is given. None: whatever they say of that.

    `names`: of containers, and numbers of chips. `unhealthy`: only those that do not serve, or are not well.
    """

    names: tuple[str, ...] = ()
    chips: frozenset[int] | None = None
    group: str | None = None
    unhealthy: bool = False


def unknown(told: "shapes.Status", wish: Wish) -> list[str]:
    """Return those of the names and numbers that are none of a chip or a container here."""
    chips = {chip["id"] for chip in told["chips"]}
    groups = {container["group"] for container in told["containers"]}
    found = [name for name in wish.names if not _meant(told, name)]
    found += [f"chip {number}" for number in sorted((wish.chips or frozenset()) - chips)]
    return [*found, *([f"group {wish.group}"] if wish.group is not None and wish.group not in groups else [])]


def status(told: "shapes.Status", wish: Wish) -> "shapes.Status":
    """Return the status with these rows alone, with the chips of the containers, and the rings of the chips."""
    meant = {each for name in wish.names for each in _meant(told, name)}
    containers = [row for row in told["containers"] if _fits(row, wish, meant)]
    theirs = {chip for row in containers for chip in row["chips"]}
    chips = [row for row in told["chips"] if _is_wanted(row, wish, meant, theirs)]
    ids = {row["id"] for row in containers}
    numbers = {row["id"] for row in chips}
    return {
        **told,
        "containers": containers,
        "down": [row for row in told["down"] if row["id"] in ids],
        "chips": chips,
        "rings": [row for row in told["rings"] if numbers & {*row["chips"]}],
    }


def _meant(told: "shapes.Status", name: str) -> list[tuple[str, str]]:
    """Return each thing that is called so, by its kind and what tells it from all others."""
    return [(kind, id_) for kind, id_, _ in fitting(told, name) if kind in ("chip", "container")]


def _fits(row: "shapes.Container", wish: Wish, meant: set[tuple[str, str]]) -> bool:
    if wish.names and ("container", row["id"]) not in meant:
        return False
    if wish.chips is not None and wish.chips.isdisjoint(row["chips"]):
        return False
    if wish.group is not None and row["group"] != wish.group:
        return False
    return not (wish.unhealthy and row["status"] == "running" and row["serves"])


def _is_wanted(row: "shapes.Chip", wish: Wish, meant: set[tuple[str, str]], theirs: set[int]) -> bool:
    """Return whether the chip is one of those that are named, or of a container that is wanted."""
    if wish.unhealthy and row["healthy"]:
        return False
    named = ("chip", str(row["id"])) in meant
    if wish.chips is not None:
        return row["id"] in wish.chips
    return named or row["id"] in theirs or not (wish.names or wish.group is not None)
