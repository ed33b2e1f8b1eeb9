"""`cmgr check` says whether anybody rotates the log file."""

from pathlib import Path

import pytest

from cmgr.cli.check.rotation import rotation
from tests.cli.check.test_check import found
from tests.cli.conftest import Home

FILE = "/var/log/cmgr/cmgr.log"
SHIPPED = (Path(__file__).parents[3] / "packaging/cmgr.logrotate").read_text()


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    (tmp_path / "logrotate.d").mkdir()
    (tmp_path / "logrotate").touch(mode=0o755)
    return tmp_path


def told(etc: Path, file: str = FILE) -> list[tuple[str, str]]:
    return [(finding.state, finding.text) for finding in rotation(file, etc, programs=str(etc))]


@pytest.mark.parametrize(
    "text",
    [
        SHIPPED,
        "/var/log/syslog /var/log/cmgr/cmgr.log{\n daily\n}",
        '"/var/log/cmgr/cmgr.log"\n{\n}',
        "# it's mine\n/var/log/*/cmgr.log {\n}",
        "/var/log/other.log {\n postrotate\n echo don't\n endscript\n}\n/var/log/cmgr/*.log {\n}",
    ],
)
def test_a_file_that_logrotate_s_configuration_names_is_well(etc: Path, text: str) -> None:
    (etc / "logrotate.d" / "cmgr").write_text(text)
    assert told(etc) == [("ok", f"logrotate rotates {FILE} ({etc}/logrotate.d/cmgr)")]


@pytest.mark.parametrize(
    "text",
    ["", "#/var/log/cmgr/cmgr.log {\n}", "/var/log/*.log {\n}", "/ {\n}", "daily\nolddir /var/log/cmgr", "\0[/["],
)
def test_one_that_it_does_not_name_grows_without_end(etc: Path, text: str) -> None:
    (etc / "logrotate.conf").write_text(text)
    assert told(etc) == [("warning", f"nobody rotates {FILE}: it grows without end")]


def test_a_configuration_without_logrotate_rotates_nothing(etc: Path) -> None:
    (etc / "logrotate.conf").write_text(SHIPPED)
    (etc / "logrotate").unlink()
    assert told(etc) == [("warning", f"there is no logrotate: {FILE} grows without end")]


def test_no_configuration_at_all_is_as_one_that_names_nothing(tmp_path: Path) -> None:
    assert [state for state, _ in told(tmp_path)] == ["warning"]


def test_without_a_log_file_there_is_nothing_to_say(etc: Path) -> None:
    assert told(etc, "") == []


def test_the_check_says_it(home: Home) -> None:
    path = home.folder / "odd.log"
    home.configure('strategy = "ringRecover"', f'log.file = "{path}"')
    assert found(home)["log file"]["text"] == f"nobody rotates {path}: it grows without end"
