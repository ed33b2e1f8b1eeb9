"""The redactor: which secrets it takes out of texts, commands and documents, and what stays."""

import json

import pytest

from cmgr.errors import CmgrError, ConfigError, chain
from cmgr.redact import GONE, address, addresses, command, data, document, is_secret, plain, text

CHIPS = ("ASCEND_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")


@pytest.mark.parametrize("key", ["Env", "env", "environment"])
def test_values_of_an_environment_go_and_names_stay(key: str) -> None:
    told = document({"Config": {key: ["PATH=/bin", "EMPTY=", "ODD", "ASCEND_VISIBLE_DEVICES=0-3", 7]}}, CHIPS)
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
        (["sh", "-c", "serve --api-key abc --port 80"], ["sh", "-c", f"serve --api-key {GONE} --port 80"]),
        (["sh", "-c", "export X=abc; exec serve"], ["sh", "-c", f"export X={GONE} exec serve"]),
        (["curl", "-u", "me:abc", "http://h"], ["curl", "-u", f"me:{GONE}", "http://h"]),
        (["docker", "run", "-u", "1000:1000"], ["docker", "run", "-u", "1000:1000"]),
        (["serve", "-u", "http://h:80/x", "-a", "[::]:80"], ["serve", "-u", "http://h:80/x", "-a", "[::]:80"]),
        (["sh", "-c", "mysql -u root -pabc shop"], ["sh", "-c", f"mysql -u root -p{GONE} shop"]),
        (["sshpass", "-p", "abc", "ssh", "h"], ["sshpass", "-p", GONE, "ssh", "h"]),
        (["docker", "run", "-p", "80:80"], ["docker", "run", "-p", "80:80"]),
        (["--password-file", "/run/secrets/p"], ["--password-file", "/run/secrets/p"]),
        (["serve", "5f0c5bd2b6f34eb09e6a17a8a3c0d6a1"], ["serve", GONE]),
        (["--model", "/models/Qwen2.5-72B-Instruct-GPTQ-Int4"], ["--model", "/models/Qwen2.5-72B-Instruct-GPTQ-Int4"]),
    ],
)
def test_secrets_of_a_command_go_and_its_other_words_stay(words: list[str], left: list[str]) -> None:
    assert command(words) == left
    assert document({"Cmd": words, "process": {"args": words}}, CHIPS) == {"Cmd": left, "process": {"args": left}}


def test_labels_of_nobody_known_lose_their_values_and_others_what_looks_secret() -> None:
    manifest = json.dumps({"spec": {"env": [{"name": "DB", "value": "abc"}], "image": "llm:1"}})
    labels = {
        "com.example.team": "abc",
        "com.docker.compose.project": "chat",
        "cmgr.before-stop": "drain --token abc",
        "kubectl.kubernetes.io/last-applied-configuration": manifest,
        "maker.example/job.id": "train",
        "empty": "",
    }
    assert document({"Labels": labels}, ("maker.example/job",)) == {
        "Labels": {
            "com.example.team": GONE,
            "com.docker.compose.project": "chat",
            "cmgr.before-stop": f"drain --token {GONE}",
            "kubectl.kubernetes.io/last-applied-configuration": manifest.replace('"abc"', f'"{GONE}"'),
            "maker.example/job.id": "train",
            "empty": "",
        }
    }


def test_of_options_of_logs_and_volumes_only_the_harmless_have_values() -> None:
    told = {
        "LogConfig": {"Type": "splunk", "Config": {"splunk-t": "abc", "max-size": "10m"}},
        "DriverConfig": {"Options": {"type": "cifs", "o": "username=u,password=abc,vers=3.0,rw", "device": "//h/s"}},
        "mounts": [{"destination": "/tmp", "options": ["rbind", "mode=755", "x=abc"]}],  # noqa: S108
        "State": {"Health": {"Log": [{"ExitCode": 1, "Output": "abc"}]}},
    }
    assert document(told, CHIPS) == {
        "LogConfig": {"Type": "splunk", "Config": {"splunk-t": GONE, "max-size": "10m"}},
        "DriverConfig": {
            "Options": {"type": "cifs", "o": f"username={GONE},password={GONE},vers=3.0,rw", "device": "//h/s"}
        },
        "mounts": [{"destination": "/tmp", "options": ["rbind", "mode=755", f"x={GONE}"]}],  # noqa: S108
        "State": {"Health": {"Log": [{"ExitCode": 1, "Output": GONE}]}},
    }


def test_everything_else_of_a_document_stays_as_it_is() -> None:
    told: dict[str, object] = {
        "Id": "5f0c5bd2b6f34eb09e6a17a8a3c0d6a15f0c5bd2b6f34eb09e6a17a8a3c0d6a1",
        "Image": "sha256:5f0c5bd2b6f34eb09e6a17a8a3c0d6a15f0c5bd2b6f34eb09e6a17a8a3c0d6a1",
        "State": {"Pid": 7, "Running": True, "StartedAt": "2026-11-29T03:06:25.123456789Z"},
        "GraphDriver": {"Data": {"LowerDir": "/var/lib/docker/overlay2/l/6Y5IM2XC7TSNIJZZFLJCS6I4I4"}},
        "HostConfig": {
            "DeviceRequests": [{"DeviceIDs": ["GPU-5f3a2b1c-9d8e-7f6a-5b4c-3d2e1f0a9b8c"]}],
            "Runtime": "runc",
        },
        "Mounts": [],
        "Cmd": None,
        "Env": None,
    }
    assert document(told, CHIPS) == told


def test_of_cmgrs_own_documents_values_under_secret_names_go() -> None:
    told = plain({"fleet": {"password": "abc", "password_file": "/etc/x"}, "list": [{"api_key": ["abc"]}], "n": 1})
    assert told == {"fleet": {"password": GONE, "password_file": "/etc/x"}, "list": [{"api_key": [GONE]}], "n": 1}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"password=hunter2 user=me\n", b"password=(redacted) user=me\n"),
        (b'{"api_key": "hunter2", "port": 1}', b'{"api_key": "(redacted)", "port": 1}'),
        (b"Authorization: Bearer hunter2\r\n", b"Authorization: (redacted)\r\n"),
        (b"max_tokens=4096 tokenizer=qwen", b"max_tokens=4096 tokenizer=qwen"),
        (b"cannot read /etc/x/password: its mode 0644 is wide", b"cannot read /etc/x/password: its mode 0644 is wide"),
        (b"fleet.password_file: either both or none", b"fleet.password_file: either both or none"),
        (b"no secret here\xff\0: x", b"no secret here\xff\0: x"),
        (b"db.passphrase : hunter2\nnext: line\n", b"db.passphrase : (redacted)\nnext: line\n"),
        (b"postgres://u:hunt/er2@h/db", b"postgres://(redacted)@h/db"),
        (b"https://h/x?sig=hunter2&se=1", b"https://h/x?(redacted)"),
        (
            b"-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA",
            b"-----BEGIN RSA PRIVATE KEY-----(redacted)-----END RSA",
        ),
        (b"the password is hunter2", b"the password is (redacted)"),
        (b"me:$y$j9T$F5Jx5fExrKuPp53xLKQ1$X3DX6M94c7o9agCG9G317fhZg9SqC\n", b"me:(redacted)\n"),
        (b"me:$apr1$x8Yk1J4q$0PqgKLkN3QpTnXvC1hTt0/", b"me:(redacted)"),
        (b"$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$Rdescudv", b"(redacted)"),
        (b"shpat_0123456789abcdef0123456789abcdef", b"(redacted)"),
        (b"usage: serve --token <token> --name <name>", b"usage: serve --token (redacted) --name <name>"),
        (b"<name>x</name><count>7</count>", b"<name>x</name><count>7</count>"),
        (b"", b""),
    ],
)
def test_of_any_text_secrets_are_taken_out(line: bytes, told: bytes) -> None:
    assert data(line) == told


def test_a_name_that_is_about_a_secret_is_none() -> None:
    assert [
        name for name in ("token_type", "secret-name", "max_tokens", "keyboard", "author", "monkey") if is_secret(name)
    ] == []
    assert [
        name for name in ("apiKey", "X-Api-Key", "HF_TOKEN", "DBPASSWORD", "client_secret") if not is_secret(name)
    ] == []


def test_of_an_address_who_is_spoken_to_stays() -> None:
    assert address("https://u:abc@alarms.example:8443/T0/abc?k=v") == "https://alarms.example:8443"
    assert addresses('url = "https://alarms.example/T0/abc"') == 'url = "https://alarms.example/…"'


def test_every_error_is_told_without_secrets() -> None:
    error = ConfigError("cannot reach http://u:abc@h", mistakes=("password = abcdef",))
    error.__cause__ = ValueError("token=abcdef")
    assert chain(error) == f"cannot reach http://{GONE}@h: token={GONE}"
    assert error.mistakes == (f"password = {GONE}",)
    assert str(CmgrError("cannot mount: username=u,password=abc")) == f"cannot mount: username=u,password={GONE}"


def test_of_a_command_of_many_words_each_is_looked_at_once_more_only_with_a_few_before_it() -> None:
    words = [f"w{number}" for number in range(20_000)]
    assert command(words) == words


@pytest.mark.parametrize("piece", ["a", "a.", "#a,A1,", 'a="', "x-", "://", "token ", "login -p ", '"token":"', "--a "])
def test_a_long_line_takes_no_time_that_grows_with_its_square(piece: str) -> None:
    told = piece * (300_000 // len(piece))
    assert text(told) != "", "hours, where each letter has all others looked through"
