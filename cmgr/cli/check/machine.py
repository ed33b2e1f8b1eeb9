"""Checks of the sources of the machine's own faults: which are asked, and why the others are not."""

import threading
from collections.abc import Iterator
from shutil import which
from typing import TYPE_CHECKING

from cmgr.cli.check.finding import OK, WARNING, Finding
from cmgr.config.settings import Config
from cmgr.config.sources import AUTO, wanted
from cmgr.host.act import PLAIN
from cmgr.host.host import unstarted
from cmgr.model.values.handling.policy import RebootWhen
from cmgr.words import span

if TYPE_CHECKING:
    from cmgr.view import shapes

DEAF_HINT = "docs/machine.md says what each source needs; machine.sources names those that are asked"


def sources(config: Config, told: "list[shapes.Source] | None") -> Iterator[Finding]:
    """Yield each source. `told`: how they do, as the service says; None where it does not run, and they are asked."""
    for source in _asked(config) if told is None else told:
        what, why = f"machine {source['name']}", source["why"]
        if not source["on"]:
            missed = AUTO not in config.machine.sources
            yield Finding(what, WARNING if missed else OK, f"off: {why}", DEAF_HINT if missed else "")
        elif why:
            yield Finding(what, WARNING, why, DEAF_HINT)
        else:
            yield Finding(what, OK, "on")


def reboot(config: Config, pid: int, path: str = PLAIN["PATH"]) -> Iterator[Finding]:
    """Yield whether the service with this process can reboot the machine, where it is to."""
    if config.machine.reboot is RebootWhen.NEVER:
        return
    if which("shutdown", path=path) is None:
        yield Finding("reboot", WARNING, "there is no shutdown", "install systemd-sysv, or what has it here")
    elif why := unstarted(config.systemd.bus, pid):
        yield Finding("reboot", WARNING, why, "systemctl --no-reload enable cmgr")
    else:
        yield Finding("reboot", OK, f"{config.machine.reboot}, announced {span(config.machine.reboot_delay)} before")


def _asked(config: Config) -> "list[shapes.Source]":
    """Ask every source once, side by side, as the service would."""
    from cmgr.drivers.machine.watch import MachineWatch, sources

    names = wanted(config.machine, config.driver)
    watch = MachineWatch(sources(config.machine, names), config.machine)
    threads = [threading.Thread(target=ask, daemon=True) for ask in watch.once()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(watch.patience)
    return [{"name": each.name, "on": not each.off, "why": each.off or each.deaf} for each in watch.states()]
