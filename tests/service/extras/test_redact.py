"""The secrets in a document, and what is left of them."""

import pytest

from cmgr.service.extras.redact import GONE, redacted


@pytest.mark.parametrize("key", ["Env", "env", "environment"])
def test_values_of_an_environment_go_and_names_stay(key: str) -> None:
    told = redacted({"Config": {key: ["PATH=/bin", "EMPTY=", "ODD", "ASCEND_VISIBLE_DEVICES=0-3", 7]}})
    assert told == {"Config": {key: [f"PATH={GONE}", "EMPTY=", "ODD", "ASCEND_VISIBLE_DEVICES=0-3", GONE]}}


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (["--token=abc", "--port=80"], [f"--token={GONE}", "--port=80"]),
        (["--password", "abc", "--verbose"], ["--password", GONE, "--verbose"]),
        (["-v", "--secret", "--other"], ["-v", "--secret", "--other"]),
        (["DB_PASSWD=abc", "python3", "serve.py"], [f"DB_PASSWD={GONE}", "python3", "serve.py"]),
        (["--tokenizer", "x", "--max-tokens=512"], ["--tokenizer", "x", "--max-tokens=512"]),
        (["--hf-token", "abc", "--access_key=abc"], ["--hf-token", GONE, f"--access_key={GONE}"]),
    ],
)
def test_arguments_that_call_themselves_secret_go(words: list[str], left: list[str]) -> None:
    assert redacted({"Cmd": words, "process": {"args": words}}) == {"Cmd": left, "process": {"args": left}}


def test_what_stands_behind_a_secret_name_goes_wherever_it_is() -> None:
    told = redacted({"Labels": {"registry-password": "abc", "com.example.team": "x"}, "list": [{"api_key": "abc"}]})
    assert told == {"Labels": {"registry-password": GONE, "com.example.team": "x"}, "list": [{"api_key": GONE}]}


def test_everything_else_stays_as_it_is() -> None:
    document: dict[str, object] = {
        "Id": "c0ffee",
        "State": {"Pid": 7, "Running": True},
        "Mounts": [],
        "Cmd": None,
        "Env": None,
    }
    assert redacted(document) == document
