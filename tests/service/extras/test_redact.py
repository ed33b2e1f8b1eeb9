"""The secrets in a document, and what is left of them."""

import pytest

from cmgr.service.extras.redact import GONE, redacted, redacted_text


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


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"password=hunter2 user=me\n", b"password=(redacted) user=me\n"),
        (b'{"api_key": "hunter2", "port": 1}', b'{"api_key": (redacted) "port": 1}'),
        (b"Authorization: Bearer hunter2\r\n", b"Authorization: (redacted)\r\n"),
        (b"max_tokens=4096 tokenizer=qwen", b"max_tokens=4096 tokenizer=qwen"),
        (b"no secret here\xff\0: x", b"no secret here\xff\0: x"),
        (b"db.passphrase : hunter2\nnext: line\n", b"db.passphrase : (redacted)\nnext: line\n"),
        (b"", b""),
    ],
)
def test_of_any_text_what_stands_behind_a_secret_name_is_taken_out(line: bytes, told: bytes) -> None:
    assert redacted_text(line) == told
