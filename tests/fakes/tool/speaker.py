"""A program that speaks for chips, by the words of docs/drivers.md and nothing of cmgr's.

A folder plays the hardware: `world.json` has its chips, `events` the lines that `watch` says. Where there is a file
`hang.DO` that call never ends, `hang.DO.N` where it is asked for chip N; `say.DO` has what it says instead, and
`exit.DO` its exit code.
"""

import fcntl
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

folder = os.path.dirname(os.path.abspath(sys.argv[0]))


@contextmanager
def world() -> Iterator[dict[str, Any]]:
    with open(f"{folder}/world.json", "r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        found = json.load(file)
        yield found
        file.seek(0)
        file.truncate()
        json.dump(found, file)


def say(**words: Any) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


def describe() -> None:
    with world() as now:
        say(version=now["version"], name="standin", can=now["can"], variables=["STANDIN_CHIPS"], cdi="standin.com/chip",
            beat=now["beat"], sweep=now["sweep"])  # fmt: skip
        for chip in range(now["chips"]):
            first = chip - chip % now["ring"]
            say(chip=chip, serial=f"S{chip:04d}", bus=f"0000:{chip + 16:02x}:00.0", model="Standin 1",
                reset_with=[n for n in range(first, first + now["ring"]) if n < now["chips"]],
                devices=[{"path": f"/dev/standin{chip}", "major": 240, "minor": chip}])  # fmt: skip
        for code, text, level in now["codes"]:
            say(code=code, text=text, level=level)


def read(chips: list[int]) -> None:
    with world() as now:
        for chip in chips:
            if chip >= now["chips"] or chip in now["silent"]:
                say(chip=chip, error="it does not answer")
            else:
                say(chip=chip, booted=chip not in now["booting"], faults=now["faults"].get(str(chip), []))


def processes(chips: list[int]) -> None:
    with world() as now:
        for chip in chips:
            if chip < now["chips"] and chip not in now["silent"]:
                say(chip=chip, processes=[{"pid": pid} for pid in now["processes"].get(str(chip), [])])


def reset(chips: list[int]) -> None:
    with world() as now:
        now["resets"].append(chips)
        if now["refuses"]:
            say(refused=now["refuses"])
            return
        if now["fails"]:
            sys.exit(now["fails"])
        now["booting"] = sorted({*now["booting"], *chips})
        if not now["boots_by_hand"]:
            booted(now)


def booted(now: dict[str, Any]) -> None:
    for chip in now["booting"]:
        now["faults"].pop(str(chip), None)
    now["booting"] = []


def measure(chips: list[int]) -> None:
    for chip in chips:
        say(chip=chip, temperature_celsius=40 + chip, type="Standin 1")


def watch() -> None:
    with open(f"{folder}/events", encoding="utf-8") as events:
        events.seek(0, os.SEEK_END)
        say()
        beaten = time.monotonic()
        while os.getppid() != 1:
            line = events.readline()
            if line:
                sys.stdout.write(line)
                sys.stdout.flush()
            elif time.monotonic() > beaten + 0.2:
                say()
                beaten = time.monotonic()
            else:
                time.sleep(0.001)


def main() -> None:
    do, chips = sys.argv[1], [int(word) for word in sys.argv[2:]]
    for name in (f"hang.{do}", *(f"hang.{do}.{chip}" for chip in chips)):
        while os.path.exists(f"{folder}/{name}"):
            time.sleep(0.01)
    if os.path.exists(f"{folder}/say.{do}"):
        with open(f"{folder}/say.{do}", "rb") as file:
            sys.stdout.buffer.write(file.read())
    else:
        calls = {"describe": describe, "watch": watch}
        asked = {"read": read, "processes": processes, "reset": reset, "measure": measure}
        calls[do]() if do in calls else asked[do](chips)
    if os.path.exists(f"{folder}/exit.{do}"):
        with open(f"{folder}/exit.{do}", encoding="utf-8") as file:
            sys.exit(int(file.read()))


main()
