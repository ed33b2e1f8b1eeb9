"""Secrets that are planted wherever people put them: none is left in a bundle, and what a diagnosis needs is."""

import base64
import json
import random
import string
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from cmgr.errors import ContainerError
from cmgr.service.extras.bundle_parts import Part
from cmgr.service.extras.bundles import cleaned, write
from cmgr.store import open_store
from cmgr.store.files import NAME
from tests.security.fuzz import SECTION, TIMES
from tests.service.extras.test_bundles import Site, inside
from tests.support.figures import Figures

ROUNDS = max(1, int(30 * TIMES))
LETTERS = string.ascii_letters + string.digits


def weak(chance: random.Random) -> str:
    """Return a secret as people choose one: nothing but its place, or what it stands behind, gives it away."""
    return chance.choice(("hunter", "winter", "Passw", "letmein")) + "".join(chance.choices(string.digits, k=6))


def strong(chance: random.Random) -> str:
    """Return a secret as programs make one: it looks like chance wherever it stands."""
    return chance.choice(
        (
            "".join(chance.choices(LETTERS, k=40)),
            base64.b64encode(chance.randbytes(36)).decode(),
            base64.urlsafe_b64encode(chance.randbytes(36)).decode(),
        )
    )


Plant = Callable[[str], Mapping[str, object]]


def _words(*words: str) -> Plant:
    """Return what plants a secret in a command, in the place of `%`."""
    return lambda secret: {"Cmd": [word.replace("%", secret) for word in words]}


def _shell(line: str) -> Plant:
    return _words("sh", "-c", line)


def _label(name: str, value: str = "%") -> Plant:
    return lambda secret: {"Labels": {name: value.replace("%", secret)}}


KNOWN: Mapping[str, Plant] = {
    "variable": lambda s: {"Env": [f"DB_PASSWORD={s}"]},
    "variable of no telling name": lambda s: {"Env": [f"SETTING={s}"]},
    "flag with a sign": _words("serve", "--api-key=%"),
    "flag and word": _words("serve", "--token", "%", "--port", "80"),
    "flag in a shell": _shell("exec serve --api-key % --port 80"),
    "export": _shell("export HF_TOKEN=%; exec serve"),
    "assignment": _shell("LICENSE_CODE=% exec serve"),
    "header": _shell("curl -H 'Authorization: Bearer %' http://h/x"),
    "own header": _words("curl", "-H", "X-Api-Key: %", "http://h/x"),
    "user of curl": _words("curl", "-u", "me:%", "http://h/x"),
    "sshpass": _shell("sshpass -p % ssh h"),
    "mysql": _shell("mysql -uroot -p% shop"),
    "redis": _words("redis-server", "--requirepass", "%"),
    "ipmitool": _shell("ipmitool -I lanplus -H bmc -U admin -P % power status"),
    "ipmitool in words": _words("ipmitool", "-H", "bmc", "-U", "admin", "-P", "%", "power", "status"),
    "smbclient": lambda s: {"Cmd": ["smbclient", "//h/s", "-U", f"me%{s}", "-c", "ls"]},
    "snmpwalk": _words("snmpwalk", "-v2c", "-c", "%", "h"),
    "lftp": _shell("lftp -u me,% sftp://h"),
    "httpie": _words("http", "-a", "me:%", "h/x"),
    "keytool": _words("keytool", "-list", "-storepass", "%"),
    "zip": _shell("cd /x && zip -P % a.zip b"),
    "sqlcmd": _words("sqlcmd", "-S", "h", "-U", "sa", "-P", "%", "-Q", "select 1"),
    "mongosh": _shell("mongosh -u me -p % shop"),
    "words behind a flag": _words("sshpass", "-p", "two %", "ssh", "h"),
    "chpasswd": _shell("set -e; echo me:% | chpasswd"),
    "here string": _shell("sudo -S ls <<< %"),
    "rabbitmqctl": _words("rabbitmqctl", "add_user", "me", "%"),
    "htpasswd": _shell("htpasswd -bc /x me % && exec serve"),
    "redis AUTH": _words("redis-cli", "AUTH", "%"),
    "SQL": _words("mysql", "-e", "ALTER USER me IDENTIFIED WITH mysql_native_password BY '%'"),
    "sqlplus": _words("sqlplus", "-S", "me/%@h:1521/x"),
    "literal": _words("kubectl", "create", "secret", "generic", "x", "--from-literal=pw=%"),
    "property of Java": _words("java", "-Djavax.net.ssl.trustStorePassword=%", "-jar", "x.jar"),
    "SharedKey": _words("serve", "--store", "DefaultEndpointsProtocol=https;AccountName=me;AccountKey=%;x=y"),
    "address": _words("serve", "--db", "postgres://me:%@h:5432/db"),
    "user alone": _shell("git clone https://%@git.example/x.git"),
    "signature": _words("fetch", "https://acct.example/x?sv=1&sig=%&se=2"),
    "health check": lambda s: {"Healthcheck": {"Test": ["CMD-SHELL", f"curl -H 'X-Token: {s}' http://h"]}},
    "output of a health check": lambda s: {"Health": {"Log": [{"ExitCode": 1, "Output": f"no {s} here"}]}},
    "log driver": lambda s: {"LogConfig": {"Type": "splunk", "Config": {"splunk-token": s, "splunk-index": s}}},
    "CIFS": lambda s: {"DriverConfig": {"Options": {"type": "cifs", "o": f"username=u,password={s},vers=3.0"}}},
    "volume": lambda s: {"DriverOpts": {"key-of-vault": s}},
    "mount": lambda s: {"mounts": [{"destination": "/x", "options": ["ro", f"passwd={s}"]}]},
    "label": _label("com.example.registry-password"),
    "label of no telling name": _label("com.example.setting"),
    "before stop": _label("cmgr.before-stop", "drain --token %"),
    "manifest": _label(
        "kubectl.kubernetes.io/last-applied-configuration", '{"env": [{"name": "SETTING", "value": "%"}]}'
    ),
    "annotation": lambda s: {"annotations": {"example.com/setting": s}},
    "document": lambda s: {"registry": {"auth": s}},
    "CDI": lambda s: {"process": {"env": [f"X={s}"], "args": ["serve", f"--secret={s}"]}},
}
"""Places and forms of a secret of any kind."""

UNKNOWN: Mapping[str, Plant] = {
    "word of a command": _words("serve", "%"),
    "flag of no telling name": _words("serve", "--with", "%"),
    "word of a shell": _shell("serve --with % | tee /x"),
    "pipe": _shell("echo % | serve -"),
    "python": _words("python3", "-c", "serve('%')"),
    "path of an address": _words("serve", "--to", "https://hooks.example/services/%"),
    "label that cmgr knows": _label("com.docker.compose.oddity"),
    "key of a label": lambda s: {"Labels": {s: ""}},
    "field of a document": lambda s: {"Oddity": {"Deeper": [s]}},
    "error of a container": lambda s: {"State": {"Error": f"cannot mount with {s}: no such device"}},
    "host": lambda s: {"HostConfig": {"ExtraHosts": [f"{s}:10.0.0.1"]}},
    "sysctl": lambda s: {"Sysctls": {"kernel.oddity": s}},
    "link": lambda s: {"HostConfig": {"Links": [f"/{s}:/db"]}},
    "working directory": lambda s: {"WorkingDir": s},
    "data of curl": _words("curl", "-d", "q=%", "http://h"),
    "cookie of curl": _shell("curl -b sid=% http://h"),
    "node": _words("node", "-e", "start(`%`)"),
    "YAML in a word": _words("serve", "--set", "a: [b, %]"),
    "JSON in a word": _words("serve", '{"k": ["%"]}'),
    "word behind all flags": _words("run", "--", "%"),
    "login by a word": _words("wandb", "login", "%"),
    "substitution": _shell("serve --with $(printf %s '%' | tr a a)".replace("%s", "x")),
    "list": _words("serve", "--peers", "a,%,b"),
    "name of a host": lambda s: {"Config": {"Hostname": s}},
    "limit": lambda s: {"HostConfig": {"Ulimits": [{"Name": s, "Soft": 1}]}},
    "alias": lambda s: {"NetworkSettings": {"Networks": {"x": {"Aliases": [s]}}}},
    "name of a network": lambda s: {"NetworkSettings": {"Networks": {s: {}}}},
    "resolver": lambda s: {"HostConfig": {"DnsOptions": [f"search:{s}"]}},
    "signal": lambda s: {"StopSignal": s},
    "label of cmgr": _label("cmgr.group"),
    "security option": lambda s: {"SecurityOpt": [f"label=user:{s}"]},
}
"""Places and forms that no rule of the redactor's speaks of: a secret there only looks like chance."""

SAID: Mapping[str, str] = {
    "assignment": "login with password={} failed",
    "sentence": "the password is {} now",
    "JSON": '{{"api_key": "{}", "port": 80}}',
    "JSON in JSON": '{{"body": "{{\\"token\\": \\"{}\\"}}"}}',
    "header": "> Authorization: Bearer {}",
    "cookie": "< Set-Cookie: sid={}; HttpOnly",
    "address": "connecting to amqp://me:{}@h:5672/x",
    "signature": "GET /x?a=b https://h/x?X-Amz-Signature={}",
    "connection": "Server=h;Database=d;User Id=u;Password={};",
    "YAML": "secret_key: '{}'",
    "XML": "<server><id>x</id><password>{}</password></server>",
    "PHP": "    [password] => {}",
    "Python": "os.environ['HF_TOKEN'] = '{}'",
    "Go": "config: {{Token:{} Port:1}}",
    "Rust": 'Config {{ token: Some("{}"), port: 1 }}',
    "pair": '{{"name": "DB_PASSWORD", "value": "{}"}}',
    "property": '<property name="password" value="{}"/>',
    "generated": "A temporary password is generated for root@localhost: {}",
    "netrc": "machine h login me password {}",
    "preshared": "PresharedKey = {}",
}
"""Lines of logs and errors with a secret of any kind."""

SAID_ODDLY = ("now with {}", "x={} y=1", "[{}]", "'{}',", "https://h/{}/x", "({})", "<{}>", "a|{}|b", "{}: refused")
"""The same without anything that tells: the secret only looks like chance."""


def planted(chance: random.Random) -> Iterator[tuple[str, str, Mapping[str, object]]]:
    """Yield a secret, where it is, and what is said with it."""
    for where, plant in KNOWN.items():
        secret = chance.choice((weak, strong))(chance)
        yield secret, where, plant(secret)
    for where, plant in UNKNOWN.items():
        secret = strong(chance)
        yield secret, where, plant(secret)


def lines(chance: random.Random) -> Iterator[tuple[str, str]]:
    for form in (*SAID.values(), *SAID_ODDLY):
        secret = (strong if form in SAID_ODDLY else chance.choice((weak, strong)))(chance)
        secret = secret.replace("/", "-") if "https:" in form else secret  # A path has no such letters.
        yield secret, form.format(secret)


def needed(chance: random.Random) -> Iterator[str]:
    """Yield what a diagnosis needs, although it looks like chance."""
    hexed = chance.randbytes(32).hex()
    yield from (hexed, f"sha256:{hexed}", f"llm/serve:v0.6.3@sha256:{hexed}", f"docker-{hexed}.scope", hexed[:12])
    yield from (str(uuid.UUID(bytes=chance.randbytes(16))), f"GPU-{uuid.UUID(bytes=chance.randbytes(16))}")
    yield "".join(chance.choices(string.digits, k=13))
    yield "".join(chance.choices(string.digits + string.ascii_uppercase, k=20))
    yield "/var/lib/docker/overlay2/l/" + "".join(chance.choices(string.digits + string.ascii_uppercase, k=26))
    yield f"0000:{chance.randbytes(1).hex()}:00.0"
    yield "2026-11-29T03:06:25.123456789Z"
    yield from ("Qwen2.5-72B-Instruct-GPTQ-Int4", "NVIDIA-H200-141GB-HBM3e", "llm-7d9f8b6c5d-x2x9z", "80E24E00")
    yield from ("eui.0025388b71b2c3d4", "00:1a:2b:3c:4d:5e", "registry.example:5000/vllm/vllm-openai:v0.6.3")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with closing(open_store(tmp_path / NAME)):
        yield Site(tmp_path)


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_no_secret_is_left_in_a_bundle_and_nothing_that_is_needed_is_lost(
    site: Site, seed: int, figures: Figures
) -> None:
    chance = random.Random(seed)  # noqa: S311
    plants, said, kept = list(planted(chance)), list(lines(chance)), list(needed(chance))
    site.runtime.documents["a"] = {where: document for _, where, document in plants} | {"Kept": dict(enumerate(kept))}
    site.runtime.outputs["a"] = "".join(f"{line}\n" for line in [*(line for _, line in said), *kept])
    site.runtime.documents["b"] = ContainerError(f"cannot inspect container b: {'; '.join(line for _, line in said)}")
    texts = site.save()
    whole = "".join(texts.values())
    left = [(where, secret) for secret, where in [*((s, w) for s, w, _ in plants), *said] if secret in whole]
    assert [word for word in kept if word not in texts["containers/01-a.log"]] == []
    assert list(json.loads(texts["containers/01-a.inspect.json"])["Kept"].values()) == kept
    figures.add(SECTION, "secrets planted in bundles", len(plants) + 2 * len(said))
    figures.add(SECTION, "secrets left in bundles", len(left))
    assert left == []


def test_a_third_of_the_places_have_forms_that_no_rule_speaks_of() -> None:
    unknown = len(UNKNOWN) + len(SAID_ODDLY)
    assert 3 * unknown >= len(KNOWN) + len(SAID) + unknown >= 30


def test_a_bundle_that_an_earlier_cmgr_has_saved_loses_its_secrets_too(tmp_path: Path) -> None:
    path = tmp_path / "episode-000001-reset-1.tar.gz"
    document = json.dumps({"Labels": {"x": "hunter2"}, "Cmd": ["sh", "-c", "serve --api-key hunter2"]})
    write(path, [Part("containers/01-a.inspect.json", document), Part("containers/01-a.log", "password: hunter2\n")])
    path.write_bytes(cleaned(path))
    texts = inside(path)
    assert set(texts) == {"containers/01-a.inspect.json", "containers/01-a.log"}
    assert "hunter2" not in "".join(texts.values())
