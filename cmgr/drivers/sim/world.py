"""A file that keeps simulated chips as they are while no cmgr runs, as hardware would. Times in it are Unix times."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cmgr import atomic
from cmgr.drivers.sim.chips import NEVER, SimChip, SimChips
from cmgr.errors import DriverError
from cmgr.frozen import dataclass
from cmgr.model.values.faults import FaultKey
from cmgr.model.values.handling.catalog import normal_code
from cmgr.sentences.sentence import say
from cmgr.typed import value
from cmgr.words import json_of

_VERSION = 1


@dataclass(frozen=True, slots=True)
class SimReset:
    """A reset that was asked for. `outcome` is `taken`, `failed` or `refused`."""

    at: float
    chips: tuple[int, ...]
    outcome: str


@dataclass(frozen=True, slots=True)
class Past:
    """Kept beside the chips: when the script began, how much of it was played, how many resets and makes still fail."""

    began: float
    played: int = 0
    fail_resets: int = 0
    fail_shares: int = 0
    resets: tuple[SimReset, ...] = ()


def save(path: str, chips: SimChips, past: Past, ahead: float) -> None:
    """Replace the file. `ahead` is the Unix time less the driver's own. Raises `DriverError`."""
    kept = {str(chip.piece): _kept(chip, ahead) for chip in chips.all() if _has_changed(chip)}
    text = json.dumps({"version": _VERSION, "chips": kept, **asdict(past)}, indent=1)
    try:
        # A pretended world need not outlive the machine.
        with atomic.written(Path(path), 0o600, durable=False) as file:
            file.write(text.encode())
    except OSError as error:
        raise DriverError(say("driver.sim-not-written", path=path)) from error


def load(path: str, chips: SimChips, now: float, ahead: float) -> Past | None:
    """Put the chips into the state that the file tells, and return the rest; None when there is no file.

    Raises `DriverError`.
    """
    hint = say("driver.sim-remove", path=path)
    try:
        with open(path, encoding="utf-8") as file:
            read = json_of(file.read())
        if read["version"] != _VERSION:
            raise DriverError(say("driver.sim-version", path=path), hint=hint)
        for chip in chips.all():
            _restore(chip, read["chips"].get(str(chip.piece), {}), now, ahead)
        past: Past = value(Past, read)
        return past
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DriverError(say("driver.sim-not-read", path=path), hint=hint) from error


def _has_changed(chip: SimChip) -> bool:
    return bool(chip.faults or chip.lost) or chip.boot_at is not None


def _kept(chip: SimChip, ahead: float) -> dict[str, object]:
    faults = [
        {"code": key.code, "module": key.module, "severity": severity, "curing": key in chip.curing}
        for key, severity in chip.faults.items()
    ]
    kept: dict[str, object] = {"faults": faults, "lost": sorted(chip.lost)}
    if chip.boot_at is not None:
        kept["boot"] = "never" if chip.boot_at == NEVER else chip.boot_at + ahead
    return kept


def _restore(chip: SimChip, kept: Mapping[str, Any], now: float, ahead: float) -> None:
    for fault in kept.get("faults", []):
        code = normal_code(fault["code"])
        if code is None:
            raise ValueError(f"{fault['code']!r} is not a fault code")
        key = FaultKey(code, str(fault["module"]))
        chip.faults[key] = int(fault["severity"])
        if fault["curing"]:
            chip.curing.add(key)
    chip.lost = {str(share) for share in kept.get("lost", [])}
    if "boot" in kept:
        chip.boot_at = NEVER if kept["boot"] == "never" else max(now, float(kept["boot"]) - ahead)
