"""Passwords, rights and certificates of a fleet that are wrong: said, and mended without a restart."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from cmgr.fleet.gateway import Access
from cmgr.network import trusting
from tests.fleet.world import appliances, down, written
from tests.support.certificates import Certificates
from tests.support.daemons.etcd import Cluster, Options

pytestmark = [pytest.mark.etcd, pytest.mark.alone]


# Rights and certificates.


@pytest.fixture
def guarded() -> Iterator[Cluster]:
    cluster = Cluster()
    cluster.start()
    cluster.guard("hall", "secret", "/hall")
    yield cluster
    cluster.close()


def test_a_wrong_password_is_said_with_the_file_and_mended_without_a_restart(guarded: Cluster) -> None:
    words = ["wrong"]
    with appliances(guarded.endpoints) as make:
        access = Access(guarded.endpoints, user="hall", password=lambda: words[-1])
        one = make(access=access, at="/hall").begin()
        assert "fleet.password_file" in down(one, "invalid user ID or password")
        words.append("secret")
        one.up()
        written(one, 1, 0)


def test_a_password_that_is_changed_while_we_run_counts_at_the_next_login(guarded: Cluster) -> None:
    words = ["secret"]
    with appliances(guarded.endpoints) as make:
        access = Access(guarded.endpoints, user="hall", password=lambda: words[-1])
        one = make(access=access, at="/hall").begin().up()
        root = ["etcdctl", f"--endpoints={guarded.endpoints[0]}", "--user=root:the root's", "--interactive=false"]
        subprocess.run([*root, "user", "passwd", "hall"], input="fresh", text=True, check=True, capture_output=True)
        guarded.nodes[0].kill()
        guarded.start()
        down(one, "invalid user ID or password")
        words.append("fresh")
        one.up(2)
        written(one, 1, 0)


def test_a_user_without_the_right_to_the_prefix_is_told_which_right(guarded: Cluster) -> None:
    with appliances(guarded.endpoints) as make:
        access = Access(guarded.endpoints, user="hall", password=lambda: "secret")
        one = make(access=access, at="/hall-2").begin()
        assert "lacks a right below fleet.prefix" in down(one, "permission denied")


def test_a_certificate_that_has_ended_is_said_and_a_renewed_one_taken(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    good, certificates.server = certificates.server, certificates.signed("old", days_ago=9)
    cluster = Cluster(1, Options(tls=certificates))
    try:
        cluster.launch()
        with appliances(cluster.endpoints) as make:
            access = Access(cluster.endpoints, lambda: trusting(str(certificates.ca)))
            one = make(access=access).begin()
            down(one, "certificate has expired")
            cluster.nodes[0].kill()
            certificates.server = good
            cluster.start()
            one.up()
            written(one, 1, 0)
    finally:
        cluster.close()
