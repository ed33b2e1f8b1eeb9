"""Fault tables and codes."""

import pytest

from cmgr.model.values.faults import FaultClass, FaultCode, Handling, Level, Severity
from cmgr.model.values.handling.catalog import BY_SEVERITY, Catalog, Entry, merged, normal_code, table

CHIP, NETWORK = FaultClass.CHIP, FaultClass.NETWORK
A, B = FaultCode("0000000A"), FaultCode("0000000B")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("80E24E00", "80E24E00"), ("0x80e24e00", "80E24E00"), ("0X1", "00000001"), (" a ", "0000000A"),
        ("79", "Xid 79"), ("xid 79", "Xid 79"), ("XID79", "Xid 79"), ("Xid_079", "Xid 79"), ("xid-0", None),
        ("20034", "SXid 20034"), ("sxid 20034", "SXid 20034"), ("00000079", "00000079"), ("0x79", "00000079"),
        ("Xid", None), ("Xid 79 80", None), ("Xid \u0661", None), ("Yid 79", None),
        ("", None), ("0", None), ("0x", None), ("80E24E000", None), ("80E2_4E00", None), ("\u0661", None),
        ("-1", None), ("80E24E00\n80E24E00", None),
    ],
)  # fmt: skip
def test_a_code_has_one_spelling(text: str, code: str | None) -> None:
    assert normal_code(text) == code


def test_a_code_listed_under_two_levels_has_the_higher() -> None:
    levels = {(CHIP, Handling.RestartNPU): (A,), (CHIP, Handling.NotHandleFault): (A, B)}
    assert table(levels, "x") == {A: Entry(Handling.RestartNPU, "x"), B: Entry(Handling.NotHandleFault, "x")}


def test_an_operators_table_is_laid_over_the_built_in_one_or_takes_its_place() -> None:
    builtin = table({(CHIP, Handling.RestartNPU): (A, B)}, "built in")
    own = table({(CHIP, Handling.NotHandleFault): (A,)}, "own")
    assert merged(builtin, own, replace=False) == {A: own[A], B: builtin[B]}
    assert merged(builtin, own, replace=True) == own


def test_what_a_code_concerns_is_not_changed_by_an_operators_table() -> None:
    builtin = table({(NETWORK, Handling.NotHandleFault): (A,)}, "built in")
    own = table({(CHIP, Handling.SeparateNPU): (A,), (NETWORK, Handling.SeparateNPU): (B,)}, "own")
    for replaces in (True, False):
        catalog = Catalog(merged(builtin, own, replace=replaces))
        assert (catalog.class_of(A), catalog.class_of(B)) == (NETWORK, NETWORK)


@pytest.mark.parametrize("asked", Handling)
def test_a_network_fault_isolates_and_resets_nothing_whatever_a_table_asks_for(asked: Handling) -> None:
    verdict = Catalog({A: Entry(asked, "own", fault_class=NETWORK)}).judge(A, Severity.critical)
    grave = asked not in (Handling.NotHandleFault, Handling.SubHealthFault)
    assert verdict.level is Level.NotHandleFault
    assert verdict.handling is (Handling.PreSeparateNPU if grave else asked)


def test_a_known_code_has_the_level_of_its_table_however_grave_the_driver_calls_it() -> None:
    catalog = Catalog({A: Entry(Handling.RestartRequest, "own", "a bit flipped")})
    verdict = catalog.judge(A, Severity.critical)
    assert (verdict.level, verdict.origin, verdict.known, verdict.meaning) == (
        Level.RestartRequest, "own", True, "a bit flipped",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("severity", "level", "origin"),
    [
        (None, Level.SeparateNPU, "in no table; the driver gave no severity"),
        (Severity.suggestion, Level.NotHandleFault, "in no table; the driver gave severity suggestion"),
        (Severity.minor, Level.NotHandleFault, "in no table; the driver gave severity minor"),
        (Severity.major, Level.SeparateNPU, "in no table; the driver gave severity major"),
        (Severity.critical, Level.SeparateNPU, "in no table; the driver gave severity critical"),
    ],
)
def test_an_unknown_code_is_judged_by_its_severity(severity: Severity | None, level: Level, origin: str) -> None:
    verdict = Catalog(unknown=BY_SEVERITY).judge(A, severity)
    assert (verdict.level, verdict.origin, verdict.known) == (level, origin, False)


def test_an_unknown_code_can_have_one_level_whatever_its_severity() -> None:
    verdict = Catalog(unknown=Level.RestartBusiness).judge(A, Severity.critical)
    assert (verdict.level, verdict.known) == (Level.RestartBusiness, False)


def test_levels_and_what_is_handled() -> None:
    assert [level.name for level in Level if level.handled] == [
        "RestartRequest", "RestartBusiness", "FreeRestartNPU", "RestartNPU",
    ]  # fmt: skip
    assert max(Level) is Level.SeparateNPU
