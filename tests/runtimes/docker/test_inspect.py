"""Docker's descriptions, as a real daemon gave them, and as a broken one might."""

import copy
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmgr.errors import ContainerError
from cmgr.model.values.chips import BY_ID, UNCLEAR
from cmgr.model.values.services.containers import UNHEALTHY, Container, Exit, Heal
from cmgr.runtimes.docker.inspect import Checked, described, moment, restart_policy
from cmgr.runtimes.documents import signal_number
from cmgr.runtimes.labels import LONGEST_GRACE

MAJORS = {236: BY_ID}
INSPECTED: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "inspected.json").read_text())


def read(name: str) -> Container:
    return described(INSPECTED[name], MAJORS).container


def changed(name: str, part: str, **values: Any) -> Container:
    """Return a captured container with other values in one part of it."""
    document = copy.deepcopy(INSPECTED[name])
    document[part] |= values
    return described(document, MAJORS).container


PORTS = {
    "8000/tcp": [{"HostIp": "0.0.0.0", "HostPort": "18000"}, {"HostIp": "::", "HostPort": "18000"}],  # noqa: S104
    "9000/tcp": None,
    "53/udp": [{"HostIp": "0.0.0.0", "HostPort": "53"}],  # noqa: S104
    "x/tcp": [{"HostPort": "y"}],
}
"""As dockerd 20.10 tells of `docker run -p 8000 --expose 9000 -p 53:53/udp`, and a row that no daemon gives."""


@pytest.mark.parametrize(
    ("mode", "networks", "places"),
    [
        ("bridge", {"bridge": {"IPAddress": "172.17.0.2"}}, [("127.0.0.1", 18000), ("172.17.0.2", 9000)]),
        ("a", {"b": {"IPAddress": "10.0.0.2"}, "a": {"IPAddress": ""}}, [("127.0.0.1", 18000), ("10.0.0.2", 9000)]),
        ("host", {"host": {"IPAddress": ""}}, [("127.0.0.1", 8000), ("127.0.0.1", 9000)]),
        ("none", {"none": {"IPAddress": ""}}, [("127.0.0.1", 18000), None]),
        ("container:abc", {}, [("127.0.0.1", 18000), None]),
    ],
)
def test_a_port_is_reached_where_docker_says_that_it_is(mode: str, networks: Any, places: list[Any]) -> None:
    document = copy.deepcopy(INSPECTED["running"])
    document["HostConfig"]["NetworkMode"] = mode
    document["NetworkSettings"] = {"Ports": PORTS, "Networks": networks}
    network = described(document, MAJORS).container.network
    assert [network.place(8000), network.place(9000)] == places


@pytest.mark.parametrize(("runtime", "grace"), [("runc", 0), ("oci", 10)])
def test_no_time_to_stop_in_is_meant_where_docker_says_so_and_not_set_where_podman_does(
    runtime: str, grace: int
) -> None:
    document = copy.deepcopy(INSPECTED["running"])
    document["Config"] |= {"StopTimeout": 0, "Labels": {}}
    document["HostConfig"]["Runtime"] = runtime
    assert described(document, MAJORS).container.grace == timedelta(seconds=grace)


def test_a_running_container_is_read_whole() -> None:
    container = read("running")
    state = INSPECTED["running"]["State"]
    assert (container.name, container.claims, container.order) == ("running", frozenset("0123"), 2)
    assert (container.running, container.run, container.exit) == (True, state["StartedAt"], None)
    assert (container.grace, container.restart_policy) == (timedelta(seconds=45), "on-failure:3")
    assert (container.auto_remove, container.warnings) == (False, ())


def test_what_it_was_made_of_is_read_and_that_its_label_says_that_it_uses_no_chip() -> None:
    assert (read("running").image, read("running").ignored) == (INSPECTED["running"]["Config"]["Image"], False)
    ignored = changed("running", "Config", Labels={"cmgr.enable": "ignore"})
    assert (ignored.ignored, ignored.enabled, ignored.claims) == (True, False, frozenset())


def test_a_device_counts_by_its_path_on_the_host() -> None:
    assert read("created").claims == {"3"}
    assert read("remapped").claims == frozenset()


def test_a_node_that_is_bound_counts_as_a_device_does() -> None:
    document = copy.deepcopy(INSPECTED["plain"])
    document["Mounts"] = [
        {"Type": "bind", "Source": "/dev/davinci3", "Destination": "/dev/davinci0"},
        {"Type": "volume", "Source": "/dev/davinci4"},
        {"Type": "bind", "Source": "/data"},
        "odd",
    ]
    assert described(document, MAJORS).container.claims == {"3"}
    document["Mounts"] = [{"Type": "bind", "Source": "/dev"}]
    assert "is given all of /dev" in described(document, MAJORS).container.warnings[0]


def test_one_without_chips_is_cmgrs_where_its_label_says_so() -> None:
    document = copy.deepcopy(INSPECTED["plain"])
    assert not described(document, MAJORS).concerns
    for label in ({"cmgr.heal": "true"}, {"cmgr.order": "nonsense"}):
        document["Config"]["Labels"] = label
        assert described(document, MAJORS).concerns


def test_device_requests_outdo_what_the_image_says() -> None:
    assert read("requests").claims == {"0", "2"}
    assert read("all-gpus").claims == {"all"}


@pytest.mark.parametrize(
    ("status", "health"),
    [("unhealthy", UNHEALTHY), ("healthy", "healthy"), ("starting", "starting"), ("none", ""), ("", ""), (7, "")],
)
def test_the_health_of_one_that_runs_is_read(status: object, health: str) -> None:
    assert changed("running", "State", Health={"Status": status}).health == health
    assert changed("exited", "State", Health={"Status": status}).health == ""


SECOND = 10**9


@pytest.mark.parametrize(
    ("check", "seconds"),
    [
        (None, None),
        ({}, None),
        ({"Test": []}, None),
        ({"Test": ["NONE"]}, None),
        ({"Test": "curl localhost"}, None),
        ({"Test": ["CMD", "true"]}, 3 * (30 + 30)),
        ({"Test": ["CMD-SHELL", "true"], "Interval": 10 * SECOND, "Timeout": 5 * SECOND}, 3 * (10 + 5)),
        ({"Test": ["CMD", "true"], "StartPeriod": 600 * SECOND, "Retries": 5, "Interval": 0}, 600 + 5 * 60),
        ({"Test": ["CMD", "true"], "StartPeriod": "long", "Retries": -1, "Interval": SECOND, "Timeout": SECOND}, 6),
        ({"Test": ["CMD", "true"], "StartPeriod": 2**80, "Retries": 2**80}, 7 * 24 * 3600),
    ],
)
def test_how_long_its_own_check_may_take_is_read(check: object, seconds: float | None) -> None:
    expected = timedelta(seconds=seconds) if seconds is not None else None
    assert changed("running", "Config", Healthcheck=check).says_within == expected


BEGUN = "2026-11-29T06:00:00Z"
EARLY, LATE = "2026-11-29T05:00:00Z", "2026-11-29T07:00:00.123456789Z"


@pytest.mark.parametrize(
    ("health", "at"),
    [
        ({"Status": "healthy", "Log": [{"End": EARLY}, {"End": LATE}]}, LATE),
        ({"Status": "starting", "Log": [{"End": EARLY}]}, BEGUN),
        ({"Status": "starting", "Log": []}, BEGUN),
        ({"Status": "healthy", "Log": None}, None),
        ({"Status": "healthy", "Log": [{"End": "soon"}, 7]}, None),
        ({"Status": "none", "Log": [{"End": LATE}]}, None),
        (None, None),
    ],
)
def test_when_its_own_check_ran_last_is_read(health: object, at: str | None) -> None:
    document = copy.deepcopy(INSPECTED["running"])
    document["State"] |= {"Health": health, "StartedAt": BEGUN}
    document["Config"]["Healthcheck"] = {"Test": ["CMD", "true"], "Interval": 5 * SECOND}
    checked = described(document, MAJORS).checked
    assert checked == (Checked(moment(at), 5 + 30 + 60) if at is not None else None)  # type: ignore[arg-type]  # A time.


def test_a_paused_one_is_frozen_and_what_its_last_check_said_counts_no_more() -> None:
    document = copy.deepcopy(INSPECTED["paused"])
    document["State"]["Health"] = {"Status": "unhealthy"}
    container = described(document, MAJORS).container
    assert (container.running, container.frozen, container.health) == (True, True, "")
    assert not read("running").frozen


def test_the_wish_to_be_healed_is_read_and_has_no_use_with_rm() -> None:
    wish = {**INSPECTED["running"]["Config"]["Labels"], "cmgr.heal": "true", "cmgr.heal-limit": "2"}
    document = copy.deepcopy(INSPECTED["running"])
    document["Config"]["Labels"] = wish
    document["HostConfig"]["AutoRemove"] = False
    assert described(document, MAJORS).container.heal == Heal(2)
    document["HostConfig"]["AutoRemove"] = True
    assert described(document, MAJORS).container.heal is None


def test_a_created_container_has_neither_run_nor_ended() -> None:
    container = read("created")
    assert (container.running, container.run, container.exit, container.auto_remove) == (False, "", None, True)


@pytest.mark.parametrize("name", ["paused", "restarting"])
def test_a_container_that_holds_its_chips_is_running(name: str) -> None:
    assert read(name).running
    assert read(name).exit is None


@pytest.mark.parametrize("status", ["stopping", "removing", "exited", "created", "dead"])
@pytest.mark.parametrize("alive", [True, False])
def test_one_that_podman_is_ending_runs_while_its_first_process_lives(status: str, alive: bool) -> None:
    """podman 4.3.1 says `stopping` with the number of the process, and `Running` is false."""
    document, asked = copy.deepcopy(INSPECTED["exited"]), list[tuple[int, str]]()

    def lives(pid: int, id_: str) -> bool:
        asked.append((pid, id_))
        return alive

    document["State"] |= {"Status": status, "Running": False, "Pid": 4711}
    found = described(document, MAJORS, lives=lives)
    ending = status in ("stopping", "removing")
    assert asked == [(4711, document["Id"])] * ending
    assert found.container.running is (alive and ending)
    assert (found.container.exit is None) is (found.container.running or status == "stopping")
    assert (found.pid == 0) is (ending and not alive)


def test_an_exited_container_says_how_it_ended() -> None:
    container = read("exited")
    assert container.exit is not None
    assert (container.exit.code, container.exit.asked) == (3, None)
    assert container.exit.at.isoformat()[:22] == INSPECTED["exited"]["State"]["FinishedAt"][:22]


def test_a_privileged_container_without_a_claim_is_a_warning() -> None:
    privileged = described(INSPECTED["privileged"], MAJORS)
    assert privileged.concerns
    assert privileged.container.claims == {UNCLEAR}
    assert "privileged" in privileged.container.warnings[0]
    claimed = changed("privileged", "Config", Env=["ASCEND_VISIBLE_DEVICES=1"])
    assert (claimed.claims, claimed.warnings) == (frozenset("1"), ())


@pytest.mark.parametrize("which", ["privileged", "rules"])
def test_one_whose_label_says_that_it_uses_no_chip_asks_for_none(which: str) -> None:
    document = copy.deepcopy(INSPECTED[which])
    document["Config"]["Labels"] = {"cmgr.enable": "Ignore"}
    found = described(document, MAJORS)
    assert (found.container.claims, found.container.warnings) == (frozenset(), ())


def test_device_rules_are_read() -> None:
    container = read("rules")
    assert container.claims == {f"{BY_ID}4", UNCLEAR}
    assert len(container.warnings) == 2


def test_a_container_without_chips_is_nobodys_concern() -> None:
    assert not described(INSPECTED["plain"], MAJORS).concerns
    assert not described(INSPECTED["remapped"], MAJORS).concerns


@pytest.mark.parametrize(
    ("labels", "timeout", "grace"),
    [
        ({}, None, timedelta(seconds=10)),
        ({}, 0, timedelta(0)),
        ({}, 3600, timedelta(hours=1)),
        ({}, -1, LONGEST_GRACE),
        ({}, 10**15, LONGEST_GRACE),
        ({}, "7", timedelta(seconds=10)),
        ({"cmgr.stop-timeout": "5"}, 3600, timedelta(seconds=5)),
        ({"cmgr.stop-timeout": "soon"}, 3600, timedelta(hours=1)),
    ],
)
def test_the_grace_is_the_labels_else_the_containers_own(
    labels: dict[str, str], timeout: object, grace: timedelta
) -> None:
    assert changed("running", "Config", Labels=labels, StopTimeout=timeout).grace == grace


def test_annotations_count_too() -> None:
    assert changed("plain", "HostConfig", Annotations={"cdi.k8s.io/a": "huawei.com/npu=6"}).claims == {"6"}


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2024-05-01T10:00:00.123456789Z", datetime(2024, 5, 1, 10, 0, 0, 123456, UTC)),
        ("2024-05-01T10:00:00Z", datetime(2024, 5, 1, 10, tzinfo=UTC)),
        ("2024-05-01T12:00:00.5+02:00", datetime(2024, 5, 1, 10, 0, 0, 500000, UTC)),
        ("0001-01-01T00:00:00Z", None),
        ("2024-05-01T10:00:00", None),
        ("9999-12-31T23:59:59-12:00", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_dockers_times_are_read(text: str, at: datetime | None) -> None:
    assert moment(text) == at


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("", 15),
        ("SIGTERM", 15),
        ("INT", 2),
        ("sigquit", 3),
        ("9", 9),
        ("SIGRTMIN+3", 37),
        ("RTMAX-1", 63),
        ("SIGNONSENSE", 15),
    ],
)
def test_stop_signals_are_read(name: str, number: int) -> None:
    assert signal_number(name) == number


@pytest.mark.parametrize("text", ["always:0", "on-failure:3", "unless-stopped:0", ""])
def test_a_restart_policy_survives_being_written_down(text: str) -> None:
    assert changed("running", "HostConfig", RestartPolicy=dict(restart_policy(text))).restart_policy == text


@pytest.mark.parametrize("text", ["sometimes:0", "always", "always:x", "always:-1", "no:0", ":"])
def test_what_is_no_restart_policy_is_refused(text: str) -> None:
    with pytest.raises(ContainerError, match="cannot set restart policy"):
        restart_policy(text)


@pytest.mark.parametrize("document", [None, [], {}, "x", {"Id": 3}, {"Id": ""}])
def test_what_describes_no_container_is_refused(document: object) -> None:
    with pytest.raises(ContainerError, match="it has no id"):
        described(document, MAJORS)


NONSENSE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(
    part=st.sampled_from(["Config", "HostConfig", "State"]),
    key=st.sampled_from(
        [
            *("Env", "Labels", "StopTimeout", "StopSignal", "DeviceRequests", "Devices", "DeviceCgroupRules"),
            *("RestartPolicy", "Annotations", "Status", "StartedAt", "FinishedAt", "ExitCode", "AutoRemove"),
        ]
    ),
    value=NONSENSE | st.lists(st.fixed_dictionaries({"DeviceIDs": NONSENSE, "Count": NONSENSE, "Driver": NONSENSE})),
    whole=st.booleans(),
)
def test_no_value_of_an_unexpected_shape_makes_reading_fail(part: str, key: str, value: Any, whole: bool) -> None:
    document = copy.deepcopy(INSPECTED["exited"])
    if whole:
        document[part] = value
    else:
        document[part][key] = value
    container = described(document, MAJORS).container
    assert container.key.id == INSPECTED["exited"]["Id"]
    assert container.exit is None or isinstance(container.exit, Exit)


def test_nvidias_variable_counts_where_its_runtime_is_in_force() -> None:
    document = copy.deepcopy(INSPECTED["plain"])
    document["Config"]["Env"] = ["NVIDIA_VISIBLE_DEVICES=2"]
    assert document["HostConfig"]["Runtime"] == "runc"
    assert not described(document, MAJORS).concerns
    document["HostConfig"]["Runtime"] = "nvidia"
    assert described(document, MAJORS).container.claims == {"2"}
    del document["HostConfig"]["Runtime"]
    assert described(document, MAJORS).container.claims == {"2"}
