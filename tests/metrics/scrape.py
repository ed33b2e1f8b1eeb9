"""Asking for metrics as Prometheus does, and reading the answer."""

import http.client
import socket
from collections.abc import Mapping
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

from tests.support.waiting import PATIENCE

Samples = Mapping[tuple[str, frozenset[tuple[str, str]]], float]


@dataclass(frozen=True, slots=True)
class Page:
    """One answer: its text, its metrics by name with their kind, and every sample."""

    text: str
    kinds: Mapping[str, str]
    samples: Samples

    def value(self, name: str, **labels: str) -> float:
        return self.samples[name, frozenset(labels.items())]

    def all(self, name: str) -> dict[frozenset[tuple[str, str]], float]:
        return {labels: value for (found, labels), value in self.samples.items() if found == name}


def page(text: str) -> Page:
    families = list(text_string_to_metric_families(text))
    kinds = {f"{f.name}_total" if f.type == "counter" else f.name: f.type for f in families}
    samples = {(s.name, frozenset(s.labels.items())): s.value for f in families for s in f.samples}
    return Page(text, kinds, samples)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    kind: str
    body: str


def get(port: int, path: str = "/metrics", method: str = "GET", accept: str = "") -> Reply:
    """Ask, and return the answer. Raises OSError and http.client.HTTPException when there is none."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request(method, path, headers={"Accept": accept} if accept else {})
        reply = connection.getresponse()
        return Reply(reply.status, reply.getheader("Content-Type", ""), reply.read().decode())
    finally:
        connection.close()


def scrape(port: int) -> Page:
    reply = get(port)
    assert (reply.status, reply.kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
    return page(reply.body)
