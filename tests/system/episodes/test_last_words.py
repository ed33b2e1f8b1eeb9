"""With real daemons: a container's own command before its stop, and processes that do not hear their signal."""

import pytest

from tests.support.daemons.dockerd import IGNORES, OBEYS
from tests.support.service import Service
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec
from tests.system.tasks import Tasks

pytestmark = pytest.mark.docker

RING = {"strategy": "ringRecover", "retry.settle": "0s"}
SAYS = {"cmgr.before-stop": "sh -c 'echo saving; touch /saved; echo saved step 7; exit 3'"}
HANGS = {"cmgr.before-stop": "sh -c 'echo begun; while :; do sleep 1; done'", "cmgr.stop-timeout": "1"}
MISSING = {"cmgr.before-stop": "no-such-program"}
SPILLS = {
    "cmgr.before-stop": "sh -c 'n=0; while test $n -lt 60000; do echo $n xxxxxxxxxxxxxxxxxxxxxxxxx; n=$((n+1)); done'"
}
SHELL = ("sh", "-c", "echo ready; while :; do sleep 1; done")


def told(service_notes: list[str], name: str) -> str:
    (text,) = (text for text in service_notes if text.startswith(f"before its stop {name} "))
    return text


def test_each_says_its_last_words_and_none_keeps_the_episode_from_going_on(
    on_docker: Install, containers: Containers
) -> None:
    each_says_its_last_words(on_docker(RING), containers)


@pytest.mark.containerd
def test_with_containerd_they_do_too(on_containerd: Install, tasks: Tasks) -> None:
    each_says_its_last_words(on_containerd(RING), tasks)


def each_says_its_last_words(service: Service, containers: Containers | Tasks) -> None:
    specs = {"says": SAYS, "hangs": HANGS, "missing": MISSING, "spills": SPILLS}
    containers.run(*(Spec(name, str(n), labels=labels) for n, (name, labels) in enumerate(specs.items())))
    service.start()
    service.inject(0)
    service.until_said("episode 1 is over: recovered")
    texts = [note.text for note in service.notes()]
    assert "ran sh: code 3 after " in told(texts, "says")
    assert told(texts, "says").endswith("it wrote: saving | saved step 7")
    assert "could not run sh to its end: " in told(texts, "hangs")
    assert "did not answer within 1 s" in told(texts, "hangs")
    assert "no-such-program" in told(texts, "missing")
    assert told(texts, "spills").endswith("59999 xxxxxxxxxxxxxxxxxxxxxxxxx")
    assert [containers.count(name, "start") for name in specs] == [1, 1, 1, 1]
    assert not any(note.kind == "warning" for note in service.notes())


def test_a_shell_that_does_not_hear_its_stop_signal_is_found_out_and_told_once(
    on_docker: Install, containers: Containers
) -> None:
    each_deaf_one_is_told_once(on_docker(RING), containers)


@pytest.mark.containerd
def test_with_containerd_it_is_told_too(on_containerd: Install, tasks: Tasks) -> None:
    each_deaf_one_is_told_once(on_containerd(RING), tasks)


def each_deaf_one_is_told_once(service: Service, containers: Containers | Tasks) -> None:
    short = {"cmgr.stop-timeout": "1"}
    containers.run(
        Spec("shell", "0", SHELL, labels=short), Spec("deaf", "1", IGNORES, labels=short), Spec("obeys", "2", OBEYS)
    )
    service.start()
    for episode in (1, 2):
        service.inject(0)
        service.until_said(f"episode {episode} is over: recovered")
    texts = [note.text for note in service.notes() if "does not take" in note.text]
    assert sorted(text.partition(" (hint")[0] for text in texts) == [
        f"{name} was killed after its whole grace of 1 s: its first process (sh) does not take SIGTERM"
        for name in ("deaf", "shell")
    ]
    assert "--init" in texts[0]
