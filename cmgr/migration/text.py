"""A migration as a commented configuration file, and in words. Pure."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from cmgr.config.schema import settings
from cmgr.migration.migrate import Chosen, Migration
from cmgr.words import one_line

_WIDTH = 100

ALWAYS = (
    "what cmgr stopped it starts again, also when it was killed or restarted in between",
    "a stop or start that failed is tried again, with growing waits",
    "at most 3 resets of a ring in 6 hours, then its faulty chips are isolated with the reason (reset.attempts, "
    "reset.window); a failed reset is not repeated at once",
    "the reference counted no faults; cmgr has the rules of the vendor's Kubernetes plugin: one of 42 codes that comes "
    "again after 2 or 3 times within a day and a reset each time isolates its chip until cmgr release; for a link that "
    "is down for 20 s the chip gets nothing new and is used on (faults.rules has others; cmgr explain CODE)",
    "a fault of level SeparateNPU isolates its chip: nothing is started there, containers go on (isolation.on_isolate)",
    "a container that a person stopped, or that was never started, is not started by cmgr",
    "one ring's recovery does not wait for another's, but for the reset itself (reset.at_once)",
)
"""The differences that no flag decides; docs/migration.md has the whole list with reasons."""


def file_text(migration: Migration, names: Sequence[str], first: Sequence[str] = ()) -> str:
    """Return the configuration file. `names`: what it was made of; `first`: commands to type before it is used."""
    title = f"The configuration of cmgr, made by cmgr migrate of {', '.join(names)}."
    rest = "Every setting that does not stand here has its default (docs/configuration.md)."
    lines = [*_comment(title), *_comment(rest)]
    if first:
        lines += ["#", "# Before it is used:", *(f"#   {one_line(command)}" for command in first)]
    lines += [*_settings(migration.chosen), ""]
    for head, sentences in parts(migration):
        lines += [f"# {head}", *(line for sentence in sentences for line in _comment(sentence, "# - ", "#   ")), "#"]
    return "\n".join(lines[:-1]) + "\n"


def parts(migration: Migration) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield headings with the sentences below them: what differs, and what was left out."""
    if migration.differs:
        yield "What differs with this installation:", migration.differs
    if migration.dropped:
        yield "What is not carried over:", migration.dropped
    yield "What cmgr does otherwise in any case (docs/migration.md):", ALWAYS


def _settings(chosen: Iterable[Chosen]) -> Iterator[str]:
    by_key = {choice.key: choice for choice in chosen}
    section = ""
    for key, setting in settings().items():
        choice = by_key.get(key)
        if choice is None:
            continue
        at, _, name = key.rpartition(".")
        yield ""
        if at != section:
            section = at
            yield f"[{section}]"
        yield from _comment(choice.why)
        yield f"{name} = {setting.kind.show(setting.kind.take(choice.value))}"


def _comment(text: str, first: str = "# ", rest: str = "# ") -> list[str]:
    return textwrap.wrap(
        one_line(text), _WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False,
        break_long_words=False,
    )  # fmt: skip
