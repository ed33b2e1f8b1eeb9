"""Whose namespaces a container is in, and whether those are still that one's."""

import os
import subprocess
from collections.abc import Iterator

import pytest

from cmgr.runtimes.joined import Donor, placed
from tests.model.builders import container

ID = "ab" * 32


@pytest.fixture
def younger() -> Iterator[int]:
    """Yield the number of a process that began after this one."""
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process.pid
        process.kill()


def test_one_that_began_before_the_present_life_of_its_other_is_in_the_namespaces_of_another_life(younger: int) -> None:
    proxy = container("proxy", joins=frozenset({ID}))
    found = placed(proxy, os.getpid(), lambda _: Donor("llm", younger))
    assert (found.cut_off, found.orphaned, found.rejoins) == ("llm", False, True)
    assert placed(proxy, younger, lambda _: Donor("llm", os.getpid())) == proxy


@pytest.mark.parametrize("pid", [0, 2**22 + 1])
def test_of_one_that_does_not_run_or_has_ended_since_nothing_is_said(pid: int) -> None:
    proxy = container("proxy", joins=frozenset({ID}))
    assert placed(proxy, os.getpid(), lambda _: Donor("llm", pid)) == proxy
    assert placed(proxy, pid, lambda _: Donor("llm", os.getpid())) == proxy


@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize(("joined", "named"), [(ID, ID[:12]), ("llm", "llm")])
def test_one_whose_other_exists_no_more_cannot_start_again(running: bool, joined: str, named: str) -> None:
    proxy = container("proxy", joins=frozenset({joined}), running=running)
    found = placed(proxy, 0, lambda _: None)
    assert (found.cut_off, found.orphaned, found.rejoins) == (named, True, False)


def test_who_joins_nobody_is_as_it_is() -> None:
    alone = container("alone")
    assert placed(alone, os.getpid(), lambda _: None) is alone
