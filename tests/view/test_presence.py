"""An appliance as the others of its fleet are shown it, and the fleet as it is seen from one of them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from cmgr import __version__
from cmgr.fleet.appliance_text import presence as taken
from cmgr.fleet.appliance_text import presence_text
from cmgr.model.values.messages.fleet_facts import FleetDown, FleetUp
from cmgr.model.values.presence import MOST_AILS, Ail, Appliance, EngineNode, FleetSeen, Presence
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.sentences.sentence import CHINESE, in_language, orders_in
from cmgr.view.presence import fleet, presence
from cmgr.view.status import Own, health, state_of_service
from cmgr.view.text import texts, together
from cmgr.view.text.render import Face
from cmgr.view.troubles import troubles
from tests.model.builders import SEPARATE, Cmgr

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WELL = Presence("ready", NOW)
PAGE = texts.Page(Face(NOW + timedelta(hours=2), UTC), 160)


def appliance(name: str, shown: Presence | None = WELL, **fields: Any) -> Appliance:
    return Appliance(name, here=name == "a", version=__version__, life=1, presence=shown, **fields)


def a(*facts: FleetUp | FleetDown) -> Cmgr:
    """Return appliance a, which has heard of its chips and containers, after these words of the engine."""
    cmgr = Cmgr(appliance="a")
    cmgr.run()
    for fact in facts or (FleetUp("1"),):
        cmgr.tell(fact)
    return cmgr


def shown(cmgr: Cmgr, *others: Appliance, nodes: tuple[EngineNode, ...] = ()) -> list[str]:
    seen = FleetSeen((appliance("a"), *others), NOW, NOW)
    return together.fleet(fleet(cmgr.node, seen, WELL, nodes), PAGE)


def test_an_appliance_that_is_well_shows_no_more_than_that() -> None:
    shown = presence(Cmgr().node, "ready", NOW, [])
    assert (shown.state, shown.since, shown.episodes, shown.isolated, shown.ails, shown.more) == (
        "ready",
        NOW,
        0,
        0,
        (),
        0,
    )


def test_what_is_wrong_is_shown_with_what_to_type_and_comes_through_to_the_others() -> None:
    cmgr = Cmgr()
    cmgr.fault(0, SEPARATE)
    found = troubles(cmgr.node)
    shown = presence(cmgr.node, "ready", NOW, found)
    assert shown.isolated == 1
    told = f"{found[0].words} (hint: replace or repair chip 0, then type: cmgr release 0)"
    assert told in [ail.text for ail in shown.ails]
    again, at = taken(presence_text(shown, NOW))
    assert (again, at) == (shown, NOW)
    (said,) = [ail.text for ail in again.ails if ail.text == told]
    rows = fleet(a().node, FleetSeen((appliance("b", again),), NOW, NOW), WELL)["appliances"]
    wrong = {each["text"]: each["messages"] for row in rows for each in row["wrong"]}
    assert wrong[told]["text"]["id"] == "word.hinted"
    assert in_language(said, CHINESE).startswith(in_language(found[0].words, CHINESE))
    assert in_language(said, CHINESE).endswith("（提示：更换或修理芯片 0，然后输入：cmgr release 0）")
    assert orders_in(said) == ()


def test_no_more_than_the_most_pressing_are_shown_and_a_sentence_is_nothing_to_type() -> None:
    found = [
        Trouble(TroubleKind.BUG, str(n), "odd\x1b", hint="look at it" if n else "cmgr status")
        for n in range(MOST_AILS + 3)
    ]
    shown = presence(Cmgr().node, "degraded", NOW, found)
    assert shown.ails[:2] == (Ail("odd ", "cmgr status"), Ail("odd  (hint: look at it)"))
    assert (len(shown.ails), shown.more) == (MOST_AILS, 3)


def test_an_engine_that_takes_no_writes_is_not_well_though_it_answers() -> None:
    seen = FleetSeen((appliance("a"),), NOW, NOW, "etcd says: it is full", "etcdctl alarm disarm")
    lines = together.fleet(fleet(a().node, seen, WELL), PAGE)
    assert lines[0] == "not well: the engine takes no writes: etcd says: it is full"
    assert lines[1].startswith("engine: answers, but takes no writes")
    assert lines[2] == "what to do: etcdctl alarm disarm"
    # An engine that does not answer takes none either: only that it does not is told.
    away = a(FleetUp("1"), FleetDown("refused"))
    assert together.fleet(fleet(away.node, seen, WELL), PAGE)[0] == "not well: the engine is away: refused"


def test_a_fleet_in_which_nothing_is_wrong_is_well() -> None:
    nodes = (EngineNode("https://10.0.0.1:2379", "n1", "3.4.23", leads=True), EngineNode("https://10.0.0.2:2379", "n2"))
    lines = shown(a(), appliance("b"), nodes=nodes)
    assert lines[0] == "all is well: 2 appliances, and the engine answers"
    assert [line.split()[3] for line in lines if line.startswith("https")] == ["leads", "follows"]
    assert [line.split()[:2] for line in lines if line.startswith(("a ", "b "))] == [["a", "(here)"], ["b", "ready"]]


def test_a_fleet_is_shown_in_chinese() -> None:
    page = PAGE._replace(face=PAGE.face._replace(language=CHINESE))
    seen = FleetSeen((appliance("a"), appliance("b", None, gone=NOW)), NOW)
    nodes = (EngineNode("https://10.0.0.1:2379", "n1", "3.4.23", leads=True), EngineNode("https://x:1", is_full=True))
    lines = together.fleet(fleet(a().node, seen, WELL, nodes), page)
    assert lines[0] == "异常：请查看 b 和机群引擎的 1 个节点"
    assert lines[1].startswith("机群引擎：有应答")
    states = [line.split()[-1] for line in lines if line.startswith("https")]
    assert states == ["主节点", "已满"]
    assert [line.split()[1] for line in lines if line.startswith(("a", "b "))] == ["就绪", "失联"]


def test_what_is_wrong_on_another_appliance_is_told_with_what_to_type_there() -> None:
    ailing = replace(WELL, state="degraded", ails=(Ail("chip 3 is isolated", "cmgr release 3"), Ail("loud")), more=2)
    lines = shown(a(), appliance("b", ailing))
    assert lines[0] == "not well: look at b"
    text = " ".join(" ".join(lines).split())
    assert "chip 3 is isolated type there: cmgr release 3 loud and 2 troubles more: cmgr status there" in text


def test_an_appliance_that_is_not_seen_is_told_as_away() -> None:
    lines = shown(a(), appliance("b", None, gone=NOW))
    assert lines[0] == "not well: look at b"
    assert "it is not seen" in lines[-1]
    assert lines[-1].split()[:4] == ["b", "away", __version__, "2"]


def test_while_the_engine_is_away_nothing_is_said_of_the_others_as_if_it_were_so_now() -> None:
    told = fleet(a(FleetDown("timed out")).node, FleetSeen((appliance("b"),), NOW), WELL)
    assert [(each["name"], each["state"]) for each in told["appliances"]] == [("a", "ready"), ("b", "unknown")]
    lines = together.fleet(told, PAGE)
    assert lines[0] == "not well: the engine is away: timed out"
    assert "its last word came 2 h ago" in lines[1]
    assert "what to do: cmgr check" in lines


def test_a_node_that_is_full_or_silent_is_no_engine_that_is_well() -> None:
    for node in (EngineNode("https://x:1", is_full=True), EngineNode("https://x:1", error="cannot ask x: refused")):
        assert shown(a(), nodes=(node,))[0] == "not well: look at 1 node of the engine"


def test_clocks_that_are_apart_and_other_versions_are_remarks() -> None:
    other = replace(appliance("b", ahead=timedelta(seconds=-5)), version="0.0.1")
    node = EngineNode("https://x:1", ahead=timedelta(hours=1))
    told = fleet(a().node, FleetSeen((other,), NOW), WELL, (node,))
    assert told["remarks"] == [
        f"the appliances have different versions of cmgr: 0.0.1, {__version__}",
        "the clock of appliance b is 5 s behind this one: no decision goes by it, but logs do",
        "the clock of etcd at https://x:1 is 1 h ahead of this one: no decision goes by it, but logs do",
    ]
    assert told["messages"]["remarks[1]"]["id"] == "group.clock-is-behind"


def test_without_a_fleet_there_is_none_to_see() -> None:
    told = fleet(Cmgr().node, FleetSeen(), WELL)
    assert (told["name"], told["engine"], told["appliances"]) == ("", None, [])
    assert together.fleet(told, PAGE) == ["this appliance is in no fleet: fleet.engine is not set"]


def test_all_is_not_well_while_the_engine_is_away_though_no_group_needs_it() -> None:
    node = a(FleetDown("timed out")).node
    (trouble,) = troubles(node)
    assert (trouble.words, trouble.hint) == ("the fleet's engine does not answer: timed out", "cmgr check")
    state = state_of_service(node, ())
    told = health(node, Own(state, "sim", ()))
    assert (state, told["healthy"], told["troubles"]) == ("degraded", False, [trouble.words])
    assert (troubles(a().node), state_of_service(a().node, ())) == ([], "ready")


def test_until_the_engine_was_heard_in_this_life_the_service_only_starts() -> None:
    cmgr = Cmgr(appliance="a")
    cmgr.run()
    assert state_of_service(cmgr.node, ()) == "starting"
