"""`cmgr check --tool PROGRAM`: a program that speaks for chips, tried; whatever is wrong is told in its own words."""

import json
import subprocess

import pytest

from tests.cli.conftest import Home
from tests.fakes.tool.standin import Speaker


def states(home: Home, speaker: Speaker) -> dict[str, list[tuple[str, str]]]:
    told = home.here("check", "--tool", str(speaker.program), "--json")
    document = json.loads(told.out)
    assert told.code == (0 if document["ok"] else 1)
    found: dict[str, list[tuple[str, str]]] = {}
    for each in document["findings"]:
        found.setdefault(each["what"], []).append((each["state"], each["text"]))
    return found


def test_one_that_is_right_has_no_error(home: Home) -> None:
    speaker = Speaker(beat=5)
    found = states(home, speaker)
    assert found["describe"][0] == ("ok", "4 chips of standin in 2 rings")
    assert found["codes"] == [("ok", "3 codes with text and level")]
    for call in ("read", "processes", "measure"):
        assert found[call] == [("ok", "it answers for 4 chips")]
    assert found["watch"] == [("ok", "it says that it hears")]
    assert found["reset"][0][0] == "ok"
    assert speaker.resets == [], "nothing is reset"


@pytest.mark.parametrize(
    ("name", "said", "what", "told"),
    [
        ("say.describe", '{"version":1,"name":"x"}\n{"chip":0,"serail":"A"}\n', "describe", "has 'serail'"),
        ("say.describe", '{"version":3,"name":"x"}\n{"chip":0}\n', "describe", "it speaks version 3, and this cmgr"),
        ("say.describe", "WARNING: no\n", "describe", "line 1: "),
        ("exit.describe", "4", "describe", "it ended with 4: "),
        (
            "say.describe",
            f'{{"version":1,"name":"x"}}\n{{"chip":0,"serial":"{"A" * 100}","bus":"3B:00.0"}}\n',
            "describe",
            '"bus":"3B:00.0"',
        ),
        ("say.read", '{"chip":0}\n', "read", "no line for chips 1-3"),
        ("say.read", '{"chip":0,"faults":["00000BAD"]}\n', "read", "00000BAD: no such code is described"),
        ("say.read", '{"chip":0,"faults":"none"}\n', "read", "faults: must be a list: '{"),
        ("say.processes", '{"chip":0,"processes":[{"pid":"1"}]}\n', "processes", "pid: must be a whole number"),
        ("say.measure", '{"chip":0,"Temp C":1}\n', "measure", "must be small letters, digits and underscores"),
        ("say.watch", "", "watch", "it has ended, with exit code 0"),
        ("say.watch", "{}\n", "watch", "it has ended, with exit code 0"),
        ("say.watch", "hello\n", "watch", "it says what cannot be understood"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_the_words_that_were_said(
    home: Home, name: str, said: str, what: str, told: str
) -> None:
    speaker = Speaker()
    speaker.put(name, said)
    errors = [text for state, text in states(home, speaker)[what] if state == "error"]
    assert any(told in text for text in errors), errors


def test_a_chip_that_there_is_not_must_not_be_well(home: Home) -> None:
    speaker = Speaker(chips=2)
    speaker.put("say.read", '{"chip":0}\n{"chip":1}\n{"chip":9999}\n')
    assert ("error", "it says that chip 9999 is well, which there is not") in states(home, speaker)["read"]


def test_what_it_lacks_is_a_warning(home: Home) -> None:
    speaker = Speaker(can=[], codes=[], beat=0)
    found = states(home, speaker)
    assert [found[what][0][0] for what in ("reset", "processes", "codes")] == ["warning"] * 3
    assert "it names no beat" in found["watch"][0][1]


def test_a_watch_without_a_beat_that_ends_is_an_error(home: Home) -> None:
    speaker = Speaker(beat=0)
    speaker.put("say.watch", "{}\n")
    ((state, text),) = states(home, speaker)["watch"]
    assert (state, "it has ended, with exit code 0" in text) == ("error", True)


def test_a_program_that_others_can_write_is_not_run_and_the_hint_mends_it(home: Home) -> None:
    speaker = Speaker()
    for path in (speaker.program, speaker.folder):
        path.chmod(0o777)
        (found,) = json.loads(home.here("check", "--tool", str(speaker.program), "--json").out)["findings"]
        assert (found["what"], found["state"]) == ("program", "error")
        subprocess.run(["sh", "-c", found["hint"]], check=True)
    assert "error" not in {state for found in states(home, speaker).values() for state, _ in found}


def test_it_needs_no_configuration_and_shows_rows(home: Home) -> None:
    speaker = Speaker()
    told = home.cmgr("check", "--tool", str(speaker.program))
    assert told.out.splitlines()[0].split() == ["STATE", "WHAT", "FOUND"]
    assert told.code == 0


def test_check_names_the_program_of_the_configuration_and_what_it_cannot_do(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CMGR_DRIVER", "tool")
    speaker = Speaker(can=[])
    home.configure(f'tool.program = "{speaker.program}"')
    (home.folder / "state").mkdir(exist_ok=True)
    found = json.loads(home.here("check", "--json").out)["findings"]
    assert [each["text"] for each in found if each["what"] == "program"] == [f"{speaker.program} (tool.program)"]
    texts = [(each["state"], each["text"]) for each in found if each["what"] == "driver"]
    assert texts[0] == ("ok", f"tool sees 4 chips ({speaker.program}, standin)")
    assert ("warning", f"{speaker.program}: it resets no chips: those with faults that need it are isolated") in texts
    kept = home.folder / "state" / "tool.json"
    before = kept.stat().st_mtime_ns
    home.here("check")
    assert kept.stat().st_mtime_ns == before, "the same again changes nothing"
