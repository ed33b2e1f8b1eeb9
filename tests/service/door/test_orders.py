"""Orders of a person, through the whole service: its socket, its decisions, its database."""

import os
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from cmgr.errors import CmgrError
from cmgr.service.door.client import order
from tests.support.service import LATER, NOW, Service, service_of_one
from tests.support.waiting import eventually

ME = f"uid {os.getuid()}"


@pytest.fixture
def service() -> Iterator[Service]:
    yield from service_of_one()


def chip(service: Service, number: int) -> dict[str, object]:
    return dict(service.status()["chips"][number])


def noted(service: Service, text: str) -> bool:
    return any(text in note.text and ME in note.text for note in service.notes())


def test_an_isolated_chip_is_out_of_use_at_once_and_history_says_by_whom(service: Service) -> None:
    assert service.cmgr("isolate", "5", "--reason", "its fan is loud").code == 0
    shown = chip(service, 5)
    assert (shown["isolated"], shown["isolated_by"], shown["reason"]) == (True, "operator", "its fan is loud")
    assert "5" not in service.cmgr("chips", "--available").out.strip().split(",")
    assert noted(service, "ordered that chip 5 is isolated")
    assert ME in service.cmgr("history", "--all").out
    assert service.cmgr("release", "5").code == 0
    assert not chip(service, 5)["isolated"]


def missing(service: Service) -> list[str]:
    return [trouble["text"] for trouble in service.status()["troubles"] if trouble["kind"] == "missing"]


def test_an_isolated_chip_that_was_taken_out_is_remembered_and_can_be_released(service: Service) -> None:
    assert service.cmgr("isolate", "7", "--reason", "its fan is loud").code == 0
    service.terminate()
    service.configure({"sim.chips": 4})
    service.start()
    assert order(service.socket, "release", chip=7) == {
        "chip": 7, "isolated": False, "reason": "", "did": ["chip 7: released"],
    }  # fmt: skip
    told = service.cmgr("release", "7")
    assert told.code == 1
    assert "there is no chip 7" in told.err
    assert order(service.socket, "forget", chip=7, preview=True) == {
        "does": ["what is remembered of chip 7 (SIM0007) is forgotten; should it come back, it is a new one"]
    }
    assert missing(service) == [f"chip {n} (SIM000{n}) is missing" for n in (4, 5, 6, 7)]
    assert order(service.socket, "forget", chip=7) == {
        "chip": 7, "piece": "chip 7 (SIM0007)", "slots": [], "did": ["chip 7 (SIM0007): forgotten"],
    }  # fmt: skip
    assert noted(service, "ordered that chip 7 (SIM0007) is gone for good")
    assert missing(service) == [f"chip {n} (SIM000{n}) is missing" for n in (4, 5, 6)]
    told = service.cmgr("forget", "--chip", "3")
    assert (told.code, told.err) == (
        1, "cmgr: cannot forget chip 3: it is there\nhint: cmgr isolate 3 takes it out of use\n",
    )  # fmt: skip


def test_a_ring_that_is_used_is_reset_only_with_stop(service: Service) -> None:
    refused = service.cmgr("reset", "1")
    assert refused.code == 1
    assert refused.err == (
        "cmgr: cannot reset chip 1: one runs on chips 0-3, which are reset together\n"
        "hint: cmgr reset 1 --stop stops them, and starts them again afterwards\n"
    )
    told = service.cmgr("reset", "1", "--stop", "--yes")
    assert told.out == (
        "chip 1: the reset of ring 0 (chips 0-3) is ordered\n"
        "stopped for it, and started again afterwards: one\ncmgr status shows how it goes\n"
    )
    service.until_over()
    assert [r.outcome for r in service.resets()] == ["taken"]
    assert (service.episodes()[-1].outcome, ME in service.episodes()[-1].cause) == ("recovered", True)
    assert service.cmgr("reset", "4").code == 0
    eventually(lambda: len(service.resets()) == 2)


def test_kill_9_while_a_reset_is_ordered_loses_neither_the_order_nor_the_container(service: Service) -> None:
    order(service.socket, "reset", chip=1, stop=True)
    service.kill9()
    service.start()
    service.until_over()
    assert [r.outcome for r in service.resets()] == ["taken"]
    assert service.container("one") is not None


def test_a_budget_that_is_used_up_is_used_up_for_a_person_too(service: Service) -> None:
    service.configure({"reset.attempts": 1})
    assert order(service.socket, "reload") == {
        "changed": ["reset.attempts"], "after_restart": [], "did": ["in force now: reset.attempts"],
    }  # fmt: skip
    assert service.cmgr("reset", "4").code == 0
    eventually(lambda: service.resets() and service.ring(4)["phase"] == "healthy")
    told = service.cmgr("reset", "4")
    assert told.code == 1
    assert "1 reset of its ring within 6 h is used up" in told.err


def test_in_maintenance_nothing_is_done_and_afterwards_everything(service: Service) -> None:
    assert service.cmgr("maintenance", "on", "--for", "2h").out.startswith("maintenance until ")
    own = service.status()["service"]
    assert (own["maintenance"], own["maintenance_by"].startswith(ME)) == (True, True)
    assert own["maintenance_until"] > service.status()["at"]
    service.inject(0, NOW)
    service.until_reason("maintenance until", "it would recover chips 0-3")
    refused = service.cmgr("reset", "4")
    assert (refused.code, "hint: cmgr maintenance off" in refused.err) == (1, True)
    service.kill9()
    service.start()
    assert service.status()["service"]["maintenance"] is True
    assert service.resets() == ()
    assert service.cmgr("maintenance", "off").code == 0
    service.until_over()
    assert len(service.resets()) == 1
    assert noted(service, "maintenance is begun by")
    assert service.cmgr("maintenance", "off").err.startswith("cmgr: cannot end maintenance: there is none")


def test_maintenance_without_a_stated_length_lasts_four_hours(service: Service) -> None:
    told = order(service.socket, "maintenance", on=True)
    own = service.status()["service"]
    assert told["until"] == own["maintenance_until"]
    left = datetime.fromisoformat(own["maintenance_until"]) - datetime.fromisoformat(service.status()["at"])
    assert timedelta(hours=3) < left <= timedelta(hours=4)


def test_maintenance_ends_by_itself(service: Service) -> None:
    service.cmgr("maintenance", "on", "--for", "200ms")
    eventually(lambda: not service.status()["service"]["maintenance"])
    service.inject(0, NOW)
    eventually(lambda: service.resets())


def test_a_forgotten_container_stays_down(service: Service) -> None:
    service.configure({"levels.RestartRequest.reset_after": "600s"})
    order(service.socket, "reload")
    service.inject(0, LATER)
    eventually(lambda: (service.container("one") or {}).get("status") == "paused")
    told = service.cmgr("forget", "one")
    assert told.out == "one: forgotten; it is down, and stays so until somebody starts it\n"
    assert service.container("one") is None
    assert noted(service, "ordered that it is forgotten")
    assert service.cmgr("forget", "one").code == 1


def test_a_container_that_is_not_held_is_told_from_one_that_is_not_known(service: Service) -> None:
    for word in ("resume", "forget"):
        told = service.cmgr(word, "one")
        assert (told.code, told.out) == (1, "")
        assert told.err == (
            f"cmgr: cannot {word} 'one': it runs, and cmgr does not hold it\n"
            "hint: cmgr holds only what it has stopped, or what died of a fault\n"
        )
        assert service.cmgr(word, "nobody").err.startswith(f"cmgr: cannot {word} 'nobody': there is no such container")
    service.configure({"levels.RestartRequest.reset_after": "600s"})
    order(service.socket, "reload")
    service.inject(0, LATER)
    eventually(lambda: (service.container("one") or {}).get("status") == "paused")
    assert service.cmgr("forget", "one").code == 0
    told = service.cmgr("resume", "one")
    assert (told.code, told.err.split("\n")[0]) == (
        1,
        "cmgr: cannot resume 'one': it is down, and cmgr does not hold it",
    )


def test_a_reload_tells_what_is_in_force_what_is_not_yet_and_every_mistake(service: Service) -> None:
    service.configure({"strategy": "singleRecover", "log.level": "warning"})
    told = service.cmgr("reload")
    assert told.out == "in force now: strategy\nin force only after systemctl restart cmgr: log.level\n"
    assert service.status()["service"]["strategy"] == "singleRecover"
    assert noted(service, "had the configuration read again")
    service.configure({"strategy": "always", "nonsense": 1})
    told = service.cmgr("reload")
    assert told.code == 1
    assert "cannot use the configuration: 2 mistakes" in told.err
    assert "nonsense" in told.err
    assert service.status()["service"]["strategy"] == "singleRecover"


NONSENSE: tuple[tuple[str, dict[str, object]], ...] = (
    ("isolate", {"chip": 5}),
    ("isolate", {"chip": 5, "reason": " "}),
    ("isolate", {"chip": 5, "reason": "two\nlines"}),
    ("isolate", {"chip": 5, "reason": "x" * 201}),
    ("isolate", {"chip": 99, "reason": "x"}),
    ("reset", {"chip": "5"}),
    ("reset", {"chip": 5, "stop": "yes"}),
    ("forget", {"container": "nobody"}),
    ("resume", {"all": True}),
    ("resume", {"all": "yes"}),
    ("maintenance", {"on": 1}),
    ("maintenance", {"on": True, "seconds": "long"}),
    ("maintenance", {"on": True, "seconds": -1}),
    ("maintenance", {"on": True, "seconds": 1e12}),
)


def test_a_chip_that_is_not_there_is_told_with_those_that_are(service: Service) -> None:
    told = service.cmgr("release", "99")
    assert (told.code, told.err) == (1, "cmgr: cannot release: there is no chip 99\nhint: this machine has chips 0-7\n")


def test_what_makes_no_sense_is_refused_and_changes_nothing(service: Service) -> None:
    for do, args in NONSENSE:
        with pytest.raises(CmgrError, match=r"^cannot "):
            order(service.socket, do, **args)
    assert service.notes() == []


PREVIEWS: tuple[tuple[str, dict[str, object], tuple[str, ...]], ...] = (
    ("isolate", {"chip": 0, "reason": "x"}, ("nothing is started on chip 0", "one: left running")),
    ("reset", {"chip": 0, "stop": True}, ("stops one", "resets chips 0-3 together", "starts one again", "reset 1 of")),
    ("maintenance", {"on": True, "seconds": 7200}, ("none is acted on", "after 2 h")),
    ("release", {"chip": 5}, ("chip 5 is used again",)),
)


@pytest.mark.parametrize(("do", "args", "says"), PREVIEWS, ids=lambda value: value if isinstance(value, str) else "")
def test_a_preview_says_what_would_happen_and_nothing_does(
    service: Service, do: str, args: dict[str, object], says: tuple[str, ...]
) -> None:
    order(service.socket, "isolate", chip=5, reason="its fan is loud")
    before = service.notes()
    told = order(service.socket, do, **args, preview=True)["does"]
    assert isinstance(told, list)
    for text in says:
        assert any(text in line for line in told), told
    assert [n for n in service.notes() if n not in before] == []
    assert not service.status()["service"]["maintenance"]
    assert chip(service, 5)["isolated"]
    assert not chip(service, 0)["isolated"]


def test_a_preview_refuses_what_the_order_would(service: Service) -> None:
    for do, args in (
        ("reset", {"chip": 0}),
        ("release", {"chip": 3}),
        ("forget", {"container": "one"}),
        ("cancel", {"chip": 0}),
        ("cancel", {"reboot": True}),
    ):
        refusals = []
        for more in ({}, {"preview": True}):
            with pytest.raises(CmgrError) as refused:
                order(service.socket, do, **args, **more)
            refusals.append((refused.value.message, refused.value.hint))
        assert refusals[0] == refusals[1]


def test_the_command_line_asks_beforehand(service: Service) -> None:
    told = service.cmgr("reset", "1", "--stop", "--dry-run")
    assert told.code == 0
    assert told.out.startswith("stops one\nresets chips 0-3 together")
    assert told.out.endswith("nothing was done: --dry-run\n")
    assert service.resets() == ()


def machine_troubles(service: Service) -> list[str]:
    return [trouble["id"] for trouble in service.status()["troubles"] if trouble["kind"] == "machine"]


def test_faults_of_the_machine_are_pretended_keep_new_work_away_and_stop_nothing(service: Service) -> None:
    assert service.cmgr("inject", "machine", "raid-failed", "--part", "md0").code == 0
    eventually(lambda: machine_troubles(service) == ["machine-raid-failed"])
    assert service.cmgr("chips", "--available").code == 1
    assert service.resets() == ()
    assert service.cmgr("inject", "machine", "raid-failed", "--part", "md0", "--clear").code == 0
    eventually(lambda: machine_troubles(service) == [])
    assert service.cmgr("inject", "machine", "memory-uncorrected", "--part", "DIMM3", "--once").code == 0
    eventually(lambda: machine_troubles(service) == ["machine-memory-uncorrected"])
    assert service.cmgr("acknowledge", "machine-memory-uncorrected").code == 0
    eventually(lambda: machine_troubles(service) == [])
    assert "no table has it" in service.cmgr("inject", "machine", "raid-faild").err
    for words in (("machine", NOW), ("0", "raid-failed")):
        assert "it is no fault of" in service.cmgr("inject", *words).err
