"""How containers ask for the chips is learned from the program's own words."""

from collections.abc import Iterator

import pytest

from cmgr.config.settings import Config
from cmgr.drivers.tool.giving import GIVING
from cmgr.model.values.chips import ALL_CHIPS, UNCLEAR, Chip, resolve
from cmgr.runtimes import claims
from cmgr.runtimes.containerd.placing import why_tied
from cmgr.vendor import learn, notations
from tests.drivers.tool.driver import open_tool
from tests.fakes.tool.standin import Speaker

DESCRIBED = """
{"version":1,"name":"x","variables":["X_CHIPS","Y_CHIPS"],"cdi":"maker.com/chip"}
{"chip":0,"number":5,"serial":"SN-a","names":["uuid-0"],"devices":[{"path":"/dev/x/0","major":240,"minor":128}]}
{"chip":1,"number":4,"bus":"0000:3b:00.0","devices":[{"path":"/dev/x/1","major":240,"minor":129}],
"""


@pytest.fixture(autouse=True)
def chips() -> Iterator[dict[int, Chip]]:
    speaker = Speaker()
    speaker.put("say.describe", DESCRIBED.strip() + '"shares":[{"id":"part-7","names":["p7"]}]}\n')
    found = open_tool(speaker).chips()
    learn(Config(driver="tool", state_dir=str(speaker.folder)))
    yield {chip.id: chip for chip in found}
    learn(Config(driver="sim"))


def meant(chips: dict[int, Chip], said: claims.Claims) -> tuple[set[int], bool]:
    """Return the chips, and whether something is unclear."""
    found, warnings = resolve(said.chips, chips, {})  # type: ignore[arg-type]
    assert warnings == ()
    return set(found), UNCLEAR in said.chips


@pytest.mark.parametrize("variable", ["X_CHIPS", "Y_CHIPS"])
@pytest.mark.parametrize(
    ("listed", "found"),
    [("5", {0}), ("4,5", {0, 1}), ("4-5", {0, 1}), ("all", {0, 1}), ("none", set()), ("", set()), ("uuid-0", {0}),
     ("SN-a", {0}), ("0000:3b:00.0", {1}), ("part-7", {1}), ("p7", {1})],
)  # fmt: skip
def test_a_variable_lists_chips(chips: dict[int, Chip], variable: str, listed: str, found: set[int]) -> None:
    assert meant(chips, claims.from_environment([f"{variable}={listed}"])) == (found, False)


def test_what_a_variable_has_and_nobody_knows_is_unclear() -> None:
    said = claims.from_environment(["X_CHIPS=uuid-9"])
    assert said.chips == {UNCLEAR}
    assert said.warnings == ("cannot read 'uuid-9' in X_CHIPS",)


def test_device_files_are_chips_and_a_directory_of_them_is_all_of_them(chips: dict[int, Chip]) -> None:
    assert meant(chips, claims.from_devices(["/dev/x/1", "/dev/null"])) == ({1}, False)
    assert meant(chips, claims.from_devices(["/dev/x"])) == ({0, 1}, False)
    assert meant(chips, claims.from_devices(["/dev/xx"])) == (set(), False)


def test_device_numbers_are_chips_and_others_of_the_same_driver_are_none(chips: dict[int, Chip]) -> None:
    assert meant(chips, claims.from_numbers([(240, 128), (240, 0), (1, 3)], {})) == ({0}, False)
    assert meant(chips, claims.from_numbers([(240, -1)], {})) == (set(), True)


def test_cdi_names_are_chips(chips: dict[int, Chip]) -> None:
    names = ["maker.com/chip=4", "maker.com/chip=uuid-0", "other.com/chip=7"]
    assert meant(chips, claims.from_cdi(names, "the devices")) == ({0, 1}, False)
    assert claims.from_cdi(["maker.com/chip=all"], "the devices").chips == {ALL_CHIPS}
    assert meant(chips, claims.from_cdi([f"{GIVING.kind}=4"], "the devices")) == ({1}, False), "as cmgr gives it"


def test_another_driver_has_learned_nothing() -> None:
    learn(Config(driver="sim"))
    assert claims.from_environment(["X_CHIPS=5"]).chips == set()
    assert all(notation.variable != "X_CHIPS" for notation in notations())


def test_a_container_that_names_its_chips_so_is_not_given_others(chips: dict[int, Chip]) -> None:
    asked = claims.from_devices(["/dev/x/1"]).chips
    assert why_tied({}, asked, {}) == "asks for chips in words that only their program knows"


def test_a_slot_gives_the_device_files(chips: dict[int, Chip]) -> None:
    assert [node["path"] for node in GIVING.devices([*chips.values()])["deviceNodes"]] == ["/dev/x/0", "/dev/x/1"]
