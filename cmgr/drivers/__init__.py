"""The chips: one driver for each make, and one for simulated chips."""

from typing import TYPE_CHECKING

from cmgr import again
from cmgr.errors import DriverError, DriverMissing
from cmgr.ports import Beginning, ChipDriver
from cmgr.sentences.sentence import because, chained, parts, say
from cmgr.vendor import OpenUnits, Vendor, vendors

if TYPE_CHECKING:
    from cmgr.config.settings import Config


def open_driver(config: "Config") -> ChipDriver:
    """Return the driver that the configuration names, for real chips a program that drives them.

    That one is `Beginning`: its library can take minutes to begin, or is not there yet.
    """
    if config.driver == "sim":
        if (child := again.ahead()) is not None:
            child.let_go()
        return open_here(config)
    # Each driver is imported only where it is used.
    from cmgr.config.load import written
    from cmgr.drivers.program.driver import Pace, ProgramDriver
    from cmgr.drivers.program.launch import launcher

    beat = min(Pace().beat, config.sweep.total_seconds())
    driver = ProgramDriver(launcher(), written(config), Pace(beat), config.driver)
    if not config.allow_injection:
        return driver
    from cmgr.drivers.pretending import PretendingDriver

    return PretendingDriver(driver)


def open_begun(config: "Config", seconds: float) -> ChipDriver:
    """Return the same once its chips are known. Blocks for so long. Raises `DriverError` when they are not by then."""
    driver = open_driver(config)
    if isinstance(driver, Beginning) and not driver.begins(seconds) and (refusal := driver.refusal()) is not None:
        driver.close()
        raise refusal
    return driver


def open_here(config: "Config", units: OpenUnits | None = None) -> ChipDriver:
    """Return the driver in this very process. Raises `DriverMissing` or `DriverError`.

    `units`: how units of systemd are reached that keep chips from a reset; None for whoever resets none.

    `auto` takes only real chips: simulated ones would look like a machine that is well.
    """
    # Their libraries are not there everywhere.
    if config.driver == "sim":
        from cmgr.drivers.sim.driver import SimDriver
        from cmgr.drivers.sim.gauges import MeasuredSim

        return (MeasuredSim if config.sim.measured else SimDriver)(config.sim, config.sweep)
    if config.driver != "auto":
        (named,) = (vendor for vendor in vendors() if vendor.name == config.driver)
        return _real(named, config, units)
    refusals, hints = [], []
    for vendor in (each for each in vendors() if each.tables):
        try:
            return _real(vendor, config, units)
        except DriverError as error:
            refusals.append(because(vendor.name, chained(error)))
            hints.append(error.hint)
    hints.append(say("driver.set-sim", setting='driver = "sim"'))
    raise DriverMissing(say("driver.none-found", why=refusals), hint=parts(dict.fromkeys(hints)))


def _real(vendor: Vendor, config: "Config", units: OpenUnits | None) -> ChipDriver:
    found: ChipDriver = vendor.open(config, units)
    return found
