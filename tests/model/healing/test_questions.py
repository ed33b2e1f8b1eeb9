"""Questions as texts, and where a container is asked."""

import pytest

from cmgr.model.values.handling.questions import Network, Question, Way, published, question


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://:8000/health", Question("", Way.HTTP, 8000, "/health")),
        ("http://localhost:8000", Question("", Way.HTTP, 8000, "/")),
        ("https://127.0.0.1:8443/ready?x=1 status=200-204", Question("", Way.HTTPS, 8443, "/ready?x=1", 200, 204)),
        (
            "http://:80/v1/models status=200 text='llama 3'",
            Question("", Way.HTTP, 80, "/v1/models", 200, 200, "llama 3"),
        ),
        ("tcp://:6379", Question("", Way.TCP, 6379)),
        ("exec test -e '/tmp/is ready'", Question("", Way.COMMAND, command=("test", "-e", "/tmp/is ready"))),  # noqa: S108
    ],
)
def test_a_question_is_read(text: str, expected: Question) -> None:
    read = question(text)
    assert (read.text, read.way, read.port, read.path) == (text, expected.way, expected.port, expected.path)
    assert (read.least, read.most, read.expects, read.command) == (
        *(expected.least, expected.most),
        *(expected.expects, expected.command),
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is empty"),
        ("exec", "the command is missing"),
        ("exec 'a", "a quotation mark is missing"),
        ("http://169.254.169.254:80/", "the host is its own"),
        ("http://example.com:80/", "the host is its own"),
        ("http://user@:80/", "the host is its own"),
        ("http://:8000@evil:80/", "the host is its own"),
        ("http:///health", "the host is its own"),
        ("ftp://:21", "the host is its own"),
        ("http://:0/", "its port is none"),
        ("http://:65536/", "its port is none"),
        ("tcp://:80/health", "only that it is open"),
        ("tcp://:80 status=200", "only that it is open"),
        ("http://:80/ 200", "what follows the address"),
        ("http://:80/ status=200 status=201", "what follows the address"),
        ("http://:80/ status=20", "its status is none"),
        ("http://:80/ text=a\r\nX: y", "cannot be printed"),
        ("http://:80/" + "x" * 1000, "more than 1000 characters"),
    ],
)
def test_what_is_no_question_is_refused_in_words(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        question(text)


def test_a_port_is_asked_where_it_is_published_or_at_the_address_of_the_container() -> None:
    network = Network("172.17.0.2", (published(8000, "0.0.0.0", 18000), published(9000, "::", 19000)))  # noqa: S104
    assert network.place(8000) == ("127.0.0.1", 18000)
    assert network.place(9000) == ("::1", 19000)
    assert network.place(7000) == ("172.17.0.2", 7000)
    assert Network().place(8000) is None
