"""How errors are told to people."""

import ssl
from pathlib import Path

import pytest

from cmgr.errors import CmgrError, chain


def test_what_the_system_says_is_told_without_its_number_and_a_file_is_named_once(tmp_path: Path) -> None:
    path = tmp_path / "nothing"
    with pytest.raises(OSError, match="Errno 2") as caught:
        path.read_text()
    assert chain(caught.value) == f"{path}: No such file or directory"
    error = CmgrError(f"cannot read {path}")
    error.__cause__ = caught.value
    assert chain(error) == f"cannot read {path}: No such file or directory"


@pytest.mark.parametrize("error", [OSError("too many links"), ssl.SSLError("handshake"), TimeoutError()])
def test_an_error_that_has_no_number_is_told_as_it_is(error: OSError) -> None:
    assert chain(error) == (str(error) or "TimeoutError")
