"""The steps that set a fleet up on this machine: to be shown, or to be done."""

import grp
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from datetime import timedelta
from pathlib import Path
from subprocess import CompletedProcess

from cmgr import atomic
from cmgr.cli.founding.token import CA, PASSWORD, Member, Token
from cmgr.cli.text import out
from cmgr.errors import CmgrError, system_words
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import say

DIRECTORY = "/etc/etcd"
CA_KEY = f"{DIRECTORY}/ca.key"
KEY = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
DAYS = "3650"
ROOT = "root"

_ANSWER_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Write:
    """A file. `secret`: its text is shown to nobody. `group`: who reads it besides root, where there is such a group.

    `add`: the text is put behind what is there, once.
    """

    path: str
    text: str
    mode: int = 0o600
    group: str = ""
    secret: bool = False
    add: bool = False

    def shown(self) -> Iterator[str]:
        path, mode = self.path, f"{self.mode:o}"
        told = say("found.adds", path=path, mode=mode) if self.add else say("found.writes", path=path, mode=mode)
        yield f"# {out.spoken(told)}"
        yield from () if self.secret else (f"    {line}" if line else "" for line in self.text.splitlines())

    def do(self) -> None:
        path = Path(self.path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            before = path.read_text() if self.add and path.exists() else ""
            if before and self.text in before:
                return
            mode = path.stat().st_mode & 0o7777 if before else self.mode
            with atomic.written(path, mode) as file:
                file.write((before + self.text).encode())
            if self.group and not before:
                _give(path, self.group)
        except (OSError, ValueError) as error:
            raise CmgrError(say("error.cannot-write-to", path=self.path, why=system_words(error))) from None


@dataclass(frozen=True, slots=True)
class Run:
    """A command. `given`: what it reads, `knows`: what it has in its environment; both are shown to nobody.

    `passes`: words of a failure that says that this was done already.
    """

    words: tuple[str, ...]
    given: str = ""
    knows: Mapping[str, str] = field(default_factory=dict)
    passes: str = ""

    def shown(self) -> Iterator[str]:
        yield shlex.join(self.words) + (f"  # {out.spoken(say('found.on-stdin'))}" if self.given else "")

    def do(self) -> None:
        done = self.tried()
        if done is not None and not (self.passes and self.passes in done):
            raise CmgrError(say("found.cannot-run", command=shlex.join(self.words), why=done))

    def tried(self) -> str | None:
        """Do it, and return why it failed; None when it did not."""
        try:
            done = _ran(self.words, self.given, self.knows)
        except CmgrError as error:
            return error.message
        if not done.returncode:
            return None
        said = (done.stderr or done.stdout).strip().splitlines()
        return said[-1] if said else say("found.ended-with", code=done.returncode)


Step = Write | Run


def _ran(words: Sequence[str], given: str = "", knows: Mapping[str, str] | None = None) -> CompletedProcess[str]:
    environment = {**os.environ, "LC_ALL": "C", "ETCDCTL_API": "3", **(knows or {})}
    try:
        return subprocess.run(  # noqa: S603 - programs of the distribution, by root's own PATH
            words,
            input=given,
            capture_output=True,
            text=True,
            errors="replace",
            env=environment,
            timeout=_ANSWER_SECONDS,
            check=False,
            umask=0o077,
        )
    except FileNotFoundError:
        raise CmgrError(say("found.cannot-run", command=words[0], why=say("found.no-program"))) from None
    except subprocess.TimeoutExpired:
        why = say("found.not-ended", length=timedelta(seconds=_ANSWER_SECONDS))
        raise CmgrError(say("found.cannot-run", command=words[0], why=why)) from None


def _give(path: Path, group: str) -> None:
    try:
        number = grp.getgrnam(group).gr_gid
    except KeyError:
        return
    os.chown(path, 0, number)


def authority() -> Iterator[Step]:
    """Make the authority that signs. Its key stays here."""
    yield Run(("mkdir", "-p", "-m", "755", DIRECTORY))
    words = f"openssl req -x509 {KEY} -days {DAYS} -addext keyUsage=critical,keyCertSign,cRLSign"
    yield Run((*words.split(), "-subj", "/CN=etcd of cmgr", "-keyout", CA_KEY, "-out", CA))


def certificate(member: Member) -> Iterator[Step]:
    """Make the certificate by which this member's etcd is known to the others and to cmgr."""
    own = f"{DIRECTORY}/{member.name}"
    request = f"openssl req -new {KEY} -subj /CN={member.name} -keyout {own}.key -out {own}.csr"
    yield Run(tuple(request.split()))
    names = f"subjectAltName=IP:{member.address},IP:127.0.0.1"
    yield Write(f"{own}.ext", f"{names}\nextendedKeyUsage=serverAuth,clientAuth\nauthorityKeyIdentifier=keyid\n")
    sign = f"openssl x509 -req -in {own}.csr -CA {CA} -CAkey {CA_KEY} -CAcreateserial -days {DAYS}"
    yield Run((*sign.split(), "-extfile", f"{own}.ext", "-out", f"{own}.pem"))
    yield Run(("rm", f"{own}.csr", f"{own}.ext"))


def joining(token: Token, config: str, variables: str) -> Iterator[Step]:
    """Let this machine be that member. `variables`: the file that its etcd's unit reads."""
    own = f"{DIRECTORY}/{token.name}"
    if token.ca:
        yield Write(CA, token.ca, 0o644)
    if token.cluster:
        yield Write(f"{own}.pem", token.cert, 0o644)
        yield Write(f"{own}.key", token.key, 0o640, group="etcd", secret=True)
        yield Write(variables, token.variables, 0o644, add=True)
        # Each waits until enough of the others are there.
        yield Run(("systemctl", "enable", "etcd"))
        yield Run(("systemctl", "restart", "--no-block", "etcd"))
    yield Write(PASSWORD, f"{token.password}\n", 0o600, secret=True)
    yield Write(config, f"\n{token.settings}", 0o640, add=True)
    yield Run(("systemctl", "try-restart", "cmgr"))


def etcdctl(token: Token) -> tuple[str, ...]:
    ca = (f"--cacert={CA}",) if token.ca else ()
    return ("etcdctl", f"--endpoints={','.join(token.endpoints)}", *ca)


def answers(token: Token, root_password: str) -> Run:
    """Ask etcd for something that it answers only while enough of its nodes are there."""
    return Run((*etcdctl(token), "get", f"{token.prefix}/born"), knows=_as_root(root_password))


def users(tokens: Sequence[Token], root_password: str, *, own: bool, goes_on: bool) -> Iterator[Step]:
    """Give each appliance a user and a role that writes what is its own.

    `own`: the engine is this fleet's, and gets its root. `goes_on`: an earlier try may have made some of them.
    """
    base, knows = etcdctl(tokens[0]), _as_root(root_password)

    def step(line: str, given: str = "", passes: str = "") -> Run:
        return Run((*base, *line.split()), f"{given}\n" if given else "", knows, passes)

    made = "already exists"
    if own:
        yield step(f"user add {ROOT} --interactive=false", root_password, made)
        yield step(f"user grant-role {ROOT} root")
    for token in tokens:
        name, prefix = token.name, token.prefix
        yield step(f"role add {name}", passes=made if own or goes_on else "")
        yield step(f"role grant-permission {name} read --prefix=true {prefix}/")
        for key in ("born", f"appliances/{name}", f"alive/{name}"):
            yield step(f"role grant-permission {name} readwrite {prefix}/{key}")
        yield step(f"role grant-permission {name} readwrite --prefix=true {prefix}/groups/")
        yield step(f"user add {name} --interactive=false", token.password, made if own or goes_on else "")
        yield step(f"user grant-role {name} {name}")
    if own:
        yield step("auth enable")


def _as_root(password: str) -> dict[str, str]:
    # Not among the words, which everybody on this machine can read.
    return {"ETCDCTL_USER": f"{ROOT}:{password}"} if password else {}


def variables_file() -> str:
    """Return the file of variables that the unit of this machine's etcd reads. Raises `CmgrError`."""
    command = "apt-get install etcd-server etcd-client"
    hint = say("found.install-it", command=command, option="--engine")
    if shutil.which("etcd") is None or shutil.which("etcdctl") is None:
        raise CmgrError(say("found.not-installed"), hint=hint)
    told = _ran(("systemctl", "show", "--property=EnvironmentFiles", "--value", "etcd")).stdout
    found = re.findall(r"^(/\S+)", told, re.MULTILINE)
    if not found:
        raise CmgrError(say("found.no-variables"), hint=say("found.by-hand", page="docs/fleet.md"))
    return str(found[-1])


def set_already(path: str, ours: str) -> bool:
    """Whether somebody has set variables of etcd in this file. `ours`: those that an earlier try of this has left."""
    try:
        return bool(re.search(r"^\s*ETCD_", Path(path).read_text().replace(ours, ""), re.MULTILINE))
    except (OSError, ValueError):
        return False
