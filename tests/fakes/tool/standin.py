"""The stand-in program, and the hand that moves its hardware."""

import fcntl
import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.fakes.workshop import trusted_folder

RESETS, ISOLATES, NOTHING = "0000A001", "0000A002", "0000A003"
"""Faults of the levels RestartNPU, SeparateNPU and NotHandleFault."""

SPEAKER = Path(__file__).parent / "speaker.py"


class Speaker:
    """Installed in a folder of its own, which cmgr trusts."""

    def __init__(self, **changes: Any) -> None:
        self.folder = folder = trusted_folder()
        self.program = folder / "speaker"
        # Its own interpreter, bare: it begins in a third of the time.
        self.program.write_text(f"#!{sys.executable} -SE\n{SPEAKER.read_text(encoding='utf-8')}", encoding="utf-8")
        self.program.chmod(0o755)
        (folder / "events").touch()
        codes = [(RESETS, "it is ill", "RestartNPU"), (ISOLATES, "it is broken", "SeparateNPU"),
                 (NOTHING, "it has sneezed", "NotHandleFault")]  # fmt: skip
        world = {"version": 1, "can": ["reset", "processes", "measure"], "beat": 60, "sweep": 0, "chips": 4, "ring": 2,
                 "codes": codes, "faults": {}, "processes": {}, "silent": [], "booting": [], "resets": [],
                 "boots_by_hand": False, "refuses": "", "fails": ""}  # fmt: skip
        (folder / "world.json").write_text(json.dumps({**world, **changes}), encoding="utf-8")

    @contextmanager
    def world(self) -> Iterator[dict[str, Any]]:
        with (self.folder / "world.json").open("r+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            found = json.load(file)
            yield found
            file.seek(0)
            file.truncate()
            json.dump(found, file)

    @property
    def resets(self) -> list[list[int]]:
        with self.world() as now:
            return list(now["resets"])

    def tell(self, **words: object) -> None:
        """Have `watch` say this."""
        with (self.folder / "events").open("a", encoding="utf-8") as events:
            events.write(json.dumps(words) + "\n")

    def occur(self, chip: int, code: str, *, told: bool = True) -> None:
        with self.world() as now:
            now["faults"].setdefault(str(chip), []).append(code)
        if told:
            self.tell(fault=code, chip=chip, state="occurred")

    def clear(self, chip: int, code: str, *, told: bool = True) -> None:
        with self.world() as now:
            now["faults"][str(chip)].remove(code)
        if told:
            self.tell(fault=code, chip=chip, state="cleared")

    def finish_boots(self) -> None:
        with self.world() as now:
            for chip in now["booting"]:
                now["faults"].pop(str(chip), None)
            now["booting"] = []

    def set(self, **changes: object) -> None:
        with self.world() as now:
            now.update(changes)

    def put(self, name: str, text: str = "") -> None:
        """Put one of the files there that its head names."""
        (self.folder / name).write_text(text, encoding="utf-8")

    def take_away(self, name: str) -> None:
        (self.folder / name).unlink()

    def remove(self) -> None:
        shutil.rmtree(self.folder)
