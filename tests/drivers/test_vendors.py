"""A driver is one folder: what is true of one vendor only stands there, and nobody else knows the vendor's name."""

import re
from itertools import combinations
from pathlib import Path

import cmgr
from cmgr.config.schema import sections
from cmgr.config.settings import DRIVERS, Config
from cmgr.vendor import notations, vendors

PACKAGE = Path(cmgr.__file__).parent

NAMES = re.compile(r"dcmi|ascend|davinci|huawei|(?<![a-z])v?npu|nvidia|nvml|cuda|(?<![a-z])gpu", re.IGNORECASE)
"""Names of levels, such as RestartNPU, and words such as input are none."""

ELSEWHERE = {
    "cli/check/reloads.py": "an advice is said to be that of the maker who gives it",
    "model/values/handling/policy.py": "the example of a setting is the path of a program that is shipped",
    "config/sim.py": "the pretended chips are called like real ones",
    "drivers/machine/ibmc.py": "its BMC has alarms of its own, whatever chips are in the machine",
    "runtimes/labels.py": "an orchestrator is called so",
    "service/parts/stragglers.py": "gauges are called so, whoever made the chips",
    "view/advice.py": "an orchestrator is called so",
    "runtimes/docker/anew.py": "an option of the docker command is called so",
    "config/tables/rules.py": "operators bring files of this format, whoever made the chips",
}
"""Where else a vendor is named, and why."""


def test_no_vendor_is_named_outside_of_its_driver() -> None:
    own = tuple(f"drivers/{path.parent.name}/" for path in PACKAGE.glob("drivers/*/notation.py"))
    naming = {
        path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if NAMES.search(path.read_text("utf-8"))
    }
    others = {path for path in naming if not path.startswith(own)}
    assert others - ELSEWHERE.keys() == set(), "move it to its driver's folder"
    assert ELSEWHERE.keys() - others == set(), "this exception is not needed any more"


def test_each_driver_that_can_be_chosen_is_a_folder_with_its_tables() -> None:
    assert ("auto", *(vendor.name for vendor in vendors()), "sim") == DRIVERS
    for vendor in vendors():
        if vendor.tables is None:
            continue  # Its program tells that.
        assert (PACKAGE / "drivers" / vendor.name / "notation.py").is_file(), "containers could not ask for its chips"
        assert vendor.tables.parent == PACKAGE / "drivers" / vendor.name
        files = {path.name for path in vendor.tables.iterdir()}
        assert files == {"advice.json", "levels.json", "meanings.json", "rules.json"}


def test_the_table_of_a_drivers_settings_is_declared_by_its_vendor() -> None:
    known = {section.key: section.sentence for section in sections()}
    for vendor in vendors():
        assert known[vendor.name] == vendor.sentence
        assert getattr(Config().drivers, vendor.name) == vendor.settings()
    assert "drivers" not in known, "the driver's name is the name of its table"


def test_no_two_makes_of_chips_are_asked_for_in_one_way() -> None:
    for one, other in combinations(notations(), 2):
        assert not {*one.variables, *one.cdi} & {*other.variables, *other.cdi}
        assert not one.majors & other.majors
        assert not one.requests & other.requests
        assert not one.capabilities & other.capabilities
