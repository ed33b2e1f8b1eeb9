"""A migration as a commented configuration file, and in words. Pure."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta

from cmgr.config.schema import settings
from cmgr.migration.migrate import Chosen, Migration
from cmgr.sentences.sentence import ENGLISH, in_language, say
from cmgr.view.text.render import wrapped
from cmgr.words import one_line

_WIDTH = 100

_WITHIN = ["reset.attempts", "reset.window"]

ALWAYS = (
    say("migrate.starts-again"),
    say("migrate.tried-again"),
    say("migrate.at-most-resets", count=3, length=timedelta(hours=6), settings=_WITHIN),
    say(
        "migrate.counted-none", plugin="Kubernetes", codes=42, times=["2", "3"], command="cmgr release",
        length=timedelta(seconds=20), setting="faults.rules", explain="cmgr explain CODE",
    ),
    say("migrate.level-isolates", level="SeparateNPU", setting="isolation.on_isolate"),
    say("migrate.persons-own"),
    say("migrate.rings-apart", setting="reset.at_once"),
)  # fmt: skip
"""The differences that no flag decides; docs/migration.md has the whole list with reasons."""


def file_text(migration: Migration, names: Sequence[str], first: Sequence[str] = (), language: str = ENGLISH) -> str:
    """Return the configuration file. `names`: what it was made of; `first`: commands to type before it is used."""

    def comment(text: str, first: str = "# ", rest: str = "# ") -> list[str]:
        told, *more = wrapped(one_line(in_language(text, language)), _WIDTH - len(first))
        return [f"{first}{told}", *(f"{rest}{line}" for line in more)]

    lines = [*comment(say("migrate.title", command="cmgr migrate", names=names))]
    lines += comment(say("migrate.defaults", page="docs/configuration.md"))
    if first:
        lines += ["#", *comment(say("migrate.before")), *(f"#   {one_line(command)}" for command in first)]
    lines += [*_settings(migration.chosen, comment), ""]
    for head, sentences in parts(migration):
        lines += [*comment(head), *(line for sentence in sentences for line in comment(sentence, "# - ", "#   ")), "#"]
    return "\n".join(lines[:-1]) + "\n"


def parts(migration: Migration) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield headings with the sentences below them: what differs, and what was left out."""
    if migration.differs:
        yield say("migrate.differs"), migration.differs
    if migration.dropped:
        yield say("migrate.dropped"), migration.dropped
    yield say("migrate.otherwise", page="docs/migration.md"), ALWAYS


def _settings(chosen: Iterable[Chosen], comment: Callable[[str], Iterable[str]]) -> Iterator[str]:
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
        yield from comment(choice.why)
        yield f"{name} = {setting.kind.show(setting.kind.take(choice.value))}"
