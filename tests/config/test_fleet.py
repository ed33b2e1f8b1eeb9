"""The settings of a fleet: every mistake of them is told, and none that would send a password over a line in clear."""

from pathlib import Path

import pytest

from cmgr.config.load import load
from tests.config.support import from_text, mistakes, written

ETCD = '[fleet]\nengine = "etcd"\nendpoints = ["https://a.example:2379"]\n'


def test_without_a_word_there_is_no_fleet(file: Path) -> None:
    fleet = load(written(file, ""), environ={}).fleet
    assert (fleet.engine, fleet.endpoints, fleet.prefix) == ("", (), "/cmgr")


def test_a_fleet_needs_an_engine_and_its_address(file: Path) -> None:
    assert from_text(file, ETCD).fleet.endpoints == ("https://a.example:2379",)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "localhost", "[::1]"])
def test_on_this_machine_no_tls_is_needed(file: Path, host: str) -> None:
    text = f'[fleet]\nengine = "etcd"\nendpoints = ["http://{host}:2379"]\n'
    assert from_text(file, text).fleet.endpoints == (f"http://{host}:2379",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[fleet]\nengine = "etcd"', 'fleet.endpoints: is missing; engine = "etcd" needs at least one address'),
        ('[fleet]\nengine = "consul"', "must be etcd, or empty"),
        (ETCD.replace("https", "http"), "must begin with https: what is not on this machine needs TLS"),
        (ETCD.replace("https://a.example", "http://127.0.0.1.example"), "must begin with https"),
        (ETCD.replace(":2379", ":2379/v3"), "must end with the port, without a path"),
        (ETCD.replace('2379"', '2379", "https://a.example:2379"'), "one of them stands there twice"),
        (ETCD + 'prefix = "/"', "fleet.prefix: must be words with / in front of each"),
        (ETCD + 'prefix = "/a//b"', "fleet.prefix: must be words with / in front of each"),
        (ETCD + 'cert = "/etc/cmgr/me.pem"', "fleet.cert and fleet.key: either both or none"),
        (ETCD + 'user = "a"', "fleet.user and fleet.password_file: either both or none"),
        (ETCD + 'name = "A"', "must be a name of at most 63 small letters"),
        (ETCD + f'name = "{"a" * 64}"', "must be a name of at most 63 small letters"),
        (ETCD + 'lease = "1s"', "fleet.lease"),
    ],
)
def test_what_cannot_be_is_named(file: Path, text: str, said: str) -> None:
    found = mistakes(written(file, text))
    assert len(found) == 1, found
    assert said in found[0]
