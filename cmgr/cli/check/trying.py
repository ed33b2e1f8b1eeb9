"""A program that speaks for chips, tried by all that docs/drivers.md asks of it, but for its resets: none is begun.

Whatever is wrong is told with the very words that the program has said.
"""

import os
import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event

from cmgr.cli.check.finding import ERROR, OK, WARNING, Finding
from cmgr.drivers import asked
from cmgr.drivers.tool import spoken
from cmgr.drivers.tool.driver import last_line, numbered
from cmgr.drivers.tool.ear import Again, Ear
from cmgr.drivers.tool.settings import Tool
from cmgr.drivers.tool.spoken import Ability, Description
from cmgr.errors import DriverError
from cmgr.model.values.chips import ChipId, rings_of
from cmgr.sentences.sentence import say

BEGINS = 60.0
"""So many seconds `describe` may take here; the service gives it as long as ten calls."""

NOBODY = 9999
"""The number of a chip that no machine has."""

AT_ONCE = 4
BEATS = 30.0
"""So many seconds a beat is waited for here."""

ALIVE = "{}"
"""The line by which a `watch` says that it hears."""

ENDS = 1.0
"""Within so many seconds a `watch` that has only its first line to say has ended."""

LOOK = 0.05


def tried(path: str) -> Iterator[Finding]:
    """Yield what is found. Takes as long as its calls do, each of which is bounded."""
    seconds = Tool().call_timeout.total_seconds()
    try:
        asked.trusted(path, "--tool")
    except DriverError as error:
        yield Finding("program", ERROR, error.message, error.hint)
        return
    yield Finding("program", OK, say("check.own-program", path=path))
    said = yield from _described(path)
    if said is None:
        return
    yield from _about(said)
    chips = [ChipId(each.chip) for each in said.chips]
    yield from _calls(path, said, chips, seconds)
    yield from _strange(path, seconds)
    yield from _at_once(path, chips, seconds)
    yield from _watched(path, said, seconds)


def _described(path: str) -> Generator[Finding, None, Description | None]:
    try:
        text = _said(path, ("describe",), BEGINS)
        said = spoken.description(text, exact=True)
    except DriverError as error:
        yield Finding("describe", ERROR, error.message)
        return None
    except ValueError as error:
        yield from (Finding("describe", ERROR, mistake) for mistake in str(error).splitlines())
        return None
    if said.about.version != spoken.VERSION:
        text = say("check.other-version", version=said.about.version, own=spoken.VERSION)
        yield Finding("describe", ERROR, text, say("check.words-of-version"))
        return None
    return said


def _said(path: str, words: Sequence[str], seconds: float) -> str:
    ran = asked.ask(path, words, seconds, "--tool")
    if ran.status != 0:
        last = last_line(ran.complaint or ran.text)
        raise DriverError(say("check.ended-with", status=ran.status, last=last))
    return ran.text


def _about(said: Description) -> Iterator[Finding]:
    chips = said.listed(numbered)
    rings = rings_of(chips)
    text = say("check.described", chips=len(chips), name=said.about.name, rings=len(rings))
    yield Finding("describe", OK, text)
    if nameless := [chip.id for chip in chips if not chip.piece]:
        yield Finding("describe", WARNING, say("check.nameless", chips=nameless), say("check.name-each"))
    if bare := [ChipId(each.chip) for each in said.chips if not each.devices]:
        hint = say("check.name-devices", key="devices")
        yield Finding("describe", WARNING, say("check.no-device", chips=bare), hint)
    missing = sorted(
        f.path for each in said.chips for f in each.devices if f.major is None and not os.path.exists(f.path)
    )
    if missing:
        yield Finding("describe", WARNING, say("check.no-files", paths=missing), say("check.correct", key="devices"))
    if not said.about.variables and not said.about.cdi:
        hint = say("check.set-variables", keys=["variables", "cdi"])
        yield Finding("describe", WARNING, say("check.no-variables"), hint)
    if said.codes:
        yield Finding("codes", OK, say("check.codes", count=len(said.codes)))
    else:
        yield Finding("codes", WARNING, say("check.no-codes"), say("check.describe-codes"))
    if said.can(Ability.RESET):
        yield Finding("reset", OK, say("check.resets"), say("check.try-reset", command="cmgr reset"))
    else:
        yield Finding("reset", WARNING, say("check.resets-none"))


def _calls(path: str, said: Description, chips: Sequence[ChipId], seconds: float) -> Iterator[Finding]:
    codes = {each.code for each in said.codes}

    def read(text: str) -> str:
        found = spoken.answers(spoken.Reading, text, exact=True)
        unknown = sorted({code for each in found.values() for code in each.faults} - codes)
        if unknown and codes:
            return say("check.unknown-codes", codes=unknown)
        return _silent(chips, found)

    def used(text: str) -> str:
        return _silent(chips, spoken.answers(spoken.Users, text, exact=True))

    wanted: dict[str, Callable[[str], str]] = {"read": read}
    if said.can(Ability.PROCESSES):
        wanted["processes"] = used
    else:
        yield Finding("processes", WARNING, say("check.no-processes"))
    if said.can(Ability.MEASURE):
        wanted["measure"] = lambda text: _silent(chips, spoken.measured(text))
    for do, judged in wanted.items():
        try:
            silent = judged(_said(path, (do, *map(str, chips)), seconds))
        except DriverError as error:
            yield Finding(do, ERROR, error.message)
        except ValueError as error:
            yield from (Finding(do, ERROR, mistake) for mistake in str(error).splitlines())
        else:
            state = ERROR if silent else OK
            yield Finding(do, state, silent or say("check.answers-for", count=len(chips)))


def _silent(chips: Sequence[ChipId], found: Collection[ChipId]) -> str:
    missing = [chip for chip in chips if chip not in found]
    return say("check.no-line", chips=missing) if missing else ""


def _strange(path: str, seconds: float) -> Iterator[Finding]:
    """A chip that there is not must not be told to be well."""
    try:
        found = spoken.answers(spoken.Reading, _said(path, ("read", str(NOBODY)), seconds))
    except (DriverError, ValueError):
        found = {}
    answer = found.get(ChipId(NOBODY))
    if answer is not None and not answer.error and answer.booted:
        hint = say("check.answer-so", line='{"chip": N, "error": "…"}')
        yield Finding("read", ERROR, say("check.well-without", chip=NOBODY), hint)


def _at_once(path: str, chips: Sequence[ChipId], seconds: float) -> Iterator[Finding]:
    """Several calls come side by side."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        asked_for = [pool.submit(_said, path, ("read", str(chip)), seconds) for chip in [*chips, *chips][:AT_ONCE]]
    failed = [each.exception() for each in asked_for if each.exception() is not None]
    if failed:
        text = say("check.at-once", calls=len(asked_for), failed=len(failed), why=str(failed[0]))
        yield Finding("read", ERROR, text)


def _watched(path: str, said: Description, seconds: float) -> Iterator[Finding]:
    heard, again = Event(), Event()

    def take(_: spoken.News) -> None:
        (again if heard.is_set() else heard).set()

    ear = Ear(path, take, lambda: None, lambda: said.about.beat, Again(60.0))
    try:
        ear.start(seconds)
        if not heard.wait(0) and ear.deaf():
            hint = say("check.first-line", line=ALIVE, length=timedelta(seconds=seconds))
            yield Finding("watch", ERROR, ear.deaf(), hint)
            return
        beat = min(said.about.beat, BEATS)
        until = time.monotonic() + (beat or ENDS)
        while not (over := ear.deaf()) and not again.wait(LOOK) and time.monotonic() < until:
            pass
        if over:
            yield Finding("watch", ERROR, over, say("check.goes-on"))
            return
        if beat and not again.is_set():
            text = say("check.no-second-line", beat=f"{beat:g}")
            yield Finding("watch", ERROR, text, say("check.say-often", line=ALIVE))
            return
        if not beat:
            yield Finding("watch", WARNING, say("check.no-beat"), say("check.describe-beat", line=ALIVE))
        yield Finding("watch", OK, say("check.hears"))
    finally:
        ear.close()
