"""The chips: one driver for each make, and one for simulated chips."""

from typing import TYPE_CHECKING

from cmgr.config.settings import DRIVERS, Config
from cmgr.errors import DriverError, DriverMissing, chain
from cmgr.ports import ChipDriver

if TYPE_CHECKING:
    from cmgr.drivers.pretending import RealDriver

_REAL = tuple(name for name in DRIVERS if name not in ("auto", "sim"))


def open_driver(config: Config) -> ChipDriver:
    """Return the driver that the configuration names. Raises `DriverMissing` or `DriverError`.

    `auto` takes only real chips: simulated ones would look like a machine that is well.
    """
    # Each driver is imported only where it is used: its libraries may not be there.
    if config.driver == "sim":
        from cmgr.drivers.sim.driver import SimDriver

        return SimDriver(config.sim)
    if config.driver != "auto":
        return _open_real(config.driver, config)
    refusals, hints = [], []
    for name in _REAL:
        try:
            return _open_real(name, config)
        except DriverError as error:
            refusals.append(f"{name}: {chain(error)}")
            hints.append(error.hint)
    why = "; ".join(refusals)
    raise DriverMissing(f"cannot find a chip driver ({why})", hint="; ".join(dict.fromkeys(h for h in hints if h)))


def _open_real(name: str, config: Config) -> ChipDriver:
    if name == "dcmi":
        from cmgr.drivers.dcmi.driver import DcmiDriver

        return _opened(DcmiDriver(config.dcmi, config.resync), config)
    hint = 'set driver = "sim" for simulated chips'
    raise DriverMissing(f"cannot use driver {name}: not in this version", hint=hint)


def _opened(real: "RealDriver", config: Config) -> ChipDriver:
    """Return the driver, one that can pretend faults where the configuration allows that."""
    if not config.allow_injection:
        return real
    from cmgr.drivers.pretending import PretendingDriver

    return PretendingDriver(real)
