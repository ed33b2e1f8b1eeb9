"""Containers describe themselves in any shape: that names chips or gives a warning, and does nothing else."""

import json
import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmgr.errors import ContainerError
from cmgr.model.values.chips import ALL_CHIPS, UNCLEAR
from cmgr.model.values.services.containers import Container
from cmgr.runtimes import claims
from cmgr.runtimes.containerd import record as containerd_record
from cmgr.runtimes.containerd.messages import MESSAGES
from cmgr.runtimes.docker.inspect import described
from cmgr.vendor import notations
from tests.security.fuzz import NASTY, SECTION, json_values, numbers, texts, tries
from tests.security.watching import Watch
from tests.support.figures import Figures

VARIABLES = [name for notation in notations() for name in notation.variables]
MAJORS = {195: "/dev/nvidia", 236: ""}
NAMED = re.compile(
    r"[0-9]{1,4}(:[0-9]{1,4})?|/dev/vdavinci[0-9]{1,4}|all|[?]|"
    r"(MIG-)?(GPU-)?[0-9a-fA-F-]{4,68}|[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
)
MOST_WARNINGS = 64
LONGEST_WARNING = 400


def sound(container: Container) -> None:
    """Check what holds of every container, whatever it said."""
    for claim in container.claims:
        assert NAMED.fullmatch(claim), claim
        assert not claim.isdigit() or (claim == str(int(claim)) and int(claim) < 4096)
    assert len(container.warnings) <= MOST_WARNINGS
    assert all(len(warning) <= LONGEST_WARNING for warning in container.warnings)
    assert all(warning.isprintable() for warning in container.warnings)
    for text in (container.name, *container.warnings, container.restart_policy, container.run):
        text.encode()  # Else the database would not take it.
    assert container.grace.total_seconds() >= 0


items = st.sampled_from(
    [
        "0",
        "7",
        "0-3",
        "3-0",
        "0-99999",
        "Ascend910-1",
        "all",
        "none",
        "GPU-8e4f",
        "0:1",
        "0000:01:00.0",
        "-",
        "0,,",
        "00",
    ]
)
lists = st.lists(items | texts, max_size=6).map(",".join)
variables = st.builds(
    "{}={}".format,
    st.sampled_from([*VARIABLES, "ascend_visible_devices", "PATH", "LD_PRELOAD"]) | texts,
    lists | st.text(max_size=60),
)
paths = st.sampled_from(
    ["/dev/davinci0", "/dev//davinci1", "/dev/../dev/davinci2", "/dev/davinci_manager", "/dev/vdavinci100", "/dev", "/"]
) | texts.map("/dev/davinci".__add__)
label = st.sampled_from(["cmgr.strategy", "cmgr.stop-timeout", "cmgr.order", "cmgr.enable", "cmgr.x", "nerdctl/name"])
labels = st.dictionaries(label | texts, texts | numbers.map(str) | st.sampled_from(["ringRecover", "true", "10"]))
annotations = st.dictionaries(texts.map("cdi.k8s.io/".__add__) | texts, lists.map("huawei.com/npu=".__add__) | texts)
rules = st.sampled_from(["c 236:0 rwm", "c *:* rwm", "c 236:* r", "a *:* m", "b 8:0 rwm"]) | texts
device = st.fixed_dictionaries({}, optional={"PathOnHost": paths | json_values, "PathInContainer": json_values})
request = st.fixed_dictionaries(
    {},
    optional={
        "Driver": st.sampled_from(["", "nvidia", "cdi"]) | json_values,
        "Count": numbers | json_values,
        "DeviceIDs": st.lists(items | texts, max_size=4) | json_values,
        "Capabilities": st.just([["gpu"]]) | json_values,
    },
)


def part(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return a document that has some of these fields, or is anything else."""
    return st.fixed_dictionaries({}, optional=fields) | json_values


inspected = st.fixed_dictionaries(
    {"Id": st.just("f" * 64)},
    optional={
        "Name": texts | json_values,
        "Config": part(
            Env=st.lists(variables | json_values, max_size=6),
            Labels=labels | json_values,
            StopTimeout=numbers | json_values,
            StopSignal=st.sampled_from(["SIGTERM", "15", "99", "SIGRTMIN+99", "SIGRTMAX-64", "9999"]) | json_values,
        ),
        "HostConfig": part(
            Devices=st.lists(device | json_values, max_size=4),
            DeviceRequests=st.lists(request | json_values, max_size=4),
            DeviceCgroupRules=st.lists(rules | json_values, max_size=4),
            Annotations=annotations | json_values,
            Privileged=json_values,
            RestartPolicy=part(Name=st.sampled_from(["always", "no"]) | texts, MaximumRetryCount=numbers),
        ),
        "State": part(
            Running=st.booleans() | json_values,
            Status=st.sampled_from(["running", "exited"]) | texts,
            StartedAt=st.sampled_from(["2026-01-01T00:00:00Z", "9999-12-31T23:59:59-14:00", "0001-01-01"]) | texts,
            FinishedAt=st.sampled_from(["2026-01-01T00:00:00Z", "9999-12-31T23:59:59-14:00"]) | texts,
            ExitCode=numbers | json_values,
        ),
    },
)


@tries(800)
@given(document=inspected | json_values)
def test_no_description_of_docker_does_more_than_being_read(watch: Watch, figures: Figures, document: object) -> None:
    with watch.quiet(), suppress(ContainerError):  # It has no id.
        found = described(document, MAJORS)
        sound(found.container)
        assert 0 < found.stop_signal <= 64
    figures.add(SECTION, "container definitions fuzzed")


node = part(type=st.sampled_from(["c", "b", "a", "u"]) | texts, major=numbers, minor=numbers, path=paths)
spec = part(
    process=part(env=st.lists(variables | json_values, max_size=6), terminal=json_values),
    linux=part(
        devices=st.lists(node, max_size=4),
        resources=part(devices=st.lists(node, max_size=4)),
        namespaces=st.lists(part(path=texts), max_size=3),
        mountLabel=json_values,
    ),
    annotations=annotations | json_values,
    mounts=st.lists(part(source=paths, type=texts), max_size=4),
)
text_of_spec = spec.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=200)
protobuf_texts = texts.map(lambda text: text.encode("utf-8", "replace").decode())


@tries(800)
@given(
    value=text_of_spec,
    named=st.dictionaries(label | protobuf_texts, protobuf_texts | st.just("1e9"), max_size=6),
    moment=st.integers(-(2**63), 2**63 - 1),
)
def test_no_record_of_containerd_does_more_than_being_read(
    watch: Watch, figures: Figures, value: bytes, named: dict[str, str], moment: int
) -> None:
    stamp = {"seconds": moment, "nanos": 1}
    record = MESSAGES["Container"](id="web", labels=named, spec={"value": value}, created_at=stamp, updated_at=stamp)
    with watch.quiet():
        found = containerd_record.definition("ns", record, MAJORS)
    sound(found.container)
    figures.add(SECTION, "container definitions fuzzed")


@tries(800)
@given(lines=st.lists(variables, max_size=8))
def test_an_environment_never_names_a_chip_that_does_not_stand_there(figures: Figures, lines: list[str]) -> None:
    found = claims.from_environment(lines)
    said = "\n".join(lines)
    for claim in found.chips:
        if claim.isdigit() and claim not in re.findall("[0-9]+", re.sub(r"\b0+(?=[0-9])", "", said)):
            spans = re.findall(r"([0-9]{1,4})\s*-\s*([0-9]{1,4})", said)
            assert any(int(first) <= int(claim) <= int(last) for first, last in spans), claim
    assert ALL_CHIPS not in found.chips or "all" in said.casefold()
    figures.add(SECTION, "container environments fuzzed")


@pytest.mark.parametrize("value", NASTY)
@pytest.mark.parametrize("name", [notations()[0].variable, notations()[1].variable])
def test_what_is_no_list_of_chips_is_a_warning_of_one_line(name: str, value: str) -> None:
    found = claims.from_environment([f"{name}={value}"])
    assert found.chips <= {ALL_CHIPS, UNCLEAR}
    assert all(warning.isprintable() and len(warning) <= LONGEST_WARNING for warning in found.warnings)


@pytest.mark.parametrize(
    "environment",
    [
        [f"{notations()[0].variable}=" + ",".join(f"x{n}" for n in range(400_000))],
        [f"{notations()[0].variable}=" + "," * 4_000_000],
        [f"{notations()[0].variable}=" + "0-4095," * 500_000],
        [f"{notations()[0].variable}=0" + " " * 4_000_000 + "-"],
        [f"{notations()[0].variable}=ascend" + "a" * 4_000_000],
        [f"{notations()[0].variable}={n}" for n in range(300_000)],
        ["=" * 4_000_000],
    ],
    ids=range(7),
)
def test_a_large_environment_is_read_soon_and_told_in_few_words(environment: list[str]) -> None:
    found = claims.from_environment(environment)
    assert len(found.warnings) <= MOST_WARNINGS
    assert all(len(warning) <= LONGEST_WARNING for warning in found.warnings)


def test_many_odd_requests_and_annotations_are_told_in_few_words() -> None:
    document = {
        "Id": "f" * 64,
        "Config": {"Env": [f"{notations()[0].variable}=x,y"], "Labels": {f"cmgr.{n}": "x" for n in range(1000)}},
        "HostConfig": {
            "DeviceRequests": [{"Driver": "nvidia", "DeviceIDs": [f"x{n}"], "Count": 10**1000} for n in range(1000)]
            + [{"Driver": "nvidia", "Count": 10**4000}],
            "Annotations": {f"cdi.k8s.io/{n}": f"nvidia.com/gpu=x{n}" for n in range(1000)},
            "Devices": [{"PathOnHost": f"/dev/vdavinci{n}"} for n in range(1000)],
            "DeviceCgroupRules": [f"c 236:{n} rwm" for n in range(1000)] + ["c *:* rwm"],
        },
        "State": {"Running": True, "StartedAt": datetime.now(UTC).isoformat()},
    }
    found = described(document, MAJORS).container
    sound(found)
    assert len(found.warnings) > 8
