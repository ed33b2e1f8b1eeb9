"""Whether a process takes a signal is read from /proc, and nothing is said where that is not sure."""

import signal

import pytest

from cmgr.runtimes import ears

ID = "a" * 64
# SigCgt has a bit for each signal from 1 on: 0x4002 is SIGINT and SIGTERM.
STATUS = "Name:\tsh\nNSpid:\t4711\t1\nSigIgn:\t0000000000000000\nSigCgt:\t{caught}\n"


@pytest.mark.parametrize(
    ("status", "number", "expected"),
    [
        (STATUS.format(caught="0000000000004002"), signal.SIGTERM, ""),
        (STATUS.format(caught="0000000000004002"), signal.SIGQUIT, "sh"),
        (STATUS.format(caught="0000000000000000"), signal.SIGTERM, "sh"),
        (STATUS.format(caught="zero"), signal.SIGTERM, ""),
        (STATUS.format(caught="0000000000000000").replace("\t1", "\t7"), signal.SIGTERM, ""),
        ("", signal.SIGTERM, ""),
    ],
)
def test_the_first_process_of_a_namespace_hears_only_what_it_catches(status: str, number: int, expected: str) -> None:
    assert ears._deaf(status, number) == expected


def test_of_a_process_that_is_not_the_containers_nothing_is_said() -> None:
    assert ears.deaf(1, ID, signal.SIGTERM) == ""
    assert ears.deaf(0, ID, signal.SIGTERM) == ""
    assert ears.deaf(2**30, ID, signal.SIGTERM) == ""


def test_it_is_told_by_the_names_of_the_process_and_the_signal() -> None:
    assert ears.words("sh", 15) == "its first process (sh) does not take SIGTERM"
    assert ears.words("sh", 62) == "its first process (sh) does not take signal 62"
