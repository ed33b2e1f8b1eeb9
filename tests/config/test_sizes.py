"""Sizes as people write them."""

from pathlib import Path

import pytest

from cmgr.config.sizes import Bytes, size, spelled
from tests.config.support import from_text, mistakes, written


@pytest.mark.parametrize(
    ("text", "means"),
    [("0", 0), ("1000", 1000), ("64K", 64 << 10), (" 20M ", 20 << 20), ("1G", 1 << 30), ("1536K", 1536 << 10)],
)
def test_a_size_means_so_many_bytes(text: str, means: int) -> None:
    assert size(text) == means
    assert size(spelled(Bytes(means))) == means


def test_a_size_is_spelled_in_the_largest_unit_that_fits() -> None:
    assert [spelled(Bytes(n)) for n in (0, 1, 1 << 10, 20 << 20, (1 << 20) + 1024)] == ["0", "1", "1K", "20M", "1025K"]


@pytest.mark.parametrize("text", ["", "M", "-1", "1.5M", "20MB", "20m", "20 M", "1T", "9999999999999", "٣"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        size(text)


def test_the_log_settings_are_read_and_their_mistakes_told(file: Path) -> None:
    log = from_text(file, '[log]\nmax_size = "1G"\nmax_age = "30d"\nmax_files = 180\n').log
    assert (log.max_size, log.max_age.days, log.max_files) == (1 << 30, 30, 180)
    told = mistakes(written(file, '[log]\nmax_size = 20\nmax_age = "1m"\nmax_files = 0\n'))
    assert len(told) == 3
    assert 'a size such as "512K", "20M" or "1G", from 64K to 1G' in next(t for t in told if "max_size" in t)
    assert "log.max_size" in mistakes(environ={"CMGR_LOG_MAX_SIZE": "2G"}, path=written(file, ""))[0]
