"""Giving back what is held before cmgr goes: policies are back, and what can run runs."""

from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from cmgr.config.settings import Config, Drivers
from cmgr.config.sim import Sim, SimContainer
from cmgr.drivers.dcmi.settings import Dcmi
from cmgr.drivers.nvml.resetting.promises import Promised, Promises
from cmgr.drivers.sim.driver import SimDriver
from cmgr.errors import StoreBusy
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion
from cmgr.model.values.holds import Hold, HoldState
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import Container
from cmgr.ports import Runtime
from cmgr.runtimes import open_runtimes
from cmgr.sentences.sentence import CHINESE, Sentence, in_language
from cmgr.service.giving_back import give_back
from cmgr.store import open_store
from cmgr.store.files import NAME
from tests.sentences.test_chinese_lines import ENGLISH
from tests.store.values import NOW

RESET = "80E24E00"
ALWAYS = "always:0"


@pytest.fixture
def config(tmp_path: Path) -> Config:
    containers = tuple(SimContainer(name=name, chips=(chip,)) for chip, name in enumerate(("one", "two", "three")))
    sim = Sim(chips=4, ring=4, containers=containers, world=str(tmp_path / "world"))
    made = Config(driver="sim", runtimes=("sim",), state_dir=str(tmp_path / "state"), sim=sim)
    runtime, driver = world(made), SimDriver(sim)
    for name in ("one", "two"):
        runtime.stop(known(made)[name].key, timedelta(seconds=1))
    driver.inject(ChipId(0), RESET, Assertion.OCCURRED)
    return made


def world(config: Config) -> Runtime:
    (runtime,) = open_runtimes(config)
    return runtime


def named(text: str) -> object:
    assert isinstance(text, Sentence)
    return text.args["name"]


def known(config: Config) -> dict[str, Container]:
    return {container.name: container for container in world(config).list()}


def hold(config: Config, name: str, state: HoldState = HoldState.DOWN) -> Hold:
    found = known(config)[name]
    chips = frozenset({ChipId(("one", "two", "three").index(name))})
    return Hold(found.key, name, chips, 1, NOW, state, found.run, restart_policy=ALWAYS, disarmed=True)


def save(config: Config, *holds: Hold) -> Path:
    path = Path(config.state_dir) / NAME
    with closing(open_store(path)) as store:
        store.save(Node(holds={each.key: each for each in holds}, episodes=1), [], [])
    return path


def held(path: Path) -> dict[str, Hold]:
    with closing(open_store(path)) as store:
        return {each.name: each for each in store.load().holds.values()}


def test_what_can_run_is_started_and_every_policy_is_back(config: Config) -> None:
    path = save(config, hold(config, "one"), hold(config, "two"), hold(config, "three", HoldState.RETURNING))
    given = {named(each.text): (each.text, each.left) for each in give_back(config)}
    assert given == {
        "one": ("one is not started, its restart policy always is back", f"chip 0 reports {RESET} (RestartNPU)"),
        "two": ("two runs", ""),
        "three": ("three has its restart policy back", ""),
    }
    now = known(config)
    assert {name: (c.running, c.restart_policy) for name, c in now.items()} == {
        "one": (False, ALWAYS),
        "two": (True, ALWAYS),
        "three": (True, ALWAYS),
    }
    left = held(path)
    assert list(left) == ["one"]
    assert not left["one"].disarmed, "a cmgr that is installed again goes on with it"


def test_what_was_a_persons_already_is_not_held_again_by_a_cmgr_that_is_installed_later(config: Config) -> None:
    theirs = hold(config, "two", HoldState.RETURNING)
    theirs = replace(theirs, key=theirs.key._replace(runtime="docker"))
    path = save(config, theirs)
    assert [each.left for each in give_back(config)] == ["its runtime docker is not managed"]
    assert held(path) == {"two": theirs}


def test_a_runtime_that_was_left_out_or_called_gone_has_its_containers_back_too(config: Config) -> None:
    two = hold(config, "two")
    path = Path(config.state_dir) / NAME
    with closing(open_store(path)) as store:
        store.save(Node(kept_holds={two.key: two}, episodes=1), [], [])
    assert [each.text for each in give_back(config)] == ["two runs"]
    assert (known(config)["two"].running, held(path)) == (True, {})


@pytest.mark.parametrize("state", [HoldState.TO_STOP, HoldState.STOPPING, HoldState.SETTLING, HoldState.FAILED])
def test_what_is_left_on_a_faulty_chip_is_not_said_to_be_down_where_it_perhaps_runs(
    config: Config, state: HoldState
) -> None:
    path = save(config, hold(config, "one", state))
    assert [each.left for each in give_back(config)] == [f"chip 0 reports {RESET} (RestartNPU)"]
    assert held(path)["one"].state is state


def test_one_that_was_paused_is_paused_again(config: Config) -> None:
    path = save(config, replace(hold(config, "two"), frozen=True))
    assert [each.text for each in give_back(config)] == ["two runs"]
    assert (known(config)["two"].frozen, held(path)) == (True, {})


def test_one_that_is_gone_is_said_to_be(config: Config) -> None:
    gone = hold(config, "two")
    path = save(config, replace(gone, key=gone.key._replace(id="nobody")))
    assert [(each.text, each.left) for each in give_back(config)] == [("two is not there any more", "")]
    assert held(path) == {}


def test_nothing_is_touched_while_the_service_runs_and_nothing_is_made_where_nothing_is(config: Config) -> None:
    assert list(give_back(config)) == []
    assert not Path(config.state_dir).exists()
    path = save(config, hold(config, "two"))
    with closing(open_store(path)), pytest.raises(StoreBusy):
        list(give_back(config))
    assert not known(config)["two"].running


def test_what_resets_of_gpus_had_taken_away_is_given_back_though_nothing_is_held(config: Config) -> None:
    save(config)
    Promises(Path(config.state_dir)).make(Promised(units=("dcgm.service",)))
    nowhere = replace(config, systemd=replace(config.systemd, bus="/nowhere/bus"))
    ((name, text, left),) = ((named(each.text), each.text, each.left) for each in give_back(nowhere))
    assert (name, text) == ("dcgm.service", "dcgm.service is not started")
    assert "/nowhere/bus" in left
    assert Promises(Path(config.state_dir)).all == Promised(units=("dcgm.service",))


def test_what_became_of_each_is_said_in_chinese_too(config: Config) -> None:
    save(config, hold(config, "one"), hold(config, "two"))
    told = [each for given in give_back(config) for each in (given.text, given.left, given.advice) if each]
    assert len(told) > 4
    assert [said for said in (in_language(each, CHINESE) for each in told) if ENGLISH.search(said)] == []


def test_what_nobody_can_ask_about_is_not_started_and_the_reason_is_told(config: Config) -> None:
    away = replace(config, driver="dcmi", drivers=Drivers(dcmi=Dcmi(library="/nowhere/libdcmi.so")))
    save(config, hold(config, "two"))
    (given,) = give_back(away)
    assert given.text == "two is not started, its restart policy always is back"
    assert given.left.startswith("its chips cannot be asked whether they are well: cannot load libdcmi.so")
