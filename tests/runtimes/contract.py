"""The contract that every runtime keeps: one suite, run against each of them in a world that pretends or is real."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from cmgr.errors import ContainerGone
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.messages.facts import RuntimeUp
from cmgr.model.values.services.containers import NO_RESTART, Container, ContainerKey
from tests.runtimes.told import Told
from tests.runtimes.world import World
from tests.support.waiting import PATIENCE, eventually

LONG = timedelta(seconds=60)
SHORT = timedelta(seconds=1)


class RuntimeContract:
    """A subclass gives the fixture `world`, whose daemon has no containers."""

    @pytest.fixture
    def world(self) -> World:
        raise NotImplementedError

    @pytest.fixture
    def told(self, world: World) -> Iterator[Told]:
        """All that the runtime has told since before the test began."""
        told = Told()
        world.runtime.watch(told.tell)
        told.first(RuntimeUp)
        yield told
        world.runtime.close()

    def test_events_flow_before_anything_else_is_told(self, world: World, told: Told) -> None:
        world.create("web")
        eventually(lambda: len(told.facts) > 1)
        up = told.facts[0]
        assert isinstance(up, RuntimeUp)
        assert up.runtime == world.runtime.name
        # A test before this one can have restarted the daemon: it came then, and has not just come.
        assert up.came is not None or not up.restarted

    def test_a_container_that_asks_for_no_chip_is_neither_listed_nor_told(self, world: World, told: Told) -> None:
        other = world.create("other", chips="")
        world.stop(other)
        world.remove(other)
        key = world.create("web")
        told.running(key)
        assert [c.key for c in world.runtime.list()] == [key]
        assert told.seen(other) == []

    def test_changes_are_told_in_their_order(self, world: World, told: Told) -> None:
        key = world.create("web")
        first = told.running(key).run
        world.stop(key)
        told.down(key)
        world.start(key)
        second = told.running(key, not_run=first).run
        world.stop(key)
        told.down(key)
        world.remove(key)
        told.removed(key)
        assert lives(told, key) == [(first, True), (first, False), (second, True), (second, False)]

    def test_what_is_told_is_what_is_listed(self, world: World, told: Told) -> None:
        key = world.create("web")
        assert told.running(key) == only(world)
        world.stop(key)
        assert told.down(key) == only(world)

    def test_a_stop_ends_the_container_and_names_the_life_it_ended(self, world: World, told: Told) -> None:
        key = world.create("web")
        run = only(world).run
        halt = world.runtime.stop(key, LONG)
        assert (halt.run, halt.before) == (run, None)
        listed = only(world)
        assert not listed.running
        assert listed.exit is not None
        assert (listed.run, listed.exit.asked) == (run, True)
        assert listed.exit.code != 137
        assert abs(datetime.now(UTC) - listed.exit.at) < timedelta(minutes=1)

    def test_a_container_that_ignores_the_stop_is_killed_after_its_grace(self, world: World, told: Told) -> None:
        key = world.create("deaf", ignores_term=True)
        assert world.runtime.stop(key, SHORT).before is None
        exit_ = told.down(key).exit
        assert exit_ is not None
        assert (exit_.code, exit_.asked, exit_.by_itself) == (137, True, False)

    def test_a_stop_of_one_that_is_down_says_how_it_had_ended(self, world: World, told: Told) -> None:
        key = world.create("web")
        world.stop(key)
        told.down(key)
        halt = world.runtime.stop(key, LONG)
        assert halt.before == only(world).exit
        assert halt.before is not None
        assert halt.before.asked
        assert halt.run == only(world).run

    def test_a_death_that_nobody_asked_for_is_told_as_such(self, world: World, told: Told) -> None:
        key = world.create("web")
        told.running(key)
        world.die(key)
        exit_ = told.down(key).exit
        assert exit_ is not None
        assert (exit_.code, exit_.asked) == (137, False if world.blames else None)
        assert exit_.by_itself is world.blames
        assert world.runtime.stop(key, LONG).before == exit_

    def test_a_stop_by_hand_is_told_as_asked_for(self, world: World, told: Told) -> None:
        key = world.create("web")
        told.running(key)
        world.stop(key)
        exit_ = told.down(key).exit
        assert exit_ is not None
        assert (exit_.asked, exit_.by_itself) == (True, False)

    def test_a_new_life_is_not_blamed_for_the_last_one(self, world: World, told: Told) -> None:
        key = world.create("web")
        world.stop(key)
        told.down(key)
        world.start(key)
        told.running(key)
        world.die(key)
        assert told.down(key).exit is not None
        exit_ = only(world).exit
        assert exit_ is not None
        assert not exit_.asked
        assert exit_.by_itself is world.blames_again

    def test_a_start_gives_a_new_life_and_its_word(self, world: World, told: Told) -> None:
        key = world.create("web")
        old = world.runtime.stop(key, LONG).run
        new = world.runtime.start(key, NO_RESTART)
        assert new not in ("", old)
        assert (only(world).running, only(world).run) == (True, new)
        assert told.running(key, not_run=old).run == new

    def test_a_start_of_one_that_runs_changes_nothing(self, world: World, told: Told) -> None:
        key = world.create("web")
        assert world.runtime.start(key, NO_RESTART) == only(world).run

    def test_a_start_by_hand_is_another_life_than_the_one_stopped(self, world: World, told: Told) -> None:
        key = world.create("web")
        run = world.runtime.stop(key, LONG).run
        world.start(key)
        assert told.running(key, not_run=run).run == only(world).run

    def test_what_does_not_exist_is_gone(self, world: World, told: Told) -> None:
        key = world.create("web")
        world.stop(key)
        world.remove(key)
        with pytest.raises(ContainerGone):
            world.runtime.stop(key, LONG)
        with pytest.raises(ContainerGone):
            world.runtime.start(key, NO_RESTART)
        with pytest.raises(ContainerGone):
            world.runtime.set_restart_policy(key, world.always)

    def test_many_containers_are_stopped_and_started_at_once(self, world: World, told: Told) -> None:
        keys = [world.create(f"web{n}", chips=str(n)) for n in range(6)]
        with ThreadPoolExecutor(6) as pool:
            halts = list(pool.map(lambda key: world.runtime.stop(key, LONG), keys))
            runs = list(pool.map(lambda key: world.runtime.start(key, NO_RESTART), keys))
        assert [halt.before for halt in halts] == [None] * 6
        assert {c.key: c.run for c in world.runtime.list() if c.running} == dict(zip(keys, runs, strict=True))

    def test_a_stop_does_not_hold_up_another(self, world: World, told: Told) -> None:
        deaf, quick = world.create("deaf", ignores_term=True), world.create("quick")
        with ThreadPoolExecutor(1) as pool:
            slow = pool.submit(world.runtime.stop, deaf, LONG)
            world.runtime.stop(quick, LONG)
            assert not slow.done()
            world.die(deaf)
            # On a busy machine it may have died before its stop had begun, too.
            slow.result(PATIENCE)
        assert not next(c for c in world.runtime.list() if c.key == deaf).running

    def test_nothing_is_told_after_close(self, world: World, told: Told) -> None:
        key = world.create("web")
        told.running(key)
        world.runtime.close()
        known = told.facts
        world.stop(key)
        world.runtime.close()
        assert told.facts == known


class ContainerContract(RuntimeContract):
    """The rest that a runtime of containers keeps: labels, restart policies, pauses, and removal at the end."""

    def test_a_container_that_asks_for_chips_is_listed_with_all_it_wishes(self, world: World, told: Told) -> None:
        key = world.create("web", chips="0,3", policy=world.always, labels=True)
        listed = only(world)
        assert (listed.key, listed.name, listed.claims) == (key, "web", frozenset({"0", "3"}))
        assert (listed.strategy, listed.order, listed.grace) == (Strategy.RING, 5, timedelta(seconds=33))
        assert (listed.enabled, listed.restart_policy, listed.auto_remove) == (False, world.always, False)
        assert listed.running
        assert listed.run
        assert listed.exit is None

    def test_a_restart_policy_is_switched_off_and_put_back(self, world: World, told: Told) -> None:
        key = world.create("web", policy=world.always)
        world.runtime.stop(key, LONG)
        world.runtime.set_restart_policy(key, NO_RESTART)
        assert only(world).restart_policy == NO_RESTART
        assert not only(world).running
        world.runtime.start(key, world.always)
        assert only(world).restart_policy == world.always
        assert only(world).running

    def test_a_start_with_no_policy_leaves_it_as_it_is(self, world: World, told: Told) -> None:
        key = world.create("web", policy=world.always)
        world.runtime.stop(key, LONG)
        world.runtime.start(key, NO_RESTART)
        assert only(world).restart_policy == world.always

    def test_setting_a_policy_starts_nothing(self, world: World, told: Told) -> None:
        key = world.create("web")
        world.runtime.stop(key, LONG)
        world.runtime.set_restart_policy(key, world.always)
        assert not only(world).running

    def test_a_paused_container_runs_and_can_be_stopped(self, world: World, told: Told) -> None:
        key = world.create("web")
        world.pause(key)
        assert only(world).running
        assert world.runtime.start(key, NO_RESTART) == only(world).run
        assert world.runtime.stop(key, LONG).before is None
        assert (only(world).running, only(world).frozen) == (False, False)

    def test_that_a_container_is_paused_is_told_and_listed_and_so_is_its_end(self, world: World, told: Told) -> None:
        key = world.create("web")
        assert not told.running(key).frozen
        world.pause(key)
        eventually(lambda: [c.frozen for c in told.seen(key)][-1], why="the pause is told")
        assert (only(world).running, only(world).frozen) == (True, True)
        world.resume(key)
        eventually(lambda: not [c.frozen for c in told.seen(key)][-1], why="its end is told")
        assert (only(world).running, only(world).frozen) == (True, False)

    def test_a_container_that_was_paused_is_started_and_paused_again(self, world: World, told: Told) -> None:
        key = world.create("web")
        world.pause(key)
        old = world.runtime.stop(key, LONG).run
        new = world.runtime.start(key, NO_RESTART, frozen=True)
        assert new not in ("", old)
        assert (only(world).running, only(world).frozen, only(world).run) == (True, True, new)

    def test_a_start_that_is_repeated_does_the_pause_that_is_still_due(self, world: World, told: Told) -> None:
        key = world.create("web")
        for _ in range(2):
            assert world.runtime.start(key, NO_RESTART, frozen=True) == only(world).run
            assert only(world).frozen
        assert world.runtime.start(key, NO_RESTART) == only(world).run
        assert only(world).frozen, "a start thaws nothing"

    def test_a_container_that_its_policy_brings_back_is_another_life(self, world: World, told: Told) -> None:
        key = world.create("web", policy=world.always)
        run = told.running(key).run
        world.die(key)
        assert told.running(key, not_run=run).exit is None
        assert only(world).run != run

    def test_a_container_to_be_removed_at_its_end_is_gone_after_a_stop(self, world: World, told: Told) -> None:
        key = world.create("web", auto_remove=True)
        assert only(world).auto_remove
        run = only(world).run
        assert world.runtime.stop(key, LONG).run == run
        told.removed(key)
        assert world.runtime.list() == ()
        with pytest.raises(ContainerGone):
            world.runtime.start(key, NO_RESTART)

    def test_a_death_of_one_to_be_removed_is_told_before_its_removal(self, world: World, told: Told) -> None:
        key = world.create("web", auto_remove=True)
        told.running(key)
        world.die(key)
        told.removed(key)
        last = told.last(key)
        assert last is not None
        assert last.exit is not None
        assert (last.running, last.exit.code, last.exit.by_itself) == (False, 137, world.blames)

    def test_a_daemon_that_was_restarted_is_told_and_the_world_is_right_afterwards(
        self, world: World, told: Told
    ) -> None:
        back = world.create("back", policy=world.always)
        held = world.create("held", chips="1", policy=world.always)
        run = told.running(back).run
        world.runtime.stop(held, LONG)
        world.runtime.set_restart_policy(held, NO_RESTART)
        world.restart_daemon()
        assert eventually(lambda: told.of(RuntimeUp)[1:])[0].restarted
        new = told.running(back, not_run=None if world.outlives else run)
        states = {c.key: (c.running, c.run) for c in world.runtime.list()}
        assert states[back] == (True, new.run)
        assert not states[held][0]
        assert world.runtime.start(held, world.always) == told.running(held, not_run=states[held][1]).run


def only(world: World) -> Container:
    """Return the one container that is listed."""
    (container,) = world.runtime.list()
    return container


def lives(told: Told, key: ContainerKey) -> list[tuple[str, bool]]:
    """Return the changes of a container as they were told, each once: its life, and whether it ran."""
    said = [(c.run, c.running) for c in told.seen(key) if c.run]
    return [now for before, now in zip([None, *said], said, strict=False) if now != before]
