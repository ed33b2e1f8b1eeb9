"""The wishes of labels, and what happens to those that cannot be read."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.services.containers import Heal
from cmgr.runtimes.labels import LONGEST_GRACE, Wishes, wished, wishes


def test_no_labels_wish_for_nothing() -> None:
    assert wishes({}) == Wishes()
    assert wishes({"com.example": "cmgr.order=3"}) == Wishes()


def test_every_label_is_read() -> None:
    labels = {"cmgr.strategy": "singleRecover", "cmgr.stop-timeout": " 30 ", "cmgr.order": "-2", "cmgr.enable": "False"}
    assert wishes(labels) == Wishes(Strategy.SINGLE, timedelta(seconds=30), -2, enabled=False)


def test_the_wish_to_be_healed_is_read_with_its_limit_and_wait() -> None:
    assert wishes({"cmgr.heal": "TRUE"}).heal == Heal()
    both = {"cmgr.heal": "true", "cmgr.heal-limit": "3", "cmgr.heal-backoff": " 30 "}
    assert wishes(both).heal == Heal(3, timedelta(seconds=30))
    assert wishes({**both, "cmgr.heal": "false"}) == Wishes()
    once = wishes(both, auto_remove=True)
    assert (once.heal, once.warnings) == (None, ("label cmgr.heal has no use: the container is removed when it ends",))
    assert wishes({**both, "cmgr.heal-limit": "many"}).heal == Heal(None, timedelta(seconds=30))


def test_how_few_chips_are_enough_is_read() -> None:
    assert wishes({"cmgr.min-chips": " 2 "}) == Wishes(min_chips=2)


def test_how_long_nothing_may_change_is_read() -> None:
    assert wishes({"cmgr.hang": " 10m "}) == Wishes(hang=timedelta(minutes=10))


def test_an_endless_grace_is_cut() -> None:
    assert wishes({"cmgr.stop-timeout": "999999999"}).grace == LONGEST_GRACE
    assert wishes({"cmgr.stop-timeout": "0"}).grace == timedelta()


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("cmgr.strategy", "always"),
        ("cmgr.strategy", ""),
        ("cmgr.stop-timeout", "30s"),
        ("cmgr.stop-timeout", "-1"),
        ("cmgr.stop-timeout", "9" * 40),
        ("cmgr.order", "first"),
        ("cmgr.order", "1.5"),
        ("cmgr.order", "9" * 5000),
        ("cmgr.enable", "0"),
        ("cmgr.enable", "$(reboot)"),
        ("cmgr.min-chips", "0"),
        ("cmgr.min-chips", "few"),
        ("cmgr.hang", "10"),
        ("cmgr.hang", "0m"),
        ("cmgr.heal", "yes"),
        ("cmgr.heal-limit", "0"),
        ("cmgr.heal-limit", "-1"),
        ("cmgr.heal-backoff", "0"),
        ("cmgr.heal-backoff", "10s"),
    ],
)
def test_a_bad_value_is_a_warning_and_the_default_holds(label: str, value: str) -> None:
    told = wishes({label: value})
    assert told == Wishes(warnings=told.warnings)
    assert len(told.warnings) == 1
    assert label in told.warnings[0]
    assert len(told.warnings[0]) < 300


def test_a_label_of_ours_that_is_not_known_is_a_warning() -> None:
    (warning,) = wishes({"cmgr.enabled": "false"}).warnings
    assert "'cmgr.enabled' is not known" in warning
    assert "cmgr.enable" in warning


@given(
    st.dictionaries(
        st.sampled_from(["cmgr.strategy", "cmgr.stop-timeout", "cmgr.order", "cmgr.heal", "cmgr.heal-limit", "cmgr.x"]),
        st.text(),
    )
)
def test_no_value_makes_reading_fail(labels: dict[str, str]) -> None:
    assert len(wishes(labels).warnings) <= len(labels)


def test_a_group_and_a_job_are_the_same() -> None:
    assert (wishes({"cmgr.group": "tp4", "cmgr.group-size": "4"}).group, wishes({"cmgr.group": " tp4 "}).group) == (
        "tp4",
        "tp4",
    )
    job = wishes({"huawei.com/job.id": "train-7.A", "huawei.com/job.replica": "2"})
    assert (job.group, job.group_size, job.warnings, job.enabled) == ("train-7.A", 2, (), True)
    both = wishes({"cmgr.group": "a", "huawei.com/job.id": "a", "cmgr.group-size": "3", "huawei.com/job.replica": "0"})
    assert (both.group, both.group_size, both.warnings) == ("a", 3, ())


@pytest.mark.parametrize(
    ("labels", "warning"),
    [
        ({"cmgr.group": "a", "huawei.com/job.id": "b"}, "name two groups: it counts as in none"),
        (
            {"cmgr.group": "a", "cmgr.group-size": "2", "huawei.com/job.replica": "3"},
            "disagree: it counts as in no group",
        ),
        ({"cmgr.group": "a", "cmgr.group-size": "1"}, "is a group of one, which is none"),
        ({"cmgr.group-size": "4"}, "has no use without cmgr.group"),
        ({"cmgr.group": "a b"}, "cannot read label cmgr.group='a b'"),
        ({"cmgr.group": "../etc"}, "cannot read label cmgr.group"),
        ({"cmgr.group": "x" * 64}, "cannot read label cmgr.group"),
        ({"huawei.com/job.id": "$(id)"}, "cannot read label huawei.com/job.id"),
    ],
)
def test_labels_of_no_one_group_put_a_container_into_none(labels: dict[str, str], warning: str) -> None:
    told = wishes(labels)
    assert (told.group, told.group_size) == ("", 0)
    assert len(told.warnings) == 1
    assert warning in told.warnings[0]


def test_a_size_that_cannot_be_read_counts_as_not_said() -> None:
    told = wishes({"cmgr.group": "a", "cmgr.group-size": "0"})
    assert (told.group, told.group_size, len(told.warnings)) == ("a", 0, 1)


def test_a_job_of_one_is_an_ordinary_container() -> None:
    assert wishes({"huawei.com/job.id": "a", "huawei.com/job.replica": "1"}) == Wishes()


def test_a_job_that_is_not_to_be_recovered_is_left_alone() -> None:
    assert not wishes({"huawei.com/job.enableRecover": "False"}).enabled
    assert wishes({"huawei.com/job.enableRecover": "true"}) == Wishes()
    both = wishes({"cmgr.enable": "true", "huawei.com/job.enableRecover": "false"})
    assert not both.enabled
    assert "disagree: cmgr leaves it alone" in both.warnings[0]


def test_whoever_has_a_label_of_a_job_concerns_cmgr() -> None:
    assert wished({"huawei.com/job.id": "a"})
    assert wished({"cmgr.order": "1"})
    assert not wished({"huawei.com/other": "a"})


WORDS = {"cmgr.before-stop": "python3 save.py --to '/mnt/last one'"}


def test_the_command_before_the_stop_is_a_program_and_its_arguments_and_no_shell_reads_it() -> None:
    assert wishes(WORDS, image={}).before_stop == ("python3", "save.py", "--to", "/mnt/last one")
    assert wishes({"cmgr.before-stop": "save; reboot $(id)"}, image={}).before_stop == ("save;", "reboot", "$(id)")


@pytest.mark.parametrize(
    ("image", "why"),
    [
        (WORDS, "label cmgr.before-stop is not obeyed: the image brought it, and only --label counts"),
        (None, "label cmgr.before-stop is not obeyed: whether the image brought it cannot be told"),
    ],
)
def test_a_command_that_the_image_brought_or_may_have_brought_is_not_run(
    image: dict[str, str] | None, why: str
) -> None:
    wished = wishes(WORDS, image=image)
    assert (wished.before_stop, wished.warnings) == ((), (why,))


def test_a_command_that_differs_from_the_one_of_the_image_is_its_makers() -> None:
    assert wishes(WORDS, image={"cmgr.before-stop": "rm -r /"}).before_stop[0] == "python3"


@pytest.mark.parametrize("value", ["", "  ", "say 'it", 'say "it', "a\nb", "a\x1b[2J", "x" * 1001])
def test_a_command_that_cannot_be_read_is_a_warning_and_nothing_is_run(value: str) -> None:
    wished = wishes({"cmgr.before-stop": value}, image={})
    assert (wished.before_stop, len(wished.warnings)) == ((), 1)
    assert wished.warnings[0].startswith("cannot read label cmgr.before-stop=")


UNIT = {"cmgr.unit": "llm@3.service"}


def test_the_unit_that_runs_a_container_is_what_its_maker_says() -> None:
    assert wishes(UNIT, image={}).unit == "llm@3.service"
    assert wishes({**UNIT, "cmgr.heal": "true"}, image={}, auto_remove=True).heal, "its unit makes it anew"


@pytest.mark.parametrize("image", [UNIT, None])
def test_a_unit_that_the_image_names_or_may_have_named_is_not_touched(image: dict[str, str] | None) -> None:
    wished = wishes(UNIT, image=image)
    assert wished.unit == ""
    assert wished.warnings[0].startswith("label cmgr.unit is not obeyed: ")


@pytest.mark.parametrize("value", ["", "llm", "llm.socket", "llm@.service", "../llm.service", "a b.service", "x" * 300])
def test_what_is_no_name_of_a_service_is_a_warning(value: str) -> None:
    wished = wishes({"cmgr.unit": value}, image={})
    assert wished.unit == ""
    assert wished.warnings[0].startswith("cannot read label cmgr.unit=")


@pytest.mark.parametrize("name", ["docker", "containerd", "cmgr", "dbus", "systemd-logind", "user@1000"])
def test_a_unit_that_runs_more_than_a_container_is_not_touched(name: str) -> None:
    wished = wishes({"cmgr.unit": f"{name}.service"}, image={})
    assert (wished.unit, len(wished.warnings)) == ("", 1)


OWNERS = {
    "com.docker.swarm.task.id": "swarm",
    "io.kubernetes.pod.uid": "kubelet",
    "io.cri-containerd.kind": "kubelet",
    "com.hashicorp.nomad.alloc_id": "nomad",
    "io.balena.service-id": "balena",
    "runtime.gpustack.ai/workload": "gpustack",
}


@pytest.mark.parametrize("label", sorted(OWNERS))
def test_what_an_orchestrator_has_made_wishes_nothing_for_which_cmgr_would_have_to_start_it(label: str) -> None:
    ours = {"cmgr.heal": "true", "cmgr.group": "tp4", "cmgr.spare": "auto", "cmgr.hang": "5m", "cmgr.strategy": "never"}
    wished = wishes({label: "x", "huawei.com/job.id": "job", **ours})
    assert wished.owner == OWNERS[label]
    assert (wished.heal, wished.group, wished.spare, wished.hang) == (None, "", None, None)
    assert wished.strategy is Strategy.NEVER
    assert (
        f"label cmgr.heal has no use: {OWNERS[label]} starts its own containers, and cmgr never does" in wished.warnings
    )


@pytest.mark.parametrize(
    "label", ["com.docker.swarm.task", "com.docker.compose.project", "nerdctl/name", "io.balena.features.dbus"]
)
def test_others_have_no_owner(label: str) -> None:
    assert wishes({label: "x"}).owner == ""
