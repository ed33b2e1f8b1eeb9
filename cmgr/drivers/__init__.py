"""The chips: one driver for each make, and one for simulated chips."""

from cmgr.config.settings import DRIVERS, Config
from cmgr.errors import DriverMissing
from cmgr.ports import ChipDriver

_REAL = tuple(name for name in DRIVERS if name not in ("auto", "sim"))


def open_driver(config: Config) -> ChipDriver:
    """Return the driver that the configuration names. Raises `DriverMissing` or `DriverError`.

    `auto` takes only real chips: simulated ones would look like a machine that is well.
    """
    if config.driver == "sim":
        # Each driver is imported only where it is used: its libraries may not be there.
        from cmgr.drivers.sim import SimDriver

        return SimDriver(config.sim)
    hint = 'set driver = "sim" for simulated chips'
    if config.driver == "auto":
        refusals = "; ".join(f"{name}: not in this version" for name in _REAL)
        raise DriverMissing(f"cannot find a chip driver ({refusals})", hint=hint)
    raise DriverMissing(f"cannot use driver {config.driver}: not in this version", hint=hint)
