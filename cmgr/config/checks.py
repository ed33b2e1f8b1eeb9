"""Settings that are good one by one and contradict each other."""

from collections.abc import Iterator

from cmgr.config.settings import Config
from cmgr.config.sim import Sim


def contradictions(config: Config) -> Iterator[str]:
    """Yield a sentence for each."""
    if "auto" in config.runtimes and len(config.runtimes) > 1:
        yield "runtimes: auto stands alone; name the runtimes or leave it to auto"
    for name, backoff, most in (
        ("reset", config.reset.backoff, config.reset.backoff_max),
        ("retry", config.retry.backoff, config.retry.backoff_max),
        ("alarms", config.alarms.backoff, config.alarms.backoff_max),
    ):
        if backoff > most:
            yield f"{name}.backoff: must not be longer than {name}.backoff_max"
    for name, file in (("file", config.faults.file), ("rules", config.faults.rules)):
        if file and not file.endswith((".json", ".toml")):
            yield f'faults.{name} = "{file}": its name must end in .json or .toml'
    if config.faults.mode == "replace" and not config.faults.file:
        yield "faults.mode: replace needs the table in faults.file that replaces the built-in one"
    if config.faults.rules_mode == "replace" and not config.faults.rules:
        yield "faults.rules_mode: replace needs the file in faults.rules that replaces the shipped rules"
    yield from _of_sim(config.sim)


def _of_sim(sim: Sim) -> Iterator[str]:
    if sim.rings and sum(sim.rings) != sim.chips:
        yield f"sim.rings: must add up to sim.chips, which is {sim.chips}, and add up to {sum(sim.rings)}"
    used = (
        ("sim.silent", sim.silent),
        ("sim.script", tuple(event.chip for event in sim.script)),
        ("sim.processes", tuple(process.chip for process in sim.processes)),
    )
    for name, chips in used:
        missing = sorted({chip for chip in chips if chip >= sim.chips})
        if missing:
            numbers = ", ".join(str(chip) for chip in missing)
            yield f"{name}: there is no chip {numbers}; with sim.chips = {sim.chips} the last is {sim.chips - 1}"
    names = [container.name for container in sim.containers]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"sim.containers: {name} is the name of more than one"
