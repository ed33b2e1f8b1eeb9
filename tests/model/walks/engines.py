"""Engines in the random walks: they go, come back, come up on another disk, and start units that never get up."""

from cmgr.model.values.messages import facts
from cmgr.model.values.services.containers import Exit
from tests.model.machine import Real
from tests.model.united import Unit, United
from tests.model.world import World


def a_runtime_comes_or_goes(world: World) -> None:
    machine = world.machine
    runtime = machine.rng.choice(machine.plan.runtimes)
    machine.down ^= {runtime}
    gone = runtime in machine.down
    machine.hint(facts.RuntimeDown(runtime, "connection refused") if gone else facts.RuntimeUp(runtime))


def a_daemon_restarts(world: World) -> None:
    _comes_up(world, world.rng.choice(world.plan.runtimes))


def _comes_up(world: World, runtime: str) -> None:
    """Let a runtime's daemon begin anew: restart policies bring back what they mean to keep running."""
    machine = world.machine
    machine.down.discard(runtime)
    machine.hint(facts.RuntimeUp(runtime, restarted=True))
    for real in machine.truth.values():
        if real.key.runtime == runtime and real.armed and not real.running and not machine.is_unreachable(real):
            real.will = None
            starts(world, real)


def starts(world: World, real: Real) -> None:
    """Let one be started that perhaps nobody wanted: then it is there besides whoever has its place by now."""
    left = not real.wanted and not world.is_held(real.key)
    world.machine.starts(real)
    if left and real.running:
        world.users.most |= {chip: world.users.most[chip] + 1 for chip in real.chips if chip in world.users.most}


def an_engine_comes_up_on_another_disk(world: World) -> None:
    """Let a runtime's daemon come up with the books of nobody, or with its own again.

    Processes live on (live-restore, podman, containerd), or they end with the daemon, of which nobody is told.
    """
    machine = world.machine
    runtime = machine.rng.choice(machine.plan.runtimes)
    if world.plan.united or runtime not in world.saved.origins:
        return  # Nobody has tried how units go on whose clients ask such an engine; of the first list see `lost`.
    machine.elsewhere ^= {runtime}
    if runtime in machine.elsewhere and machine.rng.random() < 0.4:
        for real in [r for r in machine.truth.values() if r.key.runtime == runtime and r.running]:
            real.will = None
            machine.dies(real, Exit(137, machine.clock(), missed=True))
    _comes_up(world, runtime)


def a_unit_never_gets_up(world: World) -> None:
    """Let the starts of a unit take too long from now on, or let systemd end one that does, and begin the next."""
    machine = world.machine
    units = [real for real in machine.truth.values() if isinstance(real, Unit)]
    if not isinstance(machine, United) or not units:
        return
    unit = machine.rng.choice(units)
    if not (unit.running and unit.starting):
        unit.stuck = not unit.stuck
    elif machine.rng.random() < 0.7:
        machine.begins_again(unit)
    elif machine.rng.random() < 0.5:
        machine.gets_up(unit)
    else:
        unit.will = None
        machine.dies(unit, Exit(1, machine.clock(), asked=False))  # It has been started too often (StartLimitBurst=).


def all_is_back(world: World) -> None:
    """Let each engine have its own books again, and each unit get up."""
    machine = world.machine
    for runtime in sorted(machine.elsewhere):
        machine.elsewhere.discard(runtime)
        _comes_up(world, runtime)
    for unit in [real for real in machine.truth.values() if isinstance(real, Unit)]:
        assert isinstance(machine, United)
        machine.gets_up(unit)
