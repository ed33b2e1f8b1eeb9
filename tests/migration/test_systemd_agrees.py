"""`cmgr migrate` reads in unit files the same as a real systemd does (docs/decisions/011)."""

from pathlib import Path
from typing import Any

import pytest

from cmgr.host.bus import Bus, object_path
from cmgr.migration.unit_file import Source, environment_line, parsed, percent, words
from tests.support.daemons.systemd import Systemd

UNIT = "container-manager.service"

LINES = [
    "/bin/echo run -ctrStrategy=singleRecover -maxAge=30",
    """/bin/bash -c "container-manager run -logPath='/var/log/c m.log' >/dev/null  2>&1 &" """,
    r"/bin/echo 'a b' \x20c \101\s\t\\ \"d\" it\'s $$A ${B} 100%%",
    '/bin/echo "one two" \\\n   # a comment in between\n   -a \\\n  ; and another\n   --b=""',
]


def asked(systemd: Systemd) -> dict[str, Any]:
    with Bus(systemd.socket, "ask for a unit", 30) as bus:
        bus.ask("LoadUnit", "s", UNIT)
        return bus.properties(object_path(UNIT))


@pytest.mark.parametrize("line", LINES)
def test_words_and_environment_of_a_unit_with_a_drop_in(systemd: Systemd, line: str) -> None:
    systemd.define(UNIT, ExecStart="/bin/false", Environment="A=1 'B=2 3' \"C=\\x41\"", EnvironmentFile="-/nowhere/env")
    whole = Path(systemd.property(UNIT, "FragmentPath"))
    drop_in = whole.parent / f"{UNIT}.d" / "10-strategy.conf"
    drop_in.parent.mkdir(exist_ok=True)
    drop_in.write_text(f"[Service]\nExecStart=\nExecStart={line}\nEnvironment=D=50%%\n")
    systemd.systemctl("daemon-reload")
    told = asked(systemd)
    unit = parsed([Source(path.name, path.read_text()) for path in (whole, drop_in)])
    assert (unit.mistakes, told["DropInPaths"]) == ((), [str(drop_in)])
    (start,) = unit.of("Service", "ExecStart")
    assert words(percent(start.value)) == told["ExecStart"][0][1]
    found = {k: v for each in unit.of("Service", "Environment") for k, v in environment_line(each).items()}
    assert [f"{name}={value}" for name, value in found.items()] == told["Environment"]
    (file,) = unit.of("Service", "EnvironmentFile")
    assert told["EnvironmentFiles"] == [(file.value.removeprefix("-"), True)]
