"""The meaning of containerd's records, tasks and ends."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cmgr.model.values.chips import BY_ID, UNCLEAR, Chip, ChipId, RingId, Share, resolve
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.services.containers import NO_RESTART
from cmgr.runtimes.containerd import record as records
from cmgr.runtimes.containerd.messages import MESSAGES
from cmgr.runtimes.containerd.record import Definition

DAVINCI = {236: BY_ID}


def read(
    spec: Mapping[str, Any] | bytes = b"",
    labels: Mapping[str, str] | None = None,
    majors: Mapping[int, str] = DAVINCI,
    **fields: Any,
) -> Definition:
    value = spec if isinstance(spec, bytes) else json.dumps(spec).encode()
    record = MESSAGES["Container"](id="web", labels=labels or {}, spec={"value": value}, **fields)
    again = MESSAGES["Container"].FromString(record.SerializeToString())
    return records.definition("ns", again, dict(majors))


def env(*lines: str) -> dict[str, Any]:
    return {"process": {"env": list(lines)}}


def devices(*numbers: tuple[int, int], kind: str = "c") -> list[dict[str, Any]]:
    return [{"type": kind, "path": "/dev/x", "major": major, "minor": minor} for major, minor in numbers]


def test_the_last_assignment_of_the_variable_wins() -> None:
    found = read(env("ASCEND_VISIBLE_DEVICES=0", "A=1", "ASCEND_VISIBLE_DEVICES=2-3"))
    assert found.container.claims == {"2", "3"}
    assert found.concerns


def test_what_it_was_made_of_is_read_and_that_its_label_says_that_it_uses_no_chip() -> None:
    found = read(env("ASCEND_VISIBLE_DEVICES=0"), {"cmgr.enable": "ignore"}, image="registry/exporter:v5").container
    assert (found.image, found.claims) == ("registry/exporter:v5", frozenset())
    assert (found.ignored, found.enabled) == (True, False)


def test_nvidias_variable_counts_where_its_runtime_or_hook_makes_the_container() -> None:
    asks = env("NVIDIA_VISIBLE_DEVICES=1")
    assert read(asks, runtime={"name": "io.containerd.runc.v2"}).container.claims == set()
    hooks = {"prestart": [{"path": "/usr/bin/nvidia-container-runtime-hook"}]}
    assert read({**asks, "hooks": hooks}).container.claims == {"1"}
    # Field 4 of the options of runc, BinaryName, between others.
    options = b"\x0a\x00\x22\x21/usr/bin/nvidia-container-runtime\x2a\x05/root"
    assert read(asks, runtime={"name": "x", "options": {"value": options}}).container.claims == {"1"}
    plain = options.replace(b"nvidia-container-runtime", b"another-container-runtim")
    assert read(asks, runtime={"name": "x", "options": {"value": plain}}).container.claims == set()


def test_devices_are_told_by_type_and_number_and_not_by_their_path_inside() -> None:
    nodes = devices((236, 4), (1, 3), (235, 5)) + devices((236, 6), kind="b")
    assert read({"linux": {"devices": nodes}}).container.claims == {f"{BY_ID}4"}
    rules = [{"allow": True, "type": "c", "major": 236, "minor": 7, "access": "rwm"}]
    assert read({"linux": {"resources": {"devices": rules}}}).container.claims == {f"{BY_ID}7"}


def test_the_rules_that_every_container_has_ask_for_nothing() -> None:
    rules = [
        {"allow": False, "access": "rwm"},
        {"allow": True, "type": "c", "access": "m"},
        {"allow": True, "type": "c", "major": 136, "access": "rwm"},
        {"allow": True, "type": "c", "major": 1, "minor": 3, "access": "rwm"},
    ]
    assert not read({"linux": {"resources": {"devices": rules}}}).concerns


def test_one_that_may_reach_everything_is_warned_of_and_asks_for_nothing_by_that() -> None:
    rules = [{"allow": True, "access": "rwm"}]
    found = read({"linux": {"devices": devices((236, 0), (236, 1)), "resources": {"devices": rules}}})
    assert found.container.claims == {UNCLEAR}
    assert found.concerns
    assert "may reach every chip" in found.container.warnings[0]


def test_cdi_annotations_and_mounted_devices_count() -> None:
    spec = {
        "annotations": {"cdi.k8s.io/a": "huawei.com/npu=1"},
        "mounts": [{"type": "bind", "source": "/dev/davinci2"}, {"type": "tmpfs", "source": "/dev"}, "junk"],
    }
    assert read(spec).container.claims == {"1", "2"}


def test_vnpus_are_those_that_nerdctl_was_told() -> None:
    numbered = env("PATH=/bin", "ASCEND_VISIBLE_DEVICES=100,101", "ASCEND_RUNTIME_OPTIONS=NODRV,VIRTUAL")
    labels = {"nerdctl/name": "web", "nerdctl/platform": "linux/arm64", "nerdctl/namespace": "ns"}
    found = read(numbered, labels)
    assert found.container.name == "web"
    assert found.container.claims == {"/dev/vdavinci100", "/dev/vdavinci101"}
    assert read(env("ASCEND_VISIBLE_DEVICES=Ascend310P-2c-117-1")).container.claims == {"1:117"}
    assert read(env("ASCEND_VISIBLE_DEVICES=1", "ASCEND_VNPU_SPECS=vir04")).container.claims == {"1"}
    # --device /dev/vdavinci100:/dev/davinci100: containerd keeps the number of the file, and not where it lay.
    files = [{"type": "c", "path": "/dev/davinci100", "major": 236, "minor": 100}]
    found = read({"linux": {"devices": files}}, labels)
    assert found.container.claims == {f"{BY_ID}100"}
    vnpu = Share("100", "vir04", aliases=frozenset({"/dev/vdavinci100", "0:100", "100"}))
    chips = {ChipId(n): Chip(ChipId(n), RingId(n), n, shares=(vnpu,) if n == 0 else ()) for n in range(2)}
    meant, warnings = resolve(found.container.claims, chips, {})
    assert meant == {ChipId(0)}
    assert warnings == ()


def test_fractions_of_a_gpu_in_software_ask_for_the_gpu_and_for_nothing_else() -> None:
    # As HAMi's library wants them: device files, its library, and limits by variables.
    limits = ("LD_PRELOAD=/libvgpu/libvgpu.so", "CUDA_DEVICE_MEMORY_LIMIT_0=8g", "CUDA_DEVICE_SM_LIMIT=30")
    files = [{"type": "c", "path": f"/dev/nvidia{n}", "major": 195, "minor": n} for n in (2, 255)]
    mounts = [{"type": "bind", "source": "/opt/libvgpu", "destination": "/libvgpu"}]
    found = read({**env(*limits), "linux": {"devices": files}, "mounts": mounts}, majors={195: "/dev/nvidia"})
    assert found.container.claims == {"/dev/nvidia2"}
    assert found.container.warnings == ()


@pytest.mark.parametrize("spec", [b"", b"\xff", b"[1]", b"[" * 100_000, b'"x"'])
def test_a_definition_that_cannot_be_read_is_a_warning(spec: bytes) -> None:
    found = read(spec)
    assert found.container.claims == {UNCLEAR}
    assert found.container.warnings == ("its definition cannot be read",)


@pytest.mark.parametrize(
    "spec",
    [
        {"process": {"env": "ASCEND_VISIBLE_DEVICES=0"}},
        {"process": []},
        {"linux": {"devices": [1, None, {"type": "c", "major": "236", "minor": 0}]}},
        {"linux": {"namespaces": [{"path": 5}, 7]}, "annotations": {"cdi.k8s.io/a": 3}},
    ],
)
def test_what_has_another_shape_says_nothing(spec: Mapping[str, Any]) -> None:
    assert read(spec).container.claims <= {UNCLEAR}


def test_dockers_containers_are_never_ours() -> None:
    labels = {"com.docker/engine.bundle.path": "/run/docker/x"}
    assert not read(env("ASCEND_VISIBLE_DEVICES=0"), labels).concerns


def test_one_without_chips_is_cmgrs_where_its_label_says_so() -> None:
    assert read({"process": {}}, {"cmgr.heal": "true"}).concerns
    assert not read({"process": {}}, {"cmgr.io/saved-io": "{}"}).concerns


def test_labels_say_what_is_wished() -> None:
    labels = {"cmgr.strategy": "ringRecover", "cmgr.order": "3", "cmgr.io/saved-io": "{}", "nerdctl/name": "shop"}
    container = read(env(), labels).container
    assert (container.name, container.strategy, container.order) == ("shop", Strategy.RING, 3)
    assert container.warnings == ()
    assert container.key == ("containerd", "ns", "web")


@pytest.mark.parametrize(
    ("labels", "seconds"),
    [
        ({}, 10),
        ({"nerdctl/stop-timeout": "25"}, 25),
        ({"nerdctl/stop-timeout": "-1"}, 10),
        ({"nerdctl/stop-timeout": "25", "cmgr.stop-timeout": "0"}, 0),
    ],
)
def test_the_grace_is_what_cmgrs_label_says_then_nerdctls(labels: Mapping[str, str], seconds: int) -> None:
    assert read(env(), labels).container.grace == timedelta(seconds=seconds)


def test_the_stop_signal_is_the_images() -> None:
    assert read(env()).stop_signal == 15
    assert read(env(), {"io.containerd.image.config.stop-signal": "SIGINT"}).stop_signal == 2
    assert read(env(), {"io.containerd.image.config.stop-signal": "rubbish"}).stop_signal == 15


def test_the_rest_is_read_too() -> None:
    spec = {
        "process": {"terminal": True},
        "linux": {"mountLabel": "x:y", "namespaces": [{"type": "pid"}, {"type": "network", "path": "/proc/7/ns/net"}]},
    }
    found = read(spec, {"nerdctl/auto-remove": "true"}, snapshotter="overlayfs", snapshot_key="k")
    assert (found.terminal, found.mount_label, found.shared) == (True, "x:y", frozenset({7}))
    assert (found.snapshotter, found.snapshot_key, found.container.auto_remove) == ("overlayfs", "k", True)


def test_its_ports_are_reached_where_nerdctl_has_published_them_or_on_the_machine() -> None:
    own = {"linux": {"namespaces": [{"type": "pid"}, {"type": "network"}]}}
    rows = [{"HostPort": 18000, "ContainerPort": 8000, "Protocol": "tcp", "HostIP": "0.0.0.0"}]  # noqa: S104
    udp = [{**rows[0], "Protocol": "udp"}, {**rows[0], "HostPort": "x"}, 7]
    assert read(own, {"nerdctl/ports": json.dumps(rows)}).container.network.place(8000) == ("127.0.0.1", 18000)
    for label in (json.dumps(udp), "{", "", "5"):
        assert read(own, {"nerdctl/ports": label}).container.network.place(8000) is None
    assert read({"linux": {"namespaces": [{"type": "pid"}]}}).container.network.place(8000) == ("127.0.0.1", 8000)
    assert read(b"no spec").container.network.place(8000) is None


def test_a_restart_policy_is_what_the_monitor_is_told() -> None:
    labels = {records.STATUS: "running", records.POLICY: "on-failure:3", "containerd.io/restart.count": "4"}
    text = read(env(), labels).container.restart_policy
    assert records.wanted_status(text) == "running"
    assert "on-failure" in text
    assert read(env(), {records.POLICY: "always"}).container.restart_policy == NO_RESTART


def test_disarming_and_arming_undo_each_other() -> None:
    labels = {records.STATUS: "running", "a": "b"}
    off = {**labels, **records.disarming(labels)}
    assert (off[records.STATUS], off[records.SAVED_STATUS]) == ("", "running")
    on = {**off, **records.arming(off, NO_RESTART)}
    assert {name: value for name, value in on.items() if value} == labels
    assert records.arming(labels, records.restart_policy(labels)) == {}
    assert records.disarming({"a": "b"}) == {}
    assert records.arming({"a": "b"}, NO_RESTART) == {}
    assert records.arming({}, "nonsense") == {}


def test_an_end_is_told_to_the_microsecond_and_the_year_1_is_no_end() -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    ended = MESSAGES["Ended"](exit_status=7, exited_at={"seconds": int(at.timestamp()), "nanos": 678901999})
    found = records.exit_(ended)
    assert found is not None
    assert (found.code, found.at, found.asked) == (7, at, None)
    assert records.exit_(MESSAGES["Ended"](exited_at={"seconds": -62135596800})) is None


@pytest.mark.parametrize(
    ("status", "running", "paused"),
    [(0, True, False), (1, False, False), (2, True, False), (3, False, False), (4, True, True), (5, True, True)],
)
def test_what_a_task_does_says_whether_it_holds_its_chips(status: int, running: bool, paused: bool) -> None:
    task = records.task(MESSAGES["Process"](pid=5, status=status, stdout="o", exited_at={"seconds": 1}))
    assert (task.running, task.paused, task.streams.stdout) == (running, paused, "o")
    assert (task.exit is not None) is (status == 3)


def test_whose_namespaces_it_joins_is_what_nerdctl_writes_down() -> None:
    ipc = json.dumps({"mode": "container", "victimContainerID": "cc"})
    labels = {"nerdctl/networks": '["container:aa"]', "nerdctl/pid-container": "bb", "nerdctl/ipc": ipc}
    assert records.donors(labels) == {"network": "aa", "pid": "bb", "ipc": "cc"}
    found = read(env(), labels)
    assert (set(found.container.joins), found.concerns) == ({"aa", "bb", "cc"}, True)


@pytest.mark.parametrize(
    "labels",
    [
        {"nerdctl/networks": '["bridge"]', "nerdctl/ipc": '{"mode":"private"}'},
        {"nerdctl/networks": "[]"},
        {"nerdctl/networks": "[7]", "nerdctl/ipc": "[]"},
        {"nerdctl/networks": "nonsense", "nerdctl/ipc": '{"mode":"container","victimContainerID":7}'},
    ],
)
def test_one_with_namespaces_of_its_own_joins_nobody(labels: dict[str, str]) -> None:
    assert records.donors(labels) == {}
    assert not read(env(), labels).concerns


def test_the_namespaces_of_another_life_take_the_place_of_those_of_the_last() -> None:
    namespaces = [
        {"type": "pid"},
        {"type": "network", "path": "/proc/7/ns/net"},
        {"type": "ipc", "path": "/proc/7/ns/ipc"},
        {"type": "uts", "path": "/run/uts"},
    ]
    fresh = records.rejoined({"linux": {"namespaces": namespaces}, "root": 1}, {"network": 9, "pid": 9})
    assert fresh["root"] == 1
    assert fresh["linux"] == {
        "namespaces": [namespaces[0], {"type": "network", "path": "/proc/9/ns/net"}, namespaces[2], namespaces[3]]
    }
    assert records.shared(fresh) == {7, 9}
