"""Rank tables: their form, and the addresses that the driver is asked for."""

import re

import pytest

from cmgr.drivers.dcmi.ranktable import table
from cmgr.errors import DriverError
from cmgr.model.values.chips import ChipId
from cmgr.model.values.ranks import Device, Server
from tests.drivers.dcmi.driver import open_dcmi
from tests.fakes.dcmi.fixtures import Make, ascend, workshop
from tests.fakes.dcmi.hosts import host_910b, host_950, host_a3
from tests.fakes.dcmi.standin import FakeChip, Purpose

__all__ = ["ascend", "workshop"]


def test_ranks_go_on_from_one_server_to_the_next() -> None:
    servers = (Server("a", (Device(3, "10.0.0.3"), Device(1, "10.0.0.1"))), Server("b", (Device(0, "10.0.1.0"),)))
    assert table(servers) == {
        "status": "completed",
        "server_list": [
            {
                "device": [
                    {"device_id": "3", "device_ip": "10.0.0.3", "rank_id": "0"},
                    {"device_id": "1", "device_ip": "10.0.0.1", "rank_id": "1"},
                ],
                "server_id": "a",
            },
            {"device": [{"device_id": "0", "device_ip": "10.0.1.0", "rank_id": "2"}], "server_id": "b"},
        ],
        "server_count": "2",
        "version": "1.0",
    }


def test_a_superpod_calls_each_chip_once_more() -> None:
    told = table([Server("a", (Device(0, "10.0.0.1", 7, 65536),))])
    (server,) = told["server_list"]
    assert told["version"] == "1.2"
    assert server["device"] == [{"device_id": "0", "device_ip": "10.0.0.1", "super_device_id": "65536", "rank_id": "0"}]
    assert told["super_pod_list"] == [{"super_pod_id": "7", "server_list": [{"server_id": "a"}]}]


@pytest.mark.parametrize(("kind", "address"), [(4, "10.0.7.5"), (6, "fd00::5")])
def test_the_driver_is_asked_for_the_address_of_each_chip(ascend: Make, kind: int, address: str) -> None:
    machine = ascend(host_910b())
    machine.set("addresses", kind)
    driver = open_dcmi(machine)
    try:
        told = driver.devices([ChipId(5), ChipId(2)])
    finally:
        driver.close()
    assert list(told) == [5, 2]
    assert told[ChipId(5)] == Device(5, address)


def test_chips_of_a_superpod_say_their_place_in_it(ascend: Make) -> None:
    driver = open_dcmi(ascend(host_a3()))
    try:
        (told,) = driver.devices([ChipId(1)]).values()
        found = driver.chips()
    finally:
        driver.close()
    assert isinstance(told, Device)
    assert (told.pod, told.in_pod) == (7, 1 << 16)
    assert {(chip.pod, chip.server) for chip in found} == {(7, 3)}


def test_a_chip_that_is_in_no_superpod_has_no_number_there(ascend: Make) -> None:
    machine = ascend(host_a3())
    machine.set("in_no_pod", 1)
    driver = open_dcmi(machine)
    try:
        (device,) = driver.devices([ChipId(1)]).values()
    finally:
        driver.close()
    assert isinstance(device, Device)
    told = table([Server("a", (device,))])
    assert told["version"] == "1.0"
    assert "super_pod_list" not in told
    assert "super_device_id" not in told["server_list"][0]["device"][0]


@pytest.mark.parametrize(("in_no_pod", "pod"), [(0, 7), (1, 0xFFFFFFFF)])
def test_a_950_says_its_superpod_for_the_documents(ascend: Make, in_no_pod: int, pod: int) -> None:
    machine = ascend(host_950(), "two")
    machine.set("in_no_pod", in_no_pod)
    driver = open_dcmi(machine)
    try:
        assert {(chip.pod, chip.server) for chip in driver.chips()} == {(pod, 3)}
    finally:
        driver.close()


def test_other_chips_are_not_asked_for_a_superpod(ascend: Make) -> None:
    driver = open_dcmi(ascend(host_910b()))
    try:
        assert {(chip.pod, chip.server) for chip in driver.chips()} == {(None, None)}
    finally:
        driver.close()


@pytest.mark.parametrize(
    ("chips", "family", "answer", "why"),
    [
        (host_910b(), "one", 0, "chip 2 has no address"),
        (host_910b(), "one", -8012, "chip 2 does not say where it is: .*not ready"),
        (host_910b(), "one", -8255, "chip 2 does not say where it is: .*not supported"),
        (host_950(), "two", 0, "chip 2 does not say where it is: .*no such function"),
    ],
)
def test_of_a_chip_that_does_not_say_its_address_it_is_told_why(
    ascend: Make, chips: tuple[FakeChip, ...], family: str, answer: int, why: str
) -> None:
    machine = ascend(chips, family)
    machine.set("addresses", 0)
    machine.answer(2, Purpose.ADDRESS, answer)
    driver = open_dcmi(machine)
    try:
        mute, strange = driver.devices([ChipId(2), ChipId(99)]).values()
    finally:
        driver.close()
    assert isinstance(mute, DriverError)
    assert re.match(why, mute.message)
    assert isinstance(strange, DriverError)
    assert strange.message == "chip 99 does not answer"
