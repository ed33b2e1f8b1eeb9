"""Which GPUs there are, as the driver lists them."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from cmgr.drivers.nvml.driver import NvmlDriver
from cmgr.drivers.nvml.library import abi
from cmgr.drivers.nvml.machine import fabric_is_managed
from cmgr.drivers.nvml.numbers import Numbers
from cmgr.errors import DriverMissing
from cmgr.model.values.chips import ChipId, resolve, rings_of
from cmgr.model.values.messages.facts import ChipsListed, Remarked
from tests.drivers.contract import Told
from tests.fakes.nvml import hosts
from tests.fakes.nvml.fixtures import Make
from tests.fakes.nvml.standin import Purpose
from tests.support.waiting import eventually

Open = Callable[..., NvmlDriver]


def test_a_gpu_is_known_by_its_number_its_uuid_and_its_bus_id(nvidia: Make, opened: Open) -> None:
    machine = nvidia(hosts.host_h100(2))
    chips = opened(machine).chips()
    assert [(c.id, c.serial, c.bus, c.model) for c in chips] == [
        (n, gpu.uuid, gpu.address, "NVIDIA H100 80GB HBM3") for n, gpu in enumerate(machine.gpus)
    ]


def test_gpus_of_an_hgx_a100_are_one_ring_only_without_a_fabric_manager(nvidia: Make, opened: Open) -> None:
    alone, together = opened(nvidia(hosts.host_a100(4)), managed=True), opened(nvidia(hosts.host_a100(4)))
    assert [len(ring) for ring in rings_of(alone.chips()).values()] == [1, 1, 1, 1]
    assert [len(ring) for ring in rings_of(together.chips()).values()] == [4]
    assert alone.trouble() == ()
    assert together.trouble() == ("the Fabric Manager does not run: all GPUs at its switches are reset together",)


def test_the_fabric_manager_is_known_by_the_name_of_its_process(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "comm").write_text("nv-hostengine\n")
    (tmp_path / "8").mkdir()
    assert not fabric_is_managed(tmp_path)
    (tmp_path / "8" / "comm").write_text("nv-fabricmanage\n")
    assert fabric_is_managed(tmp_path)


def test_a_gpu_that_cannot_be_opened_is_left_out_with_the_reason(nvidia: Make, opened: Open) -> None:
    machine = nvidia(hosts.host_l40(2))
    machine.answer(0, Purpose.HANDLE, abi.INSUFFICIENT_POWER)
    driver = opened(machine)
    assert [chip.id for chip in driver.chips()] == [1]
    assert driver.trouble() == (
        "GPU 0 is left out: cannot open GPU 0: NVML says 8 (the GPU's power cable is not connected)",
    )


def test_a_gpu_is_also_known_by_its_device_file_whose_number_may_be_another(nvidia: Make, opened: Open) -> None:
    driver = opened(nvidia(hosts.host_v100(2)))
    assert [chip.aliases for chip in driver.chips()] == [{"/dev/nvidia1"}, {"/dev/nvidia0"}]
    assert driver.trouble() == ()


def test_a_gpu_that_has_another_minor_number_after_its_reset_is_known_by_that_one_when_it_is_up(
    nvidia: Make, opened: Open
) -> None:
    machine = nvidia(hosts.host_h100(2))
    driver, told = opened(machine, managed=True), Told()
    driver.watch(told)
    driver.reset([ChipId(1)], [ChipId(1)], frozenset())
    machine.set("minor", 5, gpu=1)
    assert driver.read([ChipId(1)])[0].booted
    chip = driver.chips()[1]
    assert (chip.logical, set(chip.aliases), chip.serial) == (5, {"/dev/nvidia5"}, machine.gpus[1].uuid)
    (listed,) = (fact for fact in told.facts if isinstance(fact, ChipsListed))
    assert listed.chips == driver.chips()
    (said,) = (fact.text for fact in told.facts if isinstance(fact, Remarked))
    moved = "the device file of chip 1 is /dev/nvidia5 now, and was /dev/nvidia1"
    assert said == f"{moved}: whoever has /dev/nvidia1 has another GPU"


def test_so_is_one_that_somebody_else_has_reset_with_the_next_look(nvidia: Make, opened: Open) -> None:
    machine = nvidia(hosts.host_h100(2))
    driver, told = opened(machine, relist=timedelta(milliseconds=50)), Told()
    driver.watch(told)
    machine.set("minor", 5, gpu=0)
    eventually(lambda: driver.chips()[0].logical == 5)
    eventually(lambda: any(isinstance(fact, Remarked) for fact in told.facts))


def test_the_device_file_of_a_gpu_that_is_gone_is_the_one_of_whoever_has_its_number(nvidia: Make, opened: Open) -> None:
    machine = nvidia(hosts.host_h100(3))
    driver = opened(machine, relist=timedelta(milliseconds=50))
    driver.watch(Told())
    machine.set("listed", 0, gpu=1)
    machine.set("minor", 1, gpu=2)
    eventually(lambda: resolve(["/dev/nvidia1"], {chip.id: chip for chip in driver.chips()}, {})[0] == {2})


@pytest.mark.parametrize(("removed", "lost"), [(0, 2), (2, 0), (1, 3)])
def test_of_two_gpus_the_one_that_is_lost_goes_on_and_the_one_that_was_removed_does_not(
    nvidia: Make, opened: Open, removed: int, lost: int
) -> None:
    machine = nvidia(hosts.host_h100(4))
    driver = opened(machine, relist=timedelta(milliseconds=50))
    driver.watch(Told())
    machine.answer(lost, Purpose.HANDLE, abi.GPU_IS_LOST)
    machine.set("lost", 1, gpu=lost)
    machine.set("listed", 0, gpu=removed)
    eventually(lambda: driver.trouble() == (f"the driver lists chip {removed} no more",))
    there = {chip.id for chip in driver.chips() if chip.aliases}
    assert there == {0, 1, 2, 3} - {removed}
    machine.set("listed", 1, gpu=removed)
    eventually(lambda: driver.trouble() == ())
    assert [chip.serial for chip in driver.chips()] == [gpu.uuid for gpu in machine.gpus]


def test_a_life_that_begins_while_a_gpu_is_off_the_list_numbers_the_others_as_before(
    nvidia: Make, opened: Open
) -> None:
    machine = nvidia(hosts.host_h100(3))
    opened(machine).close()
    machine.set("listed", 0, gpu=1)
    driver = opened(machine, relist=timedelta(milliseconds=50))
    assert [(chip.id, chip.serial) for chip in driver.chips()] == [(n, machine.gpus[n].uuid) for n in (0, 2)]
    driver.watch(Told())
    machine.set("listed", 1, gpu=1)
    eventually(lambda: [chip.serial for chip in driver.chips()] == [gpu.uuid for gpu in machine.gpus])


def test_numbers_are_remembered_until_the_machine_restarts_and_no_two_gpus_have_one(tmp_path: Path) -> None:
    file = tmp_path / "numbers"
    first = Numbers(file, "one")
    assert [first.of(uuid, index, ()) for index, uuid in enumerate("abc")] == [0, 1, 2]
    first.keep((uuid, ChipId(index)) for index, uuid in enumerate("abc"))
    again = Numbers(file, "one")
    assert [again.of("c", 1, {ChipId(0)}), again.of("b", 2, {ChipId(0), ChipId(2)})] == [2, 1]
    assert [again.of("new", 0, ()), again.of("new", 5, ()), again.of("c", 0, {ChipId(2)})] == [3, 5, 3]
    assert Numbers(file, "two").of("c", 0, ()) == 0
    file.write_text("{")
    assert Numbers(file, "one").of("c", 0, ()) == 0


def test_another_gpu_at_a_bus_id_is_another_chip(nvidia: Make, opened: Open) -> None:
    machine = nvidia(hosts.host_h100(2))
    driver = opened(machine, relist=timedelta(milliseconds=50))
    driver.watch(Told())
    machine.swap(1, "GPU-00000000-0000-0000-0000-00000000ffff")
    eventually(lambda: [chip.serial[-4:] for chip in driver.chips()] == ["003b", "003c", "ffff"])
    old, new = driver.read([ChipId(1), ChipId(2)])
    assert (old.error, new.error) == ("the driver lists it no more", "")


def test_the_parts_that_mig_makes_are_known_by_their_uuids_as_long_as_they_are_there(
    nvidia: Make, opened: Open
) -> None:
    machine = nvidia(hosts.host_h100(2))
    machine.set("mig", 1, gpu=1)
    machine.set("instances", 2, gpu=1)
    driver, told = opened(machine), Told()
    driver.watch(told)
    parts = [f"MIG-{n}-{machine.gpus[1].uuid[4:]}" for n in range(3)]
    assert resolve(parts, {chip.id: chip for chip in driver.chips()}, {})[0] == {1}
    assert [(s.id, s.template, set(s.aliases)) for s in driver.chips()[1].shares] == [
        (parts[n], "1g.10gb", {parts[n], f"1:{n}"}) for n in range(2)
    ]
    assert driver.chips()[1].shares[0].by_hand == f"nvidia-smi mig -i {machine.gpus[1].address} -cgi 1g.10gb -C"
    assert driver.read([ChipId(1)])[0].shares == driver.chips()[1].shares
    machine.set("instances", 3, gpu=1)
    machine.event(1, abi.MIG_CHANGED)
    eventually(lambda: any(isinstance(f, ChipsListed) and len(f.chips[1].shares) == 3 for f in told.facts))


def test_a_process_on_a_part_is_told_with_it(nvidia: Make, opened: Open) -> None:
    machine = nvidia(hosts.host_h100(2))
    machine.set("mig", 1)
    machine.set("instances", 2)
    machine.process(0, 10, instance=1)
    machine.process(0, 11)
    driver = opened(machine)
    (report,) = driver.read([ChipId(0)])
    uuid = f"MIG-1-{machine.gpus[0].uuid[4:]}"
    assert [(process.pid, process.share) for process in report.processes] == [(10, uuid), (11, "")]


def test_no_gpus_are_no_error_and_a_trouble(nvidia: Make, opened: Open) -> None:
    driver = opened(nvidia(()))
    assert driver.chips() == ()
    assert driver.trouble() == ("the driver lists no GPUs",)


def test_a_library_that_does_not_begin_is_missing_with_its_hint(nvidia: Make, opened: Open) -> None:
    machine = nvidia(hosts.host_l40())
    machine.answer(0, Purpose.INIT, abi.LIB_RM_VERSION_MISMATCH)
    with pytest.raises(DriverMissing) as caught:
        opened(machine)
    assert "restart the machine" in caught.value.hint


def test_what_is_measured_has_its_unit_in_its_name(nvidia: Make, opened: Open) -> None:
    driver = opened(nvidia(hosts.host_h100(1)))
    measured = driver.measure([ChipId(0)])[ChipId(0)]
    assert measured["temperature_celsius"] == 41
    assert measured["memory_celsius"] == 38
    assert measured["power_watts"] == 92
    assert measured["energy_joules"] == 123
    assert measured["fb_megabytes"] == 81920
    assert measured["fb_used_megabytes"] == 2048
    assert (measured["sm_megahertz"], measured["memory_megahertz"]) == (1980, 2619)
    assert measured["gpu_percent"] == 37
    assert "nvlink_replay_errors" not in measured


def test_a_gpu_that_is_silent_is_measured_by_its_names_alone(nvidia: Make, opened: Open) -> None:
    machine = nvidia(hosts.host_h100(1))
    driver = opened(machine)
    for purpose in (Purpose.GAUGE, Purpose.FIELD):
        machine.answer(0, purpose, 999)
    assert driver.measure([ChipId(0)]) == {0: {"type": "NVIDIA H100 80GB HBM3", "uuid": machine.gpus[0].uuid}}
