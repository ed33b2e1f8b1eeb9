"""Private etcd clusters on loopback: real nodes, of which nothing is left afterwards."""

import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from tests.support.certificates import Certificates
from tests.support.daemons.daemon import CannotRun, Daemon
from tests.support.waiting import PATIENCE, eventually


@dataclass(frozen=True, slots=True)
class Options:
    """How a cluster is set up. `quota`: bytes after which it takes no writes. `tls`: clients need it."""

    quota: int = 0
    tls: Certificates | None = None
    client_certificates: bool = False


class Node(Daemon):
    """One etcd. May be stopped, killed, frozen, wiped and started again."""

    def __init__(self, folder: Path, name: str, options: Options, ports: Sequence[int]) -> None:
        self.folder = folder / name
        self.folder.mkdir()
        self.name = name
        self.peer, self.client = ports
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        return f"{'https' if self._options.tls else 'http'}://127.0.0.1:{self.client}"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def member(self) -> str:
        """Return the node as the cluster's list of members has it."""
        return f"{self.name}=http://127.0.0.1:{self.peer}"

    def launch(self, members: Sequence[str]) -> None:
        """Start it; it answers as soon as enough of the others are there."""
        words = ["etcd", f"--name={self.name}", f"--data-dir={self.data}", "--logger=zap"]
        words += [f"--{what}-peer-urls=http://127.0.0.1:{self.peer}" for what in ("listen", "initial-advertise")]
        words += [f"--{what}-client-urls={self.endpoint}" for what in ("listen", "advertise")]
        words += [f"--initial-cluster={','.join(members)}", "--initial-cluster-state=new"]
        if self._options.quota:
            words.append(f"--quota-backend-bytes={self._options.quota}")
        if (tls := self._options.tls) is not None:
            words += [f"--cert-file={tls.server.cert}", f"--key-file={tls.server.key}"]
            if self._options.client_certificates:
                words += ["--client-cert-auth", f"--trusted-ca-file={tls.ca}"]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(words, stdout=log, stderr=log, env=plain(), start_new_session=True)

    def kill(self) -> None:
        """End it without warning."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(PATIENCE)

    def wipe(self) -> None:
        """Take all that it knows. It must not run."""
        assert not self.running()
        shutil.rmtree(self.data, ignore_errors=True)

    def log(self) -> str:
        return self._log()


class Cluster:
    """Some nodes of one cluster, with their data in a new folder in `place`. `close` ends them all."""

    def __init__(self, size: int = 1, options: Options | None = None, place: Path | None = None) -> None:
        for tool in ("etcd", "etcdctl"):
            if shutil.which(tool) is None:
                raise CannotRun(f"there is no {tool}")
        self.options = options or Options()
        self.folder = Path(tempfile.mkdtemp(prefix="cmgr-etcd-", dir=place))
        ports = free_ports(2 * size)  # All at once: a port that nobody holds any more may be given again.
        self.nodes = [Node(self.folder, f"n{n}", self.options, ports[2 * n : 2 * n + 2]) for n in range(size)]
        self._root = ""

    @property
    def endpoints(self) -> tuple[str, ...]:
        return tuple(node.endpoint for node in self.nodes)

    @property
    def version(self) -> tuple[int, int]:
        told = subprocess.run(["etcd", "--version"], capture_output=True, text=True, check=True, env=plain()).stdout
        found = re.search(r"etcd Version: (\d+)\.(\d+)", told)
        assert found is not None, told
        return int(found[1]), int(found[2])

    def start(self) -> None:
        """Start every node that does not run, and wait until they serve. Raises `CannotRun`."""
        self.launch()
        try:
            self.serves()
        except AssertionError as error:
            raise CannotRun(f"etcd does not serve: {error}: {self.nodes[0].log()[-400:]}") from None

    def launch(self) -> None:
        """Start every node that does not run."""
        members = [node.member() for node in self.nodes]
        for node in self.nodes:
            if not node.running():
                node.launch(members)

    def serves(self) -> None:
        """Wait until every node answers a read that needs a quorum."""

        def answers() -> bool:
            return all(self.ctl("get", "x", node=node, check=False).returncode == 0 for node in self.nodes)

        eventually(answers, "every node of the cluster serves")

    def ctl(self, *words: str, node: Node | None = None, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Ask one node, the first by default, with etcd's own tool, as root."""
        endpoint = (node or self.nodes[0]).endpoint
        command = ["etcdctl", f"--endpoints={endpoint}", "--dial-timeout=5s", "--command-timeout=5s"]
        if self._root:
            command.append(f"--user={self._root}")
        if (tls := self.options.tls) is not None:
            command += [f"--cacert={tls.ca}", f"--cert={tls.client.cert}", f"--key={tls.client.key}"]
        return subprocess.run([*command, *words], capture_output=True, text=True, check=check, env=plain())

    def leader(self) -> Node:
        """Return the node that leads, once there is one."""

        def found() -> Node | None:
            for node in self.nodes:
                told = self.ctl("endpoint", "status", "--write-out=fields", node=node, check=False).stdout
                ids = dict(re.findall(r'"(MemberID|Leader)" : (\d+)', told))
                if ids and ids["MemberID"] == ids["Leader"]:
                    return node
            return None

        node = eventually(found, "a node leads")
        assert node is not None
        return node

    def guard(self, user: str, password: str, prefix: str) -> None:
        """Let `user` use the keys below the prefix alone, and switch passwords on."""
        root = "root:the root's"
        self.ctl("user", "add", root)
        self.ctl("user", "grant-role", "root", "root")
        self.ctl("role", "add", user)
        self.ctl("role", "grant-permission", user, "readwrite", "--prefix=true", f"{prefix}/")
        self.ctl("user", "add", f"{user}:{password}")
        self.ctl("user", "grant-role", user, user)
        self.ctl("auth", "enable")
        self._root = root
        self.serves()

    def snapshot(self) -> Path:
        """Return a snapshot of all that it knows now."""
        path = self.folder / "snapshot"
        path.unlink(missing_ok=True)
        self.ctl("snapshot", "save", str(path))
        return path

    def restore(self, snapshot: Path) -> None:
        """Go on as it was when the snapshot was made."""
        self.wipe(start=False)
        members = ",".join(node.member() for node in self.nodes)
        for node in self.nodes:
            words = ["etcdctl", "snapshot", "restore", str(snapshot), f"--name={node.name}", f"--data-dir={node.data}"]
            words += [f"--initial-cluster={members}", f"--initial-advertise-peer-urls=http://127.0.0.1:{node.peer}"]
            subprocess.run(words, capture_output=True, check=True, env=plain())
        self.start()

    def wipe(self, *, start: bool = True) -> None:
        """Let it forget everything."""
        for node in self.nodes:
            if node.running():
                node.kill()
            node.wipe()
        if start:
            self.start()

    def close(self) -> None:
        for node in self.nodes:
            node.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def free_ports(count: int) -> list[int]:
    """Return ports of loopback that nobody has."""
    with ExitStack() as stack:
        probes = [stack.enter_context(closing(socket.create_server(("127.0.0.1", 0)))) for _ in range(count)]
        return [probe.getsockname()[1] for probe in probes]


def plain() -> Mapping[str, str]:
    """Return the environment without what would configure etcd or its tool, or lead them to a proxy."""
    kept = {name: value for name, value in os.environ.items() if "_proxy" not in name.lower()}
    return {name: value for name, value in kept.items() if not name.startswith(("ETCD_", "ETCDCTL_"))}
