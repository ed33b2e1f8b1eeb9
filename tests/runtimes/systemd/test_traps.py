"""The traps of units, on a real systemd."""

import socket
import subprocess
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from cmgr.config.settings import Unit
from cmgr.errors import ContainerError, RuntimeAils, RuntimeDown
from cmgr.model.values.chips import BY_ID
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.messages.facts import ContainerSeen, RuntimeUp
from cmgr.model.values.services.containers import NO_RESTART, UNHEALTHY, Container, ContainerKey
from cmgr.ports import RuntimeFact
from cmgr.runtimes.systemd.looks import Looks
from cmgr.runtimes.systemd.runtime import SystemdRuntime
from cmgr.runtimes.systemd.unit import key
from tests.runtimes.systemd.world import OBEYS, SystemdWorld
from tests.runtimes.told import Told
from tests.support.daemons.systemd import Systemd
from tests.support.waiting import PATIENCE, eventually

LONG = timedelta(seconds=60)
LLM = key("llm.service")


def listed(world: SystemdWorld, unit: str = LLM.id) -> Container:
    return next(c for c in world.runtime.list() if c.name == unit)


def test_a_unit_has_what_the_configuration_wishes_and_its_own_grace(systemd: Systemd, world: SystemdWorld) -> None:
    # No other test has started one of this name: systemd remembers for a while.
    world.define("graced.service", (0, 3), TimeoutStopSec="33")
    runtime = SystemdRuntime(systemd.socket, (Unit("graced.service", (0, 3), Strategy.RING, 5),))
    (unit,) = runtime.list()
    assert (unit.claims, unit.strategy, unit.order) == (frozenset({f"{BY_ID}0", f"{BY_ID}3"}), Strategy.RING, 5)
    assert (unit.grace, unit.running, unit.run, unit.exit) == (timedelta(seconds=33), False, "", None)


def test_a_unit_vouches_for_the_containers_that_its_commands_name_with_all_that_systemd_puts_in(
    world: SystemdWorld,
) -> None:
    vouched = "vouched.service"
    names = ("vouched", "vouched-2", "sleep", "spy")
    those = {name: Container(ContainerKey("docker", "", f"id of {name}"), name, unit=vouched) for name in names}
    call = "docker run --rm --name %p image; docker stop %p-2"
    world.define(vouched, chips=(), ExecStart=f"/bin/sh -c 'exec sleep infinity; {call}'")
    world.start(key(vouched))
    world.naming[vouched] = tuple(those.values())
    unit = listed(world, vouched)
    assert unit.vouches == {those["vouched"].key, those["vouched-2"].key}
    world.stop(key(vouched))
    assert listed(world, vouched).vouches == unit.vouches


def test_a_unit_that_is_not_there_is_not_listed(systemd: Systemd, world: SystemdWorld) -> None:
    assert SystemdRuntime(systemd.socket, (Unit("nowhere.service"),)).list() == ()


def test_a_unit_that_restarts_itself_stays_down_when_it_is_stopped(world: SystemdWorld) -> None:
    world.define(LLM.id, Restart="always", RestartSec="0")
    world.start(LLM)
    run = listed(world).run
    world.die(LLM)
    eventually(lambda: listed(world).run != run and listed(world).running)
    assert world.runtime.stop(LLM, LONG).before is None
    assert not listed(world).running
    assert world.runtime.start(LLM, NO_RESTART) == listed(world).run


def test_a_stop_ends_the_wait_for_its_next_restart(world: SystemdWorld) -> None:
    world.define(LLM.id, Restart="always", RestartSec="1h")
    world.start(LLM)
    world.die(LLM)
    eventually(lambda: world.systemd.property(LLM.id, "SubState") == "auto-restart")
    assert listed(world).running
    world.runtime.stop(LLM, LONG)
    assert not listed(world).running


def test_a_life_that_systemd_has_begun_by_itself_says_so(world: SystemdWorld) -> None:
    world.define(LLM.id, Restart="always", RestartSec="0")
    world.start(LLM)
    run = listed(world).run
    assert not listed(world).revived
    world.die(LLM)
    eventually(lambda: listed(world).run != run and not listed(world).restarting)
    assert listed(world).revived
    world.systemd.systemctl("restart", LLM.id)
    assert not listed(world).revived, "a person has begun this one"


def test_a_unit_that_loads_is_starting_and_its_start_is_not_waited_for_to_the_end(
    world: SystemdWorld, tmp_path: Path
) -> None:
    loaded = tmp_path / "loaded"
    load = f"until test -e {loaded}; do sleep 0.1; done; systemd-notify --ready; exec sleep infinity"
    world.define(LLM.id, Type="notify", NotifyAccess="all", ExecStart=f'/bin/sh -c "{load}"')
    run = world.runtime.start(LLM, NO_RESTART)
    now = listed(world)
    assert (now.running, now.starting, now.run) == (True, True, run)
    loaded.touch()
    eventually(lambda: not listed(world).starting)
    assert (listed(world).running, listed(world).run) == (True, run)


def test_a_unit_that_systemd_has_given_up_while_its_process_lives_is_neither_stopped_nor_started(
    world: SystemdWorld,
) -> None:
    # As where a process hangs in the driver of its chip: no kill ends that.
    # It has no child: systemd starts nothing with SendSIGKILL=no beside what lived on.
    stays = "trap '' TERM; systemd-notify --ready; exec sleep infinity"
    command = f'/bin/sh -c "{stays}"'
    world.define(LLM.id, Type="notify", NotifyAccess="all", SendSIGKILL="no", TimeoutStopSec="1", ExecStart=command)
    world.start(LLM)
    pid = world.systemd.property(LLM.id, "MainPID")
    lives = f"systemd calls it failed, and its process {pid} lives"
    with pytest.raises(ContainerError, match=lives):
        world.runtime.stop(LLM, LONG)
    assert world.systemd.property(LLM.id, "ActiveState") == "failed"
    unit = listed(world)
    assert (unit.running, unit.health, unit.warnings) == (True, UNHEALTHY, (lives,))
    with pytest.raises(RuntimeAils, match=lives):
        world.runtime.start(LLM, NO_RESTART)
    subprocess.run(world.systemd.inside("kill", "-KILL", pid), check=True, timeout=PATIENCE)
    eventually(lambda: not listed(world).running, why="its process has ended")
    assert world.runtime.stop(LLM, LONG).run == unit.run
    assert world.runtime.start(LLM, NO_RESTART) == listed(world).run
    # A stop would leave this process, too, to the next test with a unit of this name.
    world.die(LLM)
    eventually(lambda: not listed(world).running, why="it has ended")


@pytest.mark.parametrize("unit", [LLM.id, "base.service"])
def test_an_end_by_a_job_was_asked_for_however_the_process_takes_it(world: SystemdWorld, told: Told, unit: str) -> None:
    stubborn = """/bin/sh -c "trap 'exit 3' TERM; while sleep 0.1; do :; done" """
    world.define("base.service")
    world.define(LLM.id, ExecStart=stubborn, Unit_BindsTo="base.service", Unit_After="base.service")
    world.start(LLM)
    run = told.running(LLM).run
    world.stop(key(unit))
    ended = eventually(lambda: [c for c in told.seen(LLM) if c.run == run and c.exit is not None], why="it is told")
    assert ended[-1].exit is not None
    assert (ended[-1].exit.code, ended[-1].exit.asked) == (3, True)


def test_a_stop_in_the_middle_of_a_start_was_asked_for_and_its_time_out_was_not(
    world: SystemdWorld, told: Told
) -> None:
    world.define(LLM.id, Type="notify", TimeoutStartSec="1")
    world.systemd.systemctl("start", "--no-block", LLM.id)
    first = eventually(lambda: [c for c in told.seen(LLM) if c.starting], why="it is starting")[0].run
    late = told.down(LLM)
    assert late.run == first
    assert late.exit is not None
    assert late.exit.asked is False
    world.systemd.systemctl("start", "--no-block", LLM.id)
    eventually(lambda: [c for c in told.seen(LLM) if c.starting and c.run != first], why="it is starting")
    world.stop(LLM)
    ended = eventually(lambda: [c for c in told.seen(LLM) if c.exit is not None and c.run != first], why="it is down")
    assert ended[-1].exit is not None
    assert ended[-1].exit.asked is True


def test_a_masked_unit_is_not_started(world: SystemdWorld) -> None:
    world.define(LLM.id)
    world.start(LLM)
    world.runtime.stop(LLM, LONG)
    world.systemd.systemctl("mask", "--runtime", LLM.id)
    try:
        with pytest.raises(ContainerError, match=r"cannot start unit llm\.service: .*masked"):
            world.runtime.start(LLM, NO_RESTART)
        assert not world.running(LLM)
    finally:
        world.systemd.systemctl("unmask", "--runtime", LLM.id)
    assert world.runtime.start(LLM, NO_RESTART) == listed(world).run


def test_a_unit_that_fails_by_itself_is_told_as_such(world: SystemdWorld) -> None:
    world.define(LLM.id, Type="notify", ExecStart="/bin/false")
    with pytest.raises(ContainerError, match=r"the unit itself failed: .* \(exit code 1\)") as told:
        world.runtime.start(LLM, NO_RESTART)
    assert told.value.hint == "journalctl -u llm.service"
    exit_ = listed(world).exit
    assert exit_ is not None
    assert (exit_.code, exit_.asked, exit_.by_itself) == (1, None, True)


def test_a_unit_whose_need_fails_is_told_as_such(world: SystemdWorld) -> None:
    world.define("model.service", ExecStart="/bin/false", Type="oneshot")
    world.define(LLM.id, Unit_Requires="model.service", Unit_After="model.service")
    with pytest.raises(ContainerError, match="a unit that it needs did not start"):
        world.runtime.start(LLM, NO_RESTART)


def test_the_limit_of_starts_does_not_count_against_a_start_by_cmgr(world: SystemdWorld) -> None:
    world.define(LLM.id, Restart="always", RestartSec="0", Unit_StartLimitBurst="1", Unit_StartLimitIntervalSec="1h")
    world.start(LLM)
    world.die(LLM)
    eventually(lambda: not listed(world).running)
    assert world.runtime.start(LLM, NO_RESTART) == listed(world).run


def test_a_unit_that_is_bound_to_another_stops_with_it(world: SystemdWorld, told: Told) -> None:
    world.define("base.service")
    world.define(LLM.id, Unit_BindsTo="base.service", Unit_After="base.service")
    world.start(LLM)
    assert listed(world).running
    world.runtime.stop(key("base.service"), LONG)
    eventually(lambda: (end := told.down(LLM).exit) is not None and end.asked is True, why="that is told")
    world.runtime.start(LLM, NO_RESTART)
    assert listed(world, "base.service").running, "what it needs is started with it"


@pytest.mark.parametrize("slow", [LLM.id, "slow.service"])
def test_a_part_that_is_down_already_still_goes_with_the_unit_whose_stop_goes_on(
    world: SystemdWorld, tmp_path: Path, slow: str
) -> None:
    # systemd has forgotten the part by then, and with it whose part it was.
    bound = {"Unit_BindsTo": LLM.id, "Unit_After": LLM.id}
    waits = {"ExecStop": f"/bin/sh -c 'until [ -e {tmp_path}/go ]; do sleep 0.1; done'"}
    world.define(LLM.id, (0,), **(waits if slow == LLM.id else {}))
    world.define("slow.service", (), **bound, **(waits if slow != LLM.id else {}))
    world.define("part.service", (), **bound)
    for unit in ("slow.service", "part.service"):
        world.start(key(unit))
    (before,) = (c.takes for c in world.runtime.list() if c.key == LLM)
    world.systemd.systemctl("stop", "--no-block", LLM.id)
    eventually(lambda: "part.service" not in world.systemd.systemctl("list-units", "--full"), why="it is forgotten")
    assert world.systemd.property(LLM.id, "ActiveState") == ("deactivating" if slow == LLM.id else "active")
    assert listed(world).takes == before == {"slow.service", "part.service"}
    assert not listed(world, "part.service").running
    (tmp_path / "go").touch()
    eventually(lambda: not world.running(LLM), why="it is down")


def test_a_unit_that_a_socket_activates_stays_down_where_the_socket_stops_with_it(world: SystemdWorld) -> None:
    path = world.systemd.folder / "llm"
    world.define(LLM.id, Unit_Wants="llm.socket")
    world.systemd.define("llm.socket", ListenStream=str(path), Unit_PartOf=LLM.id)
    try:
        world.systemd.systemctl("start", "llm.socket")
        assert not listed(world).running
        connect(path)
        eventually(lambda: listed(world).running, why="the first connection starts it")
        world.runtime.stop(LLM, LONG)
        eventually(lambda: not world.running(key("llm.socket")), why="its socket goes with it")
        with pytest.raises(ConnectionRefusedError):
            connect(path)
        assert not listed(world).running
        world.runtime.start(LLM, NO_RESTART)
        assert world.running(key("llm.socket"))
    finally:
        world.systemd.systemctl("stop", "llm.socket", LLM.id)
        world.systemd.undefine("llm.socket")


def connect(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))


def test_a_unit_that_is_disabled_runs_on_and_is_started_again(world: SystemdWorld) -> None:
    world.define(LLM.id)
    world.start(LLM)
    world.systemd.systemctl("disable", LLM.id)  # It says what is started at boot, and nothing of now.
    world.runtime.stop(LLM, LONG)
    world.runtime.start(LLM, NO_RESTART)
    assert listed(world).running


def test_an_instance_of_a_template_is_a_unit_of_its_own(world: SystemdWorld) -> None:
    world.systemd.define("llm@.service", ExecStart=OBEYS)
    world.units |= {name: Unit(name, (0,)) for name in ("llm@2.service", "llm@3.service")}
    for name in world.units:
        world.start(key(name))
    world.runtime.stop(key("llm@3.service"), LONG)
    assert {c.name: c.running for c in world.runtime.list()} == {"llm@2.service": True, "llm@3.service": False}
    world.runtime.stop(key("llm@2.service"), LONG)


def test_a_life_that_is_over_before_anybody_looks_is_told_with_its_end(world: SystemdWorld) -> None:
    told, busy, over = Told(), threading.Event(), threading.Event()

    def tell(fact: RuntimeFact) -> None:
        told.tell(fact)
        if isinstance(fact, ContainerSeen) and not busy.is_set():
            busy.set()
            over.wait(PATIENCE)

    world.runtime.watch(tell)
    told.first(RuntimeUp)
    world.define(LLM.id)
    world.start(LLM)
    assert busy.wait(PATIENCE)
    first = world.systemd.property(LLM.id, "InvocationID")
    world.stop(LLM)
    world.start(LLM)
    second = world.systemd.property(LLM.id, "InvocationID")
    world.stop(LLM)
    over.set()
    ends = eventually(lambda: [c.exit for c in told.seen(LLM) if c.run == second and c.exit], why="its end is told")
    assert first != second
    assert {(end.code, end.asked) for end in ends} == {(143, True)}


def test_an_old_signal_is_no_news_of_a_life_that_was_looked_at_since(world: SystemdWorld) -> None:
    world.define(LLM.id)
    looks = Looks(world.systemd.socket, (Unit(LLM.id),), dict)
    with looks.bus("look") as bus:
        world.start(LLM)
        old = bus.properties(bus.ask("LoadUnit", "s", LLM.id))
        world.stop(LLM)
        world.start(LLM)
        run = looks.unit(bus, LLM.id).container.run
        world.stop(LLM)
        eventually(lambda: not looks.unit(bus, LLM.id).container.running)
        looks.heard(LLM.id, old)
        now = looks.unit(bus, LLM.id).container
    assert (now.running, now.run) == (False, run)


def test_looking_at_a_unit_that_is_unloaded_tells_nothing_new(world: SystemdWorld) -> None:
    told = Told()
    world.runtime.watch(told.tell)
    told.first(RuntimeUp)
    world.define(LLM.id)
    world.start(LLM)
    run = told.running(LLM).run
    world.stop(LLM)
    told.down(LLM)
    for _ in range(20):
        assert listed(world).run == run, "its last life is remembered"
    said = len(told.facts)
    for _ in range(20):
        world.runtime.list()
    assert len(told.facts) - said < 20, "a look is no event that leads to the next look"


def test_nobody_at_the_socket_is_a_runtime_that_is_down() -> None:
    runtime = SystemdRuntime("/nonexistent/bus", (Unit(LLM.id),))
    with pytest.raises(RuntimeDown, match="nobody answers on /nonexistent/bus"):
        runtime.list()
    with pytest.raises(RuntimeDown, match=r"cannot stop unit llm\.service"):
        runtime.stop(LLM, LONG)
