"""Every error that cmgr raises on purpose.

CmgrError                 what failed, one sentence that begins with "cannot"; hint: what to do next
├─ ConfigError            a configuration, fault table or order is wrong; lists every mistake
│  ├─ BadRequest          what was asked of the service cannot be understood
│  └─ Misused             nothing is wrong but what the command line says
├─ NotThere               what is named is not there: a chip, a container, an episode, a path
├─ Denied                 who asks has no role that allows this
├─ NotIn                  who asks through the page is in no session, or in none any more
├─ TooMany                it was asked too often within a minute
├─ DriverError            a chip call failed
│  ├─ DriverMissing       the driver's library or device is not there
│  └─ ResetRefused        the last look before a reset found a reason against it
├─ ContainerError         a container runtime call failed
│  ├─ RuntimeDown         the runtime cannot be reached, so the order was not given
│  ├─ RuntimeAils         the runtime itself failed: that counts as no try of a start
│  └─ ContainerGone       there is no such container (for a stop that is success)
├─ FleetError             the fleet's engine cannot be asked, or refuses; nothing was written
├─ Unsure                 nobody answered in time: whether it was done is not known
├─ StoreError             the database cannot be read or written
│  ├─ StoreTooNew         it was written by a newer cmgr
│  └─ StoreBusy           another cmgr uses it
└─ ServiceDown            the command needs the service, and it is not there
   └─ ServiceHangs        it is there, and does not answer or decide: what was asked for has not been begun

The message does not repeat its cause: whoever prints an error walks `__cause__` with `chain`.
Classes differ where the receiver acts differently, and nowhere else.
"""


class CmgrError(Exception):
    """A failure ("cannot …"), and what to do about it. It tells no secrets: others' words in it are looked through."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.message = _clean(message)
        self.hint = hint
        super().__init__(self.message)


class ConfigError(CmgrError):
    """The input is wrong; `mistakes` has one sentence for each thing to mend."""

    def __init__(self, message: str, *, mistakes: tuple[str, ...] = (), hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.mistakes = tuple(map(_clean, mistakes))


class Misused(ConfigError):
    """A flag gives a setting a value that it cannot have, or there is no such setting; all else is right."""

    exit_code = 2


class BadRequest(ConfigError):
    """The service cannot understand what it is asked."""


class NotThere(CmgrError):
    """There is nothing of the name that was given."""


class Denied(CmgrError):
    """No role of whoever asks allows this."""


class NotIn(CmgrError):
    """There is no such session of the page, or what should open one does not."""


class TooMany(CmgrError):
    """It was asked too often within a minute."""


class Unsure(CmgrError):
    """Whether what was asked for was done is not known; it may be done yet."""


class DriverError(CmgrError):
    """A call to the chip driver failed."""


class DriverMissing(DriverError):
    """The driver cannot be used on this machine."""


class ResetRefused(DriverError):
    """Nothing was reset: a process holds a chip of the ring, or no fault is left that it was to cure."""


class ContainerError(CmgrError):
    """A call to a container runtime failed."""


class RuntimeDown(ContainerError):
    """The runtime's daemon cannot be reached: it never got the order."""


class RuntimeAils(ContainerError):
    """The runtime itself failed, which is no fault of the container's; whether the order was carried out is open."""


class RunsAgain(ContainerError):
    """It was stopped, and something has started it since; `run` is the word of the life in which it is."""

    def __init__(self, message: str, run: str) -> None:
        super().__init__(message)
        self.run = run


class ContainerGone(ContainerError):
    """The runtime does not know the container any more."""


class FleetError(CmgrError):
    """The fleet's engine was not reached, or refused. Nothing was written."""


class StoreError(CmgrError):
    """The database cannot be read or written."""


class StoreTooNew(StoreError):
    """The database was written by a newer cmgr."""


class StoreBusy(StoreError):
    """Another cmgr owns the database."""


class ServiceDown(CmgrError):
    """Nobody answers on the service's socket; `pid` is its process where it runs all the same, as far as is known."""

    exit_code = 3

    def __init__(self, message: str, *, hint: str = "", pid: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.pid = pid


class ServiceHangs(ServiceDown):
    """The service is there and does not come to what it is asked."""

    exit_code = 5


def _clean(text: str) -> str:
    from cmgr import redact  # Its patterns take as long to compile as a short command lasts: only errors pay for that.

    cleaned = redact.text(text)
    return text if cleaned == text else cleaned  # The same one: it may know its message.


def _said(error: BaseException, before: str) -> str:
    """Return its text, of the system's errors without their number, and with the file unless that was said before."""
    if isinstance(error, CmgrError):
        return error.message
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    file = str(error.filename or "")
    return f"{file}: {error.strerror}" if file not in before else error.strerror


def system_words(error: BaseException) -> str:
    """Return what the system says of it, without number and file; of one that is none of the system's, its text."""
    return getattr(error, "strerror", None) or str(error)


def chain(error: BaseException) -> str:
    """Return the error and its causes as one line, each said once."""
    return ": ".join(causes(error))


def causes(error: BaseException) -> list[str]:
    """Return the texts of the error and its causes, each said once."""
    parts: list[str] = []
    current: BaseException | None = error
    while current is not None:
        text = _clean(_said(current, "".join(parts))) or type(current).__name__
        if not parts or text not in parts[-1]:
            parts.append(text)
        current = current.__cause__
    return parts


def sentence(error: BaseException, unsaid: str = "") -> str:
    """Return `chain`, `bare` of the verb `unsaid`, followed by the hint where there is one."""
    hint = error.hint if isinstance(error, CmgrError) else ""
    text = bare(chain(error), unsaid)
    return f"{text} (hint: {hint})" if hint else text


def bare(why: str, verb: str) -> str:
    """Return the error's text without "cannot VERB …: " in front, for one who has said already what cannot be done."""
    while verb and why.startswith(f"cannot {verb} ") and ": " in why:
        why = why.partition(": ")[2]
    return why
