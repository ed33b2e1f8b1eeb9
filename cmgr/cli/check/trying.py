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
from cmgr.model.values.chips import ChipId, listed, rings_of
from cmgr.words import counted, span

BEGINS = 60.0
"""So many seconds `describe` may take here; the service gives it as long as ten calls."""

NOBODY = 9999
"""The number of a chip that no machine has."""

AT_ONCE = 4
BEATS = 30.0
"""So many seconds a beat is waited for here."""

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
    yield Finding("program", OK, f"nobody but root, or you, can write {path}")
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
        text = f"it speaks version {said.about.version}, and this cmgr version {spoken.VERSION}"
        yield Finding("describe", ERROR, text, "docs/drivers.md has the words of this version")
        return None
    return said


def _said(path: str, words: Sequence[str], seconds: float) -> str:
    ran = asked.ask(path, words, seconds, "--tool")
    if ran.status != 0:
        raise DriverError(f"it ended with {ran.status}: {last_line(ran.complaint or ran.text)}")
    return ran.text


def _about(said: Description) -> Iterator[Finding]:
    chips = said.listed(numbered)
    rings = rings_of(chips)
    yield Finding(
        "describe", OK, f"{counted(len(chips), 'chip')} of {said.about.name} in {counted(len(rings), 'ring')}"
    )
    if nameless := [chip.id for chip in chips if not chip.piece]:
        text = f"{listed(nameless)} has neither serial nor bus: after a change of hardware nobody knows which it is"
        yield Finding("describe", WARNING, text, "give each chip what its maker prints on it")
    if bare := [ChipId(each.chip) for each in said.chips if not each.devices]:
        text = f"{listed(bare)} has no device file: containers that are given it so are not seen"
        yield Finding("describe", WARNING, text, "name its device files: devices")
    missing = sorted(
        f.path for each in said.chips for f in each.devices if f.major is None and not os.path.exists(f.path)
    )
    if missing:
        yield Finding("describe", WARNING, f"there is no {', '.join(missing)} here", "correct devices")
    if not said.about.variables and not said.about.cdi:
        text = "it names neither a variable nor a CDI kind by which containers ask for chips"
        yield Finding("describe", WARNING, text, "set variables and cdi where its maker's runtime has them")
    if said.codes:
        yield Finding("codes", OK, f"{counted(len(said.codes), 'code')} with text and level")
    else:
        yield Finding("codes", WARNING, "it describes no codes: each fault isolates its chip", "describe its codes")
    if said.can(Ability.RESET):
        yield Finding(
            "reset", OK, "it says that it resets chips; that is not tried here", "on an idle machine: cmgr reset"
        )
    else:
        yield Finding("reset", WARNING, "it resets no chips: those with faults that need it are isolated")


def _calls(path: str, said: Description, chips: Sequence[ChipId], seconds: float) -> Iterator[Finding]:
    codes = {each.code for each in said.codes}

    def read(text: str) -> str:
        found = spoken.answers(spoken.Reading, text, exact=True)
        unknown = sorted({code for each in found.values() for code in each.faults} - codes)
        if unknown and codes:
            raise ValueError(f"{', '.join(unknown)}: no such code is described, so it isolates its chip")
        return _silent(chips, found)

    def used(text: str) -> str:
        return _silent(chips, spoken.answers(spoken.Users, text, exact=True))

    wanted: dict[str, Callable[[str], str]] = {"read": read}
    if said.can(Ability.PROCESSES):
        wanted["processes"] = used
    else:
        yield Finding("processes", WARNING, "it lists no processes: a container of unclear chips is in the way")
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
            yield Finding(do, state, silent or f"it answers for {counted(len(chips), 'chip')}")


def _silent(chips: Sequence[ChipId], found: Collection[ChipId]) -> str:
    missing = [chip for chip in chips if chip not in found]
    return f"no line for {listed(missing)}" if missing else ""


def _strange(path: str, seconds: float) -> Iterator[Finding]:
    """A chip that there is not must not be told to be well."""
    try:
        found = spoken.answers(spoken.Reading, _said(path, ("read", str(NOBODY)), seconds))
    except (DriverError, ValueError):
        found = {}
    answer = found.get(ChipId(NOBODY))
    if answer is not None and not answer.error and answer.booted:
        text = f"it says that chip {NOBODY} is well, which there is not"
        yield Finding("read", ERROR, text, 'answer with {"chip": N, "error": "…"}, or with no line, or fail')


def _at_once(path: str, chips: Sequence[ChipId], seconds: float) -> Iterator[Finding]:
    """Several calls come side by side."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        asked_for = [pool.submit(_said, path, ("read", str(chip)), seconds) for chip in [*chips, *chips][:AT_ONCE]]
    failed = [each.exception() for each in asked_for if each.exception() is not None]
    if failed:
        yield Finding("read", ERROR, f"of {len(asked_for)} calls at once {len(failed)} failed: {failed[0]}")


def _watched(path: str, said: Description, seconds: float) -> Iterator[Finding]:
    heard, again = Event(), Event()

    def take(_: spoken.News) -> None:
        (again if heard.is_set() else heard).set()

    ear = Ear(path, take, lambda: None, lambda: said.about.beat, Again(60.0))
    try:
        ear.start(seconds)
        if not heard.wait(0) and ear.deaf():
            hint = f"its first line is {{}}, as soon as it hears: within {span(timedelta(seconds=seconds))}"
            yield Finding("watch", ERROR, ear.deaf(), hint)
            return
        beat = min(said.about.beat, BEATS)
        until = time.monotonic() + (beat or ENDS)
        while not (over := ear.deaf()) and not again.wait(LOOK) and time.monotonic() < until:
            pass
        if over:
            yield Finding("watch", ERROR, over, "it goes on for ever")
            return
        if beat and not again.is_set():
            yield Finding("watch", ERROR, f"no second line within its beat of {beat:g} s", "say {} that often")
            return
        if not beat:
            text = "it names no beat: where it hangs nobody notices, and faults are only found by reading"
            yield Finding("watch", WARNING, text, "describe a beat, and say {} that often")
        yield Finding("watch", OK, "it says that it hears")
    finally:
        ear.close()
