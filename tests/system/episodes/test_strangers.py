"""With a real Docker daemon: images say what becomes of other people's containers, and are not obeyed."""

from collections.abc import Mapping
from contextlib import closing

import pytest

from tests.support.daemons.daemon import root_folder
from tests.support.service import Service, Setting
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker

GROUP = {"cmgr.group": "tp4"}
HOSTILE = {
    **GROUP,
    "cmgr.before-stop": "echo owned",
    "cmgr.enable": "false",
    "cmgr.order": "-9",
    "cmgr.stop-timeout": "600",
    "cmgr.unit": "llm.service",
}
OWN = {"cmgr.heal": "true", "cmgr.heal-backoff": "1"}
"""These concern nobody but the container, and count although an image brings them."""

SETTINGS: Mapping[str, Setting] = {"strategy": "ringRecover", "sim.chips": 8, "sim.ring": 4, "retry.settle": "0s"}


def image(containers: Containers, name: str, labels: Mapping[str, str]) -> str:
    change = "LABEL " + " ".join(f"{label}='{value}'" for label, value in labels.items())
    with closing(containers.dockerd.client()) as client:
        client.import_image_from_data(root_folder(), repository=name, tag="latest", changes=[change])
    return f"{name}:latest"


def forget(containers: Containers, image: str) -> None:
    with closing(containers.dockerd.client()) as client:
        client.remove_image(image, force=True)


def warnings(service: Service, name: str) -> list[str]:
    told = service.container(name)
    return [] if told is None else told["warnings"]


REFUSED = [f"label {label} is not obeyed: the image brought it, and only --label counts" for label in sorted(HOSTILE)]


def test_an_image_stops_nobody_of_another_group_keeps_no_ring_and_has_nothing_run(
    on_docker: Install, containers: Containers
) -> None:
    tried = image(containers, "cmgr-tried", {**HOSTILE, **OWN, "io.kubernetes.pod.uid": "7"})
    gone = image(containers, "cmgr-gone", HOSTILE)
    containers.run(
        Spec("rank0", "0", labels=GROUP),
        Spec("rank1", "1", labels=GROUP),
        Spec("tried", "4", image=tried),
        Spec("own", "5", image=tried, labels={"cmgr.before-stop": "echo mine"}),
        Spec("gone", "2", image=gone),
    )
    service = on_docker(SETTINGS)
    service.start()
    assert [warnings(service, name) for name in ("tried", "gone")] == [REFUSED, REFUSED]
    containers.crash("tried")
    eventually(lambda: containers.count("tried", "start") == 1, why="it is healed, as its image says")
    service.inject(4)
    service.until_said("episode 1 is over: recovered")
    texts = [note.text for note in service.notes()]
    (said,) = (text for text in texts if text.startswith("before its stop "))
    assert said.startswith("before its stop own ")
    assert said.endswith("it wrote: mine")
    assert [containers.count(name, "start") for name in ("rank0", "rank1", "tried", "own")] == [0, 0, 2, 1]
    # The image goes, and the decision stays.
    service.terminate()
    containers.crash("gone")
    forget(containers, gone)
    service.start()
    assert warnings(service, "gone") == REFUSED
