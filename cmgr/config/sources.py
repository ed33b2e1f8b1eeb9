"""The settings of the machine's own faults: who tells of them, and how often they are asked."""

from datetime import timedelta
from typing import Annotated

from cmgr.declare import Form, Meta
from cmgr.frozen import dataclass
from cmgr.model.values.handling.calendar import Window
from cmgr.model.values.handling.policy import RebootPolicy, RebootWhen

AUTO, NONE = "auto", "none"

SOURCES = ("memory", "disks", "smart", "raid", "file-systems", "sensors", "ipmi", "ibmc", "kernel")
"""In this order: EDAC, the disks' states, SMART, md, mounted file systems, hwmon, the BMC, iBMC's alarms, the log."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Faults of the machine around the chips."""

    sources: Annotated[
        tuple[str, ...],
        Meta(
            "The sources of the machine's faults; auto takes those that are there, with simulated chips none; none.",
            choices=(AUTO, NONE, *SOURCES),
        ),
    ] = (AUTO,)
    every: Annotated[
        timedelta,
        Meta(
            "How often each is asked; the BMC a fifth, and disks for their own word a tenth as often.",
            within=("1s", "1h"),
        ),
    ] = timedelta(seconds=60)
    timeout: Annotated[
        timedelta, Meta("How long an answer may take before a source counts as not answering.", within=("1s", "10m"))
    ] = timedelta(seconds=30)
    quiet: Annotated[
        timedelta,
        Meta(
            "How long after something last happened, as an error of the memory, it counts as over.",
            within=("1m", "90d"),
        ),
    ] = timedelta(hours=24)
    reboot: Annotated[
        RebootWhen,
        Meta(
            "When cmgr reboots the machine by itself, where nothing else brings chips back: in reboot_window, or as "
            "soon as nothing is in its way; at most once a day."
        ),
    ] = RebootWhen.NEVER
    reboot_delay: Annotated[
        timedelta,
        Meta(
            "How long before that it is announced, and can be called off: cmgr cancel --reboot.", within=("1m", "24h")
        ),
    ] = timedelta(minutes=5)
    reboot_window: Annotated[tuple[Window, ...], Meta('When the machine may be rebooted with reboot = "window".')] = ()
    smartctl: Annotated[str, Meta("The program that asks disks.", form=Form.PATH)] = "/usr/sbin/smartctl"
    ipmitool: Annotated[str, Meta("The program that asks the BMC.", form=Form.PATH)] = "/usr/bin/ipmitool"
    root: Annotated[
        str, Meta("The directory where /sys, /proc, /dev/kmsg and /etc/fstab are looked for.", form=Form.PATH)
    ] = "/"

    def rebooting(self) -> RebootPolicy:
        """Return the part that decisions depend on."""
        return RebootPolicy(self.reboot, self.reboot_delay, self.reboot_window)


def wanted(settings: Machine, driver: str) -> tuple[str, ...]:
    """Return the names of the sources that are to be asked, beside this driver of the chips."""
    if NONE in settings.sources:
        return ()
    if AUTO in settings.sources:
        return () if driver == "sim" else SOURCES
    return tuple(name for name in SOURCES if name in settings.sources)
