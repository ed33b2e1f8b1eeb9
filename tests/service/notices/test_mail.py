"""Notices by mail: over TLS, with a login, to several; and what becomes of those that a server refuses."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cmgr.config.receivers import Receiver
from cmgr.errors import CmgrError
from cmgr.service.notices.channel import Rejected
from tests.service.notices.mail_server import Conduct, MailServer
from tests.service.notices.telling import alarm, secret, serving, told
from tests.support.certificates import Certificates

Make = Callable[..., tuple[MailServer, Receiver]]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def make(certificates: Certificates) -> Iterator[Make]:
    """Make a server that is spoken to in this way, and the receiver that means it."""
    made: list[MailServer] = []

    def one(scheme: str = "smtp", **settings: object) -> tuple[MailServer, Receiver]:
        tls = None if scheme == "smtp+plain" else serving(certificates)
        made.append(MailServer(tls, at_once=scheme == "smtps"))
        receiver = Receiver(
            f"{scheme}://127.0.0.1:{made[-1].port}", format="mail", sender="cmgr@mail.example",
            to=("duty@mail.example", "boss@mail.example"), ca_file=str(certificates.ca),
        )  # fmt: skip
        return made[-1], replace(receiver, **settings)  # type: ignore[arg-type]

    yield one
    for each in made:
        each.close()


@pytest.mark.parametrize("scheme", ["smtp", "smtps", "smtp+plain"])
def test_a_mail_says_what_has_happened_and_what_to_do(make: Make, scheme: str) -> None:
    server, receiver = make(scheme)
    assert told(receiver, alarm(text="芯片 3 “隔离”")) == "250 2.0.0 queued as 7F2A"
    (mail,) = server.mails
    assert (mail.sender, mail.to) == ("cmgr@mail.example", ("duty@mail.example", "boss@mail.example"))
    assert mail.encrypted is (scheme != "smtp+plain")
    message = mail.message
    assert message["Subject"] == "[cmgr] appliance-7: 芯片 3 “隔离”"
    assert message["From"] == "cmgr on appliance-7 <cmgr@mail.example>"
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["Message-ID"].endswith("@mail.example>")
    assert message["Date"].datetime is not None
    assert "  what to do: cmgr release 3" in message.get_content().splitlines()


def test_it_logs_in_over_tls_and_the_password_is_in_no_message(make: Make, tmp_path: Path) -> None:
    path = secret(tmp_path, "very-secret")
    server, receiver = make(user="cmgr", secret_file=path)
    server.conduct = Conduct(login=("cmgr", "very-secret"))
    told(receiver)
    assert len(server.mails) == 1
    server.conduct = Conduct(login=("cmgr", "another"))
    with pytest.raises(CmgrError, match=r"it answers 535 5\.7\.8 authentication failed") as failed:
        told(receiver)
    assert "secret" not in failed.value.message
    with pytest.raises(CmgrError, match=r"it answers 530 5\.7\.0 log in first"):
        told(replace(receiver, user="", secret_file=""))


def test_without_starttls_nothing_is_sent(make: Make) -> None:
    server, receiver = make("smtp+plain")
    with pytest.raises(CmgrError, match="it cannot do that: STARTTLS extension not supported"):
        told(replace(receiver, url=receiver.url.replace("smtp+plain", "smtp")))
    assert [line.split()[0].upper() for line in server.asked] == ["EHLO"]


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_a_certificate_that_nobody_vouches_for_ends_it(make: Make, scheme: str) -> None:
    server, receiver = make(scheme)
    with pytest.raises(CmgrError, match="its certificate is not good"):
        told(replace(receiver, ca_file=""))
    assert server.mails == []


def test_whoever_is_not_known_there_is_named_and_the_others_have_it_once(make: Make) -> None:
    server, receiver = make()
    server.conduct = Conduct(refused=("boss@mail.example",))
    with pytest.raises(Rejected, match=r"for boss@mail\.example: 550 5\.1\.1 no such user; the others have it"):
        told(receiver)
    assert [mail.to for mail in server.mails] == [("duty@mail.example",)]
    server.conduct = Conduct(refused=receiver.to)
    with pytest.raises(CmgrError, match="it takes mail for nobody") as failed:
        told(receiver)
    assert not isinstance(failed.value, Rejected), "somebody can mend that"


@pytest.mark.parametrize(("answer", "forever"), [("451 4.7.1 greylisted", False), ("554 5.7.1 looks like spam", True)])
def test_a_mail_that_is_refused_for_itself_is_given_up_and_another_tried_again(
    make: Make, answer: str, forever: bool
) -> None:
    server, receiver = make()
    server.conduct = Conduct(data=answer)
    with pytest.raises(CmgrError, match=f"it answers {answer}") as failed:
        told(receiver)
    assert isinstance(failed.value, Rejected) is forever


def test_a_server_that_says_nothing_is_given_up(make: Make) -> None:
    server, receiver = make()
    server.conduct = Conduct(greets=False)
    with pytest.raises(CmgrError, match=r"no answer within 0\.3 s"):
        told(receiver, seconds=0.3)


def test_a_flood_is_one_mail(make: Make) -> None:
    server, receiver = make()
    told(receiver, *(alarm(n) for n in range(5000)), lost=7)
    (mail,) = server.mails
    assert mail.message["Subject"] == "[cmgr] appliance-7: chip 0 is isolated: 80818C00 (and 4999 more)"
    lines = mail.message.get_content().splitlines()
    assert lines[0] == "7 earlier alarms could not be sent: cmgr history"
    assert lines[-1].endswith("more: cmgr status")
