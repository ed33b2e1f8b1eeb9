"""Notices as mail, by SMTP: TLS from the beginning (smtps), by STARTTLS (smtp), or in plain text (smtp+plain)."""

import smtplib
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from datetime import datetime
from email import policy
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import make_msgid
from urllib.parse import urlsplit

from cmgr import network
from cmgr.config.receivers import PLAIN_MAIL, Receiver, address_of, secret_of
from cmgr.errors import CmgrError
from cmgr.service.notices.alarms import Alarm
from cmgr.service.notices.channel import Channel, Rejected
from cmgr.service.notices.notice import Notice, notice
from cmgr.words import one_line

_MOST = 100_000

_PLAIN_LETTERS = policy.SMTP.clone(cte_type="7bit")
"""Not every server takes eight bits a letter."""

_PORTS: Mapping[str, int] = {"smtp": 587, "smtps": 465, PLAIN_MAIL: 25}


def send(channel: Channel, alarms: Sequence[Alarm], lost: int) -> str:
    receiver, machine = channel.receiver, channel.machine
    scheme, host, port = _place(receiver)
    password = secret_of(receiver.secret_file)
    message = _message(receiver, machine, notice(alarms, lost, machine, _MOST, receiver.lang))
    context = network.trusting(receiver.ca_file)
    if scheme == "smtps":
        client: smtplib.SMTP = smtplib.SMTP_SSL(local_hostname=machine, timeout=channel.seconds, context=context)
    else:
        client = smtplib.SMTP(local_hostname=machine, timeout=channel.seconds)
    # Its constructor would connect before there is anything that can be cut; TLS looks here for the server's name.
    client._host = host  # type: ignore[attr-defined]  # Its own constructor sets it.
    with closing(client), network.bounded(client, channel.seconds):
        try:
            _good(*client.connect(host, port))
            if scheme == "smtp":
                client.starttls(context=context)
            if receiver.user:
                client.login(receiver.user, password)
            return _handed_over(client, receiver, message)
        except smtplib.SMTPResponseException as error:
            raise CmgrError(_answered(error.smtp_code, error.smtp_error)) from None
        except smtplib.SMTPServerDisconnected as error:
            # Behind it stands why, such as a time that is up.
            raise (error.__context__ if isinstance(error.__context__, OSError) else error) from None
        except smtplib.SMTPNotSupportedError as error:
            raise CmgrError(f"it cannot do that: {one_line(str(error))}") from None


def _place(receiver: Receiver) -> tuple[str, str, int]:
    parts = urlsplit(address_of(receiver))
    assert parts.hostname is not None
    return parts.scheme, parts.hostname, parts.port or _PORTS[parts.scheme]


def _message(receiver: Receiver, machine: str, told: Notice) -> EmailMessage:
    message = EmailMessage(policy=_PLAIN_LETTERS)
    message["From"] = Address(f"cmgr on {machine}", addr_spec=receiver.sender)
    message["To"] = [Address(addr_spec=each) for each in receiver.to]
    message["Subject"] = told.title
    message["Date"] = datetime.now().astimezone()
    message["Message-ID"] = make_msgid(domain=receiver.sender.rpartition("@")[2])
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834: nobody's holiday answers it.
    message.set_content(told.text)
    return message


def _handed_over(client: smtplib.SMTP, receiver: Receiver, message: EmailMessage) -> str:
    client.ehlo_or_helo_if_needed()
    _good(*client.mail(receiver.sender))
    answers = {to: client.rcpt(to) for to in receiver.to}
    refused = {to: answer for to, answer in answers.items() if answer[0] not in (250, 251)}
    why = "; ".join(f"{to}: {_words(*answer)}" for to, answer in refused.items())
    if len(refused) == len(answers):
        raise CmgrError(f"it takes mail for nobody: {why}")
    code, said = client.data(message.as_bytes())
    if 500 <= code < 600:
        raise Rejected(_answered(code, said))
    _good(code, said)
    with suppress(OSError):  # It has said that it has the mail.
        client.quit()
    if refused:
        # The others have it, and would have it twice.
        raise Rejected(f"it does not take mail for {why}; the others have it")
    return _words(code, said)


def _good(code: int, said: bytes) -> None:
    if not 200 <= code < 300:
        raise CmgrError(_answered(code, said))


def _answered(code: int, said: bytes | str) -> str:
    return f"it answers {_words(code, said)}"


def _words(code: int, said: bytes | str) -> str:
    text = said.decode(errors="replace") if isinstance(said, bytes) else said
    return f"{code} {one_line(text)[:200]}".rstrip()
