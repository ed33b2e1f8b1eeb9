"""The checks of a trial that is over, by the record of the world, by the database and by the timeline."""

import re
import sqlite3
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime

from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.rings import EDGES, Phase
from cmgr.model.values.services.outages import OutageCause
from cmgr.store.history import NoteRow
from cmgr.store.reader import open_reader
from tests.crash.trial import Trial
from tests.crash.worlds import policy_of, witnessed
from tests.system.containers import Happening

BUDGET = 3
STOPPED = ("is stopped",)
STARTED = (
    "runs again",
    "runs again: an earlier start had worked",
    "is no longer held: it runs, so an earlier start had worked",
)
"""The ways in which the timeline tells that a container was stopped, and that it runs."""

EVER = datetime(2000, 1, 1, tzinfo=UTC)


def all_is_well(trial: Trial) -> None:
    """Check everything."""
    happenings = trial.place.stock.happenings(trial.service)
    each_held_runs_again_once(trial, happenings)
    resets_were_few_and_safe(trial, happenings)
    shares_were_made_again_before_any_start(trial, happenings)
    the_database_is_whole(trial)
    the_timeline_is_true(trial)
    each_outage_is_counted_once(trial)


def each_held_runs_again_once(trial: Trial, happenings: Sequence[Happening]) -> None:
    """The containers of the ring ended and started once each, and no other did; all run, as they were meant to."""
    place, held = trial.place, trial.place.held
    assert {h.name for h in happenings} == set(held), happenings
    cured = ordered_resets(trial)[-1]
    for name in held:
        mine = [h for h in happenings if h.name == name]
        before, after = ([h.action for h in mine if (h.at > cured) is later] for later in (False, True))
        if place.layout.group:
            before, after = [h.action for h in mine if h.action == "die"], [h.action for h in mine[1:]]
        if place.stock.meddles and policy_of(name) == "always":
            # A pass of containerd's restart monitor that began before the stop starts it again; it is stopped again.
            before = before[-1:]
        assert (before, after) == (["die"], ["start"]), f"{name}: {happenings}, reset {cured}"
    if place.layout.group:
        none_starts_before_all_can(happenings, cured)
    running = place.stock.running(trial.service)
    assert all(running.values()), running
    for name in held:
        assert place.stock.is_armed(trial.service, name), f"{name} has its restart policy back"


def none_starts_before_all_can(happenings: Sequence[Happening], cured: float) -> None:
    """Of a group none was started before all were down and the ring was reset."""
    first = min(h.at for h in happenings if h.action == "start")
    last = max(h.at for h in happenings if h.action == "die")
    assert max(cured, last) <= first, happenings


def ordered_resets(trial: Trial) -> list[float]:
    """Return when each reset was ordered, as the witness saw it."""
    found = [float(str(w["at"])) for w in witnessed(trial.service) if w["action"] == "reset"]
    assert found
    return found


def resets_were_few_and_safe(trial: Trial, happenings: Sequence[Happening]) -> None:
    """The chips were reset as often as it took, and while none of the ring's containers ran, within the budget."""
    assert trial.place.chips.resets(trial.service) == trial.place.chips.expected
    ordered = ordered_resets(trial)
    for at in ordered:
        for name in trial.place.on_the_ring:
            before = [h.action for h in happenings if h.name == name and h.at <= at]
            assert before[-1:] == ["die"], f"{name} at the reset of {at}: {happenings}"
    with open_reader(trial.service.database) as reader:
        assert len(ordered) <= len(reader.resets(EVER)) <= BUDGET


def no_reset_was_under_a_container(trial: Trial, seen: Sequence[Mapping[str, object]]) -> int:
    """Check it, and return how many resets there were."""
    runs = dict.fromkeys(trial.place.on_the_ring, True)
    resets = 0
    for what in seen:
        if what["action"] == "reset":
            resets += 1
            assert not any(runs.values()), seen
        elif what["name"] in runs:
            runs[str(what["name"])] = what["action"] == "start"
    return resets


def shares_were_made_again_before_any_start(trial: Trial, happenings: Sequence[Happening]) -> None:
    """All shares of divided chips are there again, and were so before anything was started on them."""
    assert trial.place.chips.lost(trial.service) == []
    if trial.place.layout.divided:
        made = [float(str(w["at"])) for w in witnessed(trial.service) if w["action"] == "make"]
        starts = [h.at for h in happenings if h.action == "start"]
        assert ordered_resets(trial)[-1] < made[0] < min(starts), (made, happenings)


def the_database_is_whole(trial: Trial, outcomes: Container[str] = ("recovered",)) -> None:
    """Nothing is held, no order is open, one episode is over; and SQLite finds nothing wrong with the file."""
    with open_reader(trial.service.database) as reader:
        node, episodes = reader.node(), reader.episodes(10)
        assert (dict(node.holds), reader.commands()) == ({}, ())
        assert [(e.outcome in outcomes, e.ended is not None) for e in episodes] == [(True, True)], episodes
        assert {ring.phase for ring in node.rings.values()} == {Phase.HEALTHY}
    the_file_is_sound(trial)


def the_file_is_sound(trial: Trial) -> None:
    """SQLite finds nothing wrong with it."""
    with closing(sqlite3.connect(trial.service.database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def each_outage_is_counted_once(trial: Trial) -> None:
    """Each that was stopped has one outage, whichever life has counted it; what nobody saw of it stands apart."""
    with open_reader(trial.service.database) as reader:
        over, open_ = reader.downtime("2000-01-01", "2999-12-31"), reader.outages()
    assert all(row.recoveries <= row.outages and row.recovered <= row.down for row in over), over
    seen = [row for row in over if row.cause is not OutageCause.UNSEEN]
    for name in trial.place.held:
        ended = sum(row.outages for row in seen if row.service.endswith(f"/{name}"))
        assert ended + sum(each.service.endswith(f"/{name}") for each in open_) == 1, f"{name}: {over}, {open_}"


def the_timeline_is_true(trial: Trial) -> None:
    """It goes from phase to phase without a gap, and tells each stop and start once, each death and each reset."""
    notes = the_timeline_is_of_one_piece(trial)
    # Of the members of a group on other rings the episode says nothing.
    texts = [note.text for note in (trial.service.notes() if trial.place.layout.group else notes)]
    for text in trial.place.chips.told:
        assert texts.count(text) == 1, texts
    for name in trial.place.held:
        for ways in (STOPPED, STARTED):
            told = sum(texts.count(f"{name} {way}") for way in ways)
            assert told == 1, f"{name} {ways}: {texts}"


def the_timeline_is_of_one_piece(trial: Trial) -> Sequence[NoteRow]:
    """It has one beginning and one end, no gap, each death and each reset. Return it."""
    notes = trial.service.notes(1)
    kinds = [note.kind for note in notes]
    assert (kinds.count(NoteKind.OPENED), kinds.count(NoteKind.CLOSED), kinds[-1]) == (1, 1, NoteKind.CLOSED)
    assert [note.at for note in notes] == sorted(note.at for note in notes)
    steps = list(_steps(notes))
    assert set(steps) <= set(EDGES), steps
    assert [before for _, before in steps[:-1]] == [after for after, _ in steps[1:]], steps
    assert (steps[0][0], steps[-1][1]) == (Phase.HEALTHY, Phase.HEALTHY)
    texts = [note.text for note in notes]
    # A later life that died before it had written anything was never there.
    deaths = [d for n, d in enumerate(trial.deaths) if n == 0 or d.point != "before a commit #1"]
    told_deaths = [re.match(r"cmgr was restarted while the ring was (\w+):", note.text) for note in notes]
    expected = [d.phase for d in deaths if d.phase is not Phase.HEALTHY]
    assert [Phase(found[1]) for found in told_deaths if found] == expected, (trial.deaths, texts)
    with open_reader(trial.service.database) as reader:
        assert sum(after is Phase.RESETTING for _, after in steps) == len(reader.resets(EVER))
    return notes


def _steps(notes: Sequence[NoteRow]) -> Iterator[tuple[Phase, Phase]]:
    for note in notes:
        found = re.match(r"(\w+) → (\w+): .", note.text) if note.kind is NoteKind.PHASE else None
        if found:
            yield Phase(found[1]), Phase(found[2])
