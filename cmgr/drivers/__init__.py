"""The chips: one driver for each make, and one for simulated chips."""

from typing import TYPE_CHECKING

from cmgr.errors import DriverError, DriverMissing, chain
from cmgr.ports import ChipDriver
from cmgr.vendor import OpenUnits, Vendor, vendors

if TYPE_CHECKING:
    from cmgr.config.settings import Config
    from cmgr.drivers.pretending import RealDriver


def open_driver(config: "Config", units: OpenUnits | None = None) -> ChipDriver:
    """Return the driver that the configuration names. Raises `DriverMissing` or `DriverError`.

    `units`: how units of systemd are reached that keep chips from a reset; None for whoever resets none.

    `auto` takes only real chips: simulated ones would look like a machine that is well.
    """
    # Each driver is imported only where it is used: its libraries are not there everywhere.
    if config.driver == "sim":
        from cmgr.drivers.sim.driver import SimDriver
        from cmgr.drivers.sim.gauges import MeasuredSim

        return (MeasuredSim if config.sim.measured else SimDriver)(config.sim, config.sweep)
    if config.driver != "auto":
        (named,) = (vendor for vendor in vendors() if vendor.name == config.driver)
        return _open_real(named, config, units)
    refusals, hints = [], []
    for vendor in vendors():
        try:
            return _open_real(vendor, config, units)
        except DriverError as error:
            refusals.append(f"{vendor.name}: {chain(error)}")
            hints.append(error.hint)
    hints.append('set driver = "sim" for simulated chips')
    why = "; ".join(refusals)
    raise DriverMissing(f"cannot find a chip driver ({why})", hint="; ".join(dict.fromkeys(h for h in hints if h)))


def _open_real(vendor: Vendor, config: "Config", units: OpenUnits | None) -> ChipDriver:
    """Return the driver, one that can pretend faults where the configuration allows that."""
    real: RealDriver = vendor.open(config, units)
    if not config.allow_injection:
        return real
    from cmgr.drivers.pretending import PretendingDriver

    return PretendingDriver(real)
