"""The wishes of labels, and what happens to those that cannot be read."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.handling.questions import question
from cmgr.model.values.services.containers import Heal
from cmgr.runtimes.compose import NUMBER, PROJECT, SERVICE
from cmgr.runtimes.labels import LONGEST_GRACE, TAKEN, Wishes, brought, makers, reach_of, wished, wishes


def test_no_labels_wish_for_nothing() -> None:
    assert wishes({}) == Wishes()
    assert wishes({"com.example": "cmgr.order=3"}) == Wishes()


def test_every_label_is_read() -> None:
    labels = {"cmgr.strategy": "singleRecover", "cmgr.stop-timeout": " 30 ", "cmgr.order": "-2", "cmgr.enable": "False"}
    assert wishes(labels) == Wishes(Strategy.SINGLE, timedelta(seconds=30), -2, hands_off="cmgr.enable=false")


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
    makers = wishes({"huawei.com/job.enableRecover": "False"})
    assert (makers.enabled, makers.hands_off) == (False, "huawei.com/job.enableRecover=false")
    assert wishes({"huawei.com/job.enableRecover": "true"}) == Wishes()
    both = wishes({"cmgr.enable": "true", "huawei.com/job.enableRecover": "false"})
    assert not both.enabled
    assert "disagree: cmgr leaves it alone" in both.warnings[0]


def test_whoever_has_a_label_of_a_job_concerns_cmgr() -> None:
    assert wished({"huawei.com/job.id": "a"})
    assert wished({"cmgr.order": "1"})
    assert not wished({"huawei.com/other": "a"})


UNIT = {"cmgr.unit": "llm@3.service"}
WORDS = {"cmgr.before-stop": "python3 save.py --to '/mnt/last one'"}


def test_the_command_before_the_stop_is_a_program_and_its_arguments_and_no_shell_reads_it() -> None:
    assert wishes(WORDS).before_stop == ("python3", "save.py", "--to", "/mnt/last one")
    assert wishes({"cmgr.before-stop": "save; reboot $(id)"}).before_stop == ("save;", "reboot", "$(id)")


def test_what_it_is_asked_is_read_and_what_is_no_question_is_a_warning() -> None:
    assert wishes({"cmgr.ready": " tcp://:80 "}).ready == question("tcp://:80")
    wished = wishes({"cmgr.ready": "http://example.com/"})
    assert (wished.ready, len(wished.warnings)) == (None, 1)
    assert wished.warnings[0].startswith(
        "cannot read label cmgr.ready='http://example.com/': it begins with http://:PORT"
    )
    assert wishes({"cmgr.ready": "http://:80/ü"}).warnings[0].startswith("cannot read label cmgr.ready=")


@pytest.mark.parametrize("text", ["/run/saving", "http://:8000/busy status=409", "tcp://:81", "exec training --saves"])
def test_by_what_it_says_that_it_is_busy_is_kept_as_it_was_written(text: str) -> None:
    assert wishes({"cmgr.busy": f" {text} "}).busy == text


@pytest.mark.parametrize("text", ["/run/a b", "/run/", "/", "run/saving", "http://example.com/", "exec"])
def test_what_is_neither_a_file_nor_a_question_is_a_warning(text: str) -> None:
    wished = wishes({"cmgr.busy": text})
    assert (wished.busy, len(wished.warnings)) == ("", 1)
    assert wished.warnings[0].startswith(f"cannot read label cmgr.busy='{text}': ")


def test_of_an_image_no_question_counts_and_where_nobody_can_tell_none_is_asked() -> None:
    asked = {"cmgr.ready": "exec reboot", "cmgr.busy": "exec reboot"}
    for found in (brought(asked, asked), None):
        wished = wishes(asked, brought=found)
        assert (wished.ready, wished.busy) == (None, "")
        assert wished.warnings[0].startswith("label cmgr.busy is not obeyed: ")
        assert wished.warnings[1].startswith("label cmgr.ready is not obeyed: ")


LABELS = {
    **WORDS,
    "cmgr.unit": "llm@3.service",
    "cmgr.group": "tp4",
    "cmgr.group-size": "4",
    "cmgr.order": "3",
    "cmgr.enable": "false",
    "cmgr.strategy": "singleRecover",
    "cmgr.stop-timeout": "600",
    "cmgr.spare": "auto",
    "cmgr.heal": "true",
    "cmgr.heal-limit": "3",
    "cmgr.heal-backoff": "30",
    "cmgr.min-chips": "2",
    "cmgr.hang": "10m",
    "cmgr.needs-network": "true",
    "cmgr.ready": "http://:8000/health",
    "cmgr.busy": "/run/saving",
    "huawei.com/job.id": "tp4",
    "huawei.com/job.replica": "4",
    "huawei.com/job.enableRecover": "false",
}
OWN = Wishes(heal=Heal(3, timedelta(seconds=30)), min_chips=2, hang=timedelta(minutes=10), needs_network=True)


def test_each_label_has_a_reach_and_is_tried_here() -> None:
    assert LABELS.keys() >= TAKEN.keys()
    assert all(reach_of(label) for label in LABELS)


def test_of_the_labels_that_an_image_brings_only_those_count_that_concern_nobody_else() -> None:
    found = brought(LABELS, LABELS)
    wished = wishes(LABELS, brought=found)
    assert replace(wished, warnings=(), brought=frozenset()) == OWN
    assert wished.warnings[0] == ("label cmgr.before-stop is not obeyed: the image brought it, and only --label counts")
    assert {each.partition("=")[0] for each in found} == set(LABELS) - {
        "cmgr.heal", "cmgr.heal-limit", "cmgr.heal-backoff", "cmgr.min-chips", "cmgr.hang", "cmgr.needs-network",
    }  # fmt: skip


def test_a_label_that_differs_from_the_one_of_the_image_is_its_makers() -> None:
    image = dict.fromkeys(LABELS, "7")
    assert brought(LABELS, image) == frozenset()
    again = brought({**LABELS, "cmgr.group": "tp4 "}, {"cmgr.group": " tp4"})
    assert again == {"cmgr.group=tp4 "}
    # Whoever may set labels of a container has given it another one since: that is its maker's.
    assert wishes({"cmgr.group": "mine"}, brought=again).group == "mine"


def test_where_nobody_can_tell_what_the_image_brought_no_command_is_run_and_the_rest_counts_with_a_warning() -> None:
    wished = wishes({**WORDS, **UNIT, "cmgr.group": "tp4", "cmgr.order": "3", "cmgr.heal": "true"}, brought=None)
    assert (wished.before_stop, wished.unit, wished.group, wished.order) == ((), "", "tp4", 3)
    assert wished.warnings == (
        "label cmgr.before-stop is not obeyed: whether the image brought it is not known",
        "label cmgr.unit is not obeyed: whether the image brought it is not known",
        "whether the image brought cmgr.group, cmgr.order is not known: it counts as given by --label",
    )


@pytest.mark.parametrize("group", ["cmgr.group", "huawei.com/job.id"])
def test_in_a_group_nothing_that_an_image_brings_counts(group: str) -> None:
    image = {"cmgr.heal": "true", "cmgr.hang": "10m", "cmgr.min-chips": "2"}
    labels = {**image, group: "tp4"}
    assert brought(labels, image) == {"cmgr.heal=true", "cmgr.hang=10m", "cmgr.min-chips=2"}
    assert wishes(labels, brought=brought(labels, image)).heal is None
    assert brought(labels, {**labels}) == {f"{group}=tp4"}, "it is in no group"


def test_what_another_program_says_of_a_container_counts_where_its_image_does_not_say_it() -> None:
    labels = {"nerdctl/name": "db", "com.docker/engine.bundle.path": "/x", "org.opencontainers.image.title": "x"}
    assert makers(labels, brought(labels, {})) == labels
    found = brought(labels, labels)
    assert [*makers(labels, found)] == ["org.opencontainers.image.title"]
    assert wishes(labels, brought=found).warnings == (), "they are no wishes of anybody's"


def test_an_image_makes_no_orchestrator_of_its_own() -> None:
    labels = {"io.kubernetes.pod.uid": "7", "runtime.gpustack.ai/name": "a", "cmgr.group": "tp4"}
    assert wishes(labels).owner == "kubelet"
    image = {label: labels[label] for label in list(labels)[:2]}
    wished = wishes(labels, brought=brought(labels, image))
    assert (wished.owner, wished.group) == ("", "tp4")


def test_a_project_counts_where_compose_has_given_any_of_it() -> None:
    place = {PROJECT: "shop", SERVICE: "web", NUMBER: "1"}
    assert makers(place, brought(place, place)) == {}
    # Compose writes the first two into the images that it builds, too.
    built = {PROJECT: "shop", SERVICE: "web", "com.docker.compose.version": "2"}
    assert makers(place, brought(place, built)) == place


@pytest.mark.parametrize("value", ["", "  ", "say 'it", 'say "it', "a\nb", "a\x1b[2J", "x" * 1001])
def test_a_command_that_cannot_be_read_is_a_warning_and_nothing_is_run(value: str) -> None:
    wished = wishes({"cmgr.before-stop": value})
    assert (wished.before_stop, len(wished.warnings)) == ((), 1)
    assert wished.warnings[0].startswith("cannot read label cmgr.before-stop=")


def test_the_unit_that_runs_a_container_is_what_its_maker_says() -> None:
    assert wishes(UNIT).unit == "llm@3.service"
    assert wishes({**UNIT, "cmgr.heal": "true"}, auto_remove=True).heal, "its unit makes it anew"


@pytest.mark.parametrize("value", ["", "llm", "llm.socket", "llm@.service", "../llm.service", "a b.service", "x" * 300])
def test_what_is_no_name_of_a_service_is_a_warning(value: str) -> None:
    wished = wishes({"cmgr.unit": value})
    assert wished.unit == ""
    assert wished.warnings[0].startswith("cannot read label cmgr.unit=")


@pytest.mark.parametrize("name", ["docker", "containerd", "cmgr", "dbus", "systemd-logind", "user@1000"])
def test_a_unit_that_runs_more_than_a_container_is_not_touched(name: str) -> None:
    wished = wishes({"cmgr.unit": f"{name}.service"})
    assert (wished.unit, len(wished.warnings)) == ("", 1)


OWNERS = {
    "com.docker.swarm.task.id": "swarm",
    "io.kubernetes.pod.uid": "kubelet",
    "io.cri-containerd.kind": "kubelet",
    "com.hashicorp.nomad.alloc_id": "nomad",
    "io.balena.supervised": "balena",
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
