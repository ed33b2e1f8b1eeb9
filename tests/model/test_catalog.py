"""Fault tables and codes."""

import pytest

from cmgr.model.values.catalog import BY_SEVERITY, Catalog, Entry, merged, normal_code, table
from cmgr.model.values.faults import FaultCode, Level, Severity

A, B = FaultCode("0000000A"), FaultCode("0000000B")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("80E24E00", "80E24E00"), ("0x80e24e00", "80E24E00"), ("0X1", "00000001"), (" a ", "0000000A"),
        ("", None), ("0", None), ("0x", None), ("80E24E000", None), ("80E2_4E00", None), ("\u0661", None),
        ("-1", None), ("80E24E00\n80E24E00", None),
    ],
)  # fmt: skip
def test_a_code_has_one_spelling(text: str, code: str | None) -> None:
    assert normal_code(text) == code


def test_a_code_listed_under_two_levels_has_the_higher() -> None:
    levels = {Level.RestartNPU: (A,), Level.NotHandleFault: (A, B)}
    assert table(levels, "x") == {A: Entry(Level.RestartNPU, "x"), B: Entry(Level.NotHandleFault, "x")}


def test_an_operators_table_is_laid_over_the_built_in_one_or_takes_its_place() -> None:
    builtin = table({Level.RestartNPU: (A, B)}, "built in")
    own = table({Level.NotHandleFault: (A,)}, "own")
    assert merged(builtin, own, replace=False) == {A: own[A], B: builtin[B]}
    assert merged(builtin, own, replace=True) == own


def test_a_known_code_has_the_level_of_its_table_however_grave_the_driver_calls_it() -> None:
    catalog = Catalog({A: Entry(Level.RestartRequest, "own", "a bit flipped")})
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
