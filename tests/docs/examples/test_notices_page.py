"""docs/notices.md: its configuration is a good one, its tables and its notice are what the code has."""

import json
import os
import re
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cmgr.config.load import load
from cmgr.config.receivers import FORMATS
from cmgr.model.values.chips import ChipId
from cmgr.model.values.troubles import TroubleKind
from cmgr.service.notices.alarms import Alarm
from cmgr.service.notices.notice import notice
from cmgr.service.notices.objects import event
from tests.config.support import written

PAGE = (Path(__file__).parents[3] / "docs" / "notices.md").read_text()
AT = datetime(2026, 3, 1, 3, tzinfo=UTC)


def test_the_configuration_is_a_good_one(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    receivers = load(written(tmp_path / "cmgr.toml", text), environ={}).alarms.receivers
    assert [receiver.format for receiver in receivers] == ["wecom", "mail", "syslog"]


def test_the_table_says_what_each_format_needs_and_takes() -> None:
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| ([^|]*) ?\| ([^|]*) ?\| ([^|]*) \|$", PAGE, re.MULTILINE)
    told = {
        name: tuple(sorted(re.findall(r"`([\w+]+)`", cell)) for cell in cells)
        for names, *cells in rows
        for name in re.findall(r"`(\w+)`", names)
    }
    assert told == {
        name: (sorted(set(form.schemes) - {"http"}), sorted(form.needs), sorted(form.takes))
        for name, form in FORMATS.items()
    }


def alarms() -> list[Alarm]:
    over = Alarm(
        "isolated", TroubleKind.ISOLATED, "isolated-chip-3", AT, AT - timedelta(hours=1), "over: chip 3 isolated",
        over=True, chips=(ChipId(3),), codes=("80818C00",),
    )  # fmt: skip
    down = Alarm(
        "down", TroubleKind.DOWN, "down-docker-1", AT, AT, "container chat is down: it exited with code 137",
        chips=(ChipId(0), ChipId(1)), containers=("chat",), hint="look at its output: docker logs chat",
    )  # fmt: skip
    return [over, down]


def test_the_notice_is_as_it_is_shown() -> None:
    shown = PAGE.partition("<!-- notice -->\n```\n")[2].partition("```")[0]
    told = notice(alarms(), 0, "appliance-7", 2000).whole
    # The page has it from a machine whose time is UTC.
    assert re.sub(r"\d{4}-[\d-]+ [\d:]+ [+-]\d{4}", "AT", f"{told}\n") == re.sub(
        r"\d{4}-[\d-]+ [\d:]+ [+-]\d{4}", "AT", shown
    )


def test_the_program_runs(tmp_path: Path) -> None:
    (text,) = re.findall(r"<!-- program -->\n```sh\n(.*?)```", PAGE, re.DOTALL)
    script, logger = tmp_path / "tell", tmp_path / "logger"
    script.write_text(text)
    logger.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/said\n')
    for each in (script, logger):
        each.chmod(0o755)
    given = json.dumps({"alarms": [event(alarm, "appliance-7") for alarm in alarms()]})
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run([str(script)], input=given, text=True, env=environment, check=True)
    assert (tmp_path / "said").read_text().splitlines() == [
        "-t duty -- over: chip 3 isolated",
        "-t duty -- container chat is down: it exited with code 137",
    ]
