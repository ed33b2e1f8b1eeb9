"""`cmgr check --table FILE`: how a maker's fault table differs from the one in use."""

import json

import pytest

from tests.cli.conftest import Home

THEIRS = {
    "NotHandleFaultCodes": ["80E18400", "200001002"],
    "SeparateNPUCodes": ["80E24E00", "0x80ABCDEF"],
    "RestartNPUCodes": ["80abcdef"],
}
"""One as here, one that no driver tells, one of another level, and one in no table, which stands there twice."""


def test_codes_of_another_level_and_unknown_ones_are_shown(home: Home) -> None:
    path = home.folder / "faultCode.json"
    path.write_text(json.dumps(THEIRS))
    told = home.here("check", "--table", str(path))
    assert told.code == 0
    assert told.out.splitlines() == [
        "CODE      HERE         THERE        MEANING",
        "80ABCDEF  in no table  SeparateNPU",
        "80E24E00  RestartNPU   SeparateNPU  power and temperature manager (LPM): no",
        "                                    heartbeat",
        "",
        "80ABCDEF stands under RestartNPU and SeparateNPU: it has the higher level, SeparateNPU",
        "left out, since no driver tells codes of nine digits: 200001002",
        "1 code of another level, 1 in no table here, 1 the same",
    ]
    found = json.loads(home.here("check", "--table", str(path), "--json").out)
    assert [(d["code"], d["here"], d["there"]) for d in found["differences"]] == [
        ("80ABCDEF", "in no table", "SeparateNPU"),
        ("80E24E00", "RestartNPU", "SeparateNPU"),
    ]
    assert (found["same"], found["reported"]) == (1, ["200001002"])


def test_an_operators_own_table_is_what_is_in_use(home: Home) -> None:
    own, theirs = home.folder / "own.json", home.folder / "theirs.json"
    own.write_text('{"SeparateNPUCodes": ["80E24E00"]}')
    own.chmod(0o600)
    theirs.write_text('{"SeparateNPUCodes": ["80e24e00"]}')
    home.configure("[faults]", f'file = "{own}"')
    assert (
        home.here("check", "--table", str(theirs)).out == "0 codes of another level, 0 in no table here, 1 the same\n"
    )


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"SeperateNPUCodes": ["80E24E00"]}', '{"SeparateNPUCodes": ["nonsense!"]}']
)
def test_a_file_that_is_no_table_is_refused_and_every_mistake_named(home: Home, text: str) -> None:
    path = home.folder / "faultCode.json"
    path.write_text(text)
    told = home.here("check", "--table", str(path))
    assert (told.code, told.out) == (1, "")
    assert told.err.startswith("cmgr: cannot ") or "cannot " in told.err
    assert "Traceback" not in told.err


def test_a_file_that_is_not_there_is_said(home: Home) -> None:
    told = home.here("check", "--table", str(home.folder / "none.json"))
    assert told.code == 1
    assert "none.json" in told.err


def test_a_table_that_is_not_there_is_told_in_words(home: Home) -> None:
    path = home.folder / "nothing.json"
    told = home.here("check", "--table", str(path))
    assert (told.code, told.err) == (1, f"cmgr: cannot read {path}: No such file or directory\n")
