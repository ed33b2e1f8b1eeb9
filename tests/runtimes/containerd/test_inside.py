"""A command that is run in a container of a real containerd, and the labels that its image brought."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from cmgr.errors import ContainerError, ContainerGone
from cmgr.model.values.services.containers import Container, ContainerKey
from cmgr.runtimes.containerd import inside
from cmgr.runtimes.containerd.record import labels_of_image, parts_of
from cmgr.runtimes.containerd.runtime import ContainerdRuntime
from tests.runtimes.containerd.world import ContainerdWorld
from tests.runtimes.contract import only
from tests.support.daemons.dockerd import OBEYS

pytestmark = pytest.mark.containerd

WORDS = {"cmgr.before-stop": "save --now", "cmgr.unit": "llm.service"}
FURTHER = {**WORDS, "cmgr.group": "tp4", "cmgr.order": "3", "cmgr.enable": "false"}


def left() -> list[Path]:
    return list(Path("/run/containerd/fifo").glob("cmgr-*"))


def ran(world: ContainerdWorld, key: ContainerKey, script: str, seconds: float = 60) -> tuple[int, str]:
    return world.runtime.run_inside(key, ("sh", "-c", script), seconds)


def test_its_code_and_the_end_of_its_output_are_told_and_nothing_is_left(world: ContainerdWorld) -> None:
    key = world.create("web")
    code, output = ran(world, key, "echo one; echo two >&2; exit 3")
    assert (code, sorted(output.split())) == (3, ["one", "two"]), "it has two streams, and each is read as it comes"
    assert ran(world, key, "true") == (0, "")
    code, output = ran(world, key, "n=0; while test $n -lt 30000; do echo $n xxxxxxxxxxx; n=$((n+1)); done")
    assert (code, len(output), output.endswith("29999 xxxxxxxxxxx\n")) == (0, 4096, True)
    assert world.containerd.ctr("tasks", "ps", key.id, namespace=key.namespace).count("cmgr-") == 0
    assert left() == []
    assert only(world).running


def test_one_that_takes_too_long_is_left_to_go_on_and_one_that_is_not_there_is_told(world: ContainerdWorld) -> None:
    key = world.create("web")
    with pytest.raises(ContainerError, match="did not answer within 1 s"):
        ran(world, key, "echo begun; sleep 1000", 1)
    with pytest.raises(ContainerError, match="no-such-program"):
        world.runtime.run_inside(key, ("no-such-program",), 60)
    assert left() == []
    assert ran(world, key, "echo still here") == (0, "still here\n")


def test_a_containerd_that_hangs_keeps_nobody_longer_than_asked(world: ContainerdWorld) -> None:
    key = world.create("web")
    world.containerd.freeze()
    try:
        with pytest.raises(ContainerError, match="did not answer within 1 s"):
            ran(world, key, "true", 1)
    finally:
        world.containerd.thaw()
    assert left() == []


def test_one_that_is_gone_or_down_runs_nothing(world: ContainerdWorld) -> None:
    key = world.create("web")
    world.kill(key)
    with pytest.raises(ContainerError):
        ran(world, key, "true")
    world.remove(key)
    with pytest.raises(ContainerGone):
        ran(world, key, "true")
    assert left() == []


def test_without_a_place_for_its_output_it_is_not_run(
    world: ContainerdWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = world.create("web")
    (tmp_path / "file").touch()
    monkeypatch.setattr(inside, "_FIFOS", tmp_path / "file" / "fifo")
    with pytest.raises(ContainerError, match="there is no place for its output"):
        ran(world, key, "true")


def seen(world: ContainerdWorld, image: str, labels: dict[str, str]) -> Container:
    key = ContainerKey("containerd", world.namespace, "web")
    world.run(key, *OBEYS, labels=labels, image=image)
    return only(world)


def test_a_label_that_was_given_at_creation_counts_and_one_of_the_image_does_not(world: ContainerdWorld) -> None:
    image = {**FURTHER, "cmgr.heal": "true", "nerdctl/name": "db", "io.kubernetes.pod.uid": "7"}
    world.containerd.import_image("cmgr.test/words:latest", image)
    brought = seen(world, "cmgr.test/words:latest", {})
    assert (brought.before_stop, brought.unit, brought.group, brought.order) == ((), "", "", 0)
    assert (brought.enabled, brought.heal is not None, brought.name, brought.owner) == (True, True, "web", "")
    why = [f"label {label} is not obeyed: the image brought it, and only --label counts" for label in sorted(FURTHER)]
    assert sorted(brought.warnings) == why
    # It was decided, and the image says nothing any more: another service sees it as the one before.
    world.containerd.import_image("cmgr.test/words:latest", {"another": "image"})
    with closing(ContainerdRuntime(world.containerd.socket, decided=lambda _: brought.brought)) as later:
        (again,) = later.list()
    assert (again.group, sorted(again.warnings)) == ("", why)
    world.remove(brought.key)
    given = seen(world, "cmgr.test/words:latest", {"cmgr.before-stop": "save mine", "cmgr.unit": "mine.service"})
    assert (given.before_stop, given.unit, given.warnings) == (("save", "mine"), "mine.service", ())


def test_where_the_image_is_another_one_since_or_gone_nobody_can_tell(world: ContainerdWorld) -> None:
    world.containerd.import_image("cmgr.test/moved:latest")
    made = seen(world, "cmgr.test/moved:latest", {**WORDS, "cmgr.group": "tp4", "nerdctl/name": "web"})
    assert (made.before_stop, made.group, made.brought) == (("save", "--now"), "tp4", frozenset())
    world.containerd.import_image("cmgr.test/moved:latest", {"another": "image"})
    world.label(made.key, "changed", "yes")
    why = "is not obeyed: whether the image brought it is not known"
    assert sorted(only(world).warnings) == [
        *(f"label {label} {why}" for label in sorted(WORDS)),
        "whether the image brought cmgr.group is not known: it counts as given by --label",
    ]
    assert (only(world).group, only(world).brought) == ("tp4", None)
    world.containerd.ctr("images", "rm", "cmgr.test/moved:latest")
    world.label(made.key, "changed", "again")
    assert only(world).before_stop == ()


def test_platforms_that_do_not_agree_about_a_label_are_not_believed() -> None:
    one, other = ({"config": {"Labels": labels}} for labels in (WORDS, {"cmgr.unit": "other.service"}))
    plain = json.dumps({"config": {"Labels": None}}).encode()
    assert labels_of_image([json.dumps(one).encode()]) == WORDS
    assert labels_of_image([plain, b"{}"]) == {}
    for told in ([], [json.dumps(one).encode(), json.dumps(other).encode()], [b"nonsense"], [b"[" * 100_000]):
        assert labels_of_image(told) is None


def test_an_image_is_a_manifest_or_an_index_of_some() -> None:
    index = {"manifests": [{"digest": "sha256:1"}, {"digest": "sha256:2"}, {}, 7]}
    assert parts_of(json.dumps(index).encode()) == (["sha256:1", "sha256:2"], "")
    assert parts_of(json.dumps({"config": {"digest": "sha256:3"}}).encode()) == ([], "sha256:3")
    assert parts_of(b"nonsense") == ([], "")
