"""The lines for a shell that make a Docker container again that was removed while it was held, from its description.

They are kept with its hold, and shown: what looks like a secret is left to variables of the shell.
"""

import re
import shlex
from collections.abc import Collection, Iterator, Sequence

from cmgr import redact
from cmgr.runtimes.docker import adopt
from cmgr.runtimes.documents import Json, items, mapping, text

_BUILT_IN = frozenset({"bridge", "host", "none"})
"""Docker's own networks, which nobody removes."""


def lines(container: Json, brought: Collection[str]) -> tuple[str, ...]:
    """Return them: its networks, itself with its chips, and its start. `brought`: as in `Container.brought`."""
    config, host = mapping(container.get("Config")), mapping(container.get("HostConfig"))
    if text(host, "Runtime") == "oci":
        return ()  # So podman says of each: it has words of its own.
    name, secrets = shlex.quote(text(container, "Name").lstrip("/")), list[str]()
    networks, base = _networks(container), {"Labels": dict(label.split("=", 1) for label in brought)}
    first = text(host, "NetworkMode")
    options = [*adopt.of_host(host), *_chips(host), *_mounts(container, host)]
    options += adopt.of_config(config, base, text(container, "Id"), ())
    for alias in _aliases(container, mapping(networks.get(first))):
        options += ["--network-alias", alias]
    words = [*options, text(config, "Image"), *adopt.command(config, base)]
    made = " ".join(_shown(words, secrets))
    return (
        *[f"# set {', '.join(secrets)} first: what looks like a secret is not kept"] * bool(secrets),
        *(f"docker network inspect {net} >/dev/null 2>&1 || docker network create {net}" for net in _quoted(networks)),
        f"docker create --name {name} {made}",
        *(f"docker network connect {net} {name}" for net in _quoted(networks) if net != shlex.quote(first)),
        f"docker start {name}",
    )


def missing_network(container: Json, error: str) -> str:
    """Return in words which network the error calls by an id that no list has any more; nothing where it calls none."""
    for name, how in _networks(container).items():
        id_ = text(mapping(how), "NetworkID")
        if any(id_.startswith(word) for word in re.findall(r"[0-9a-f]{12,64}", error)):
            net, called = shlex.quote(name), shlex.quote(text(container, "Name").lstrip("/"))
            remedy = f"docker network create {net}; docker network connect {net} {called}"
            return f"its network {name} was removed: {remedy}"
    return ""


def _networks(container: Json) -> Json:
    known = mapping(mapping(container.get("NetworkSettings")).get("Networks"))
    return {name: how for name, how in known.items() if name not in _BUILT_IN}


def _quoted(names: Json) -> list[str]:
    return [shlex.quote(name) for name in names]


def _aliases(container: Json, network: Json) -> Iterator[str]:
    """Yield what others in the network call it, but for what Docker adds by itself."""
    for alias in items(network.get("Aliases")):
        if isinstance(alias, str) and not text(container, "Id").startswith(alias):
            yield alias


def _chips(host: Json) -> Iterator[str]:
    for device in map(mapping, items(host.get("Devices"))):
        if adopt.is_chip(text(device, "PathOnHost")):
            yield from ("--device", ":".join((text(device, "PathOnHost"), text(device, "PathInContainer"))))
    for request in map(mapping, items(host.get("DeviceRequests"))):
        ids = [str(id_) for id_ in items(request.get("DeviceIDs"))]
        if text(request, "Driver") == "cdi":
            yield from adopt.each("--device", ids)
        else:
            count = request.get("Count")
            yield from ("--gpus", f'"device={",".join(ids)}"' if ids else "all" if count == -1 else str(count))


def _mounts(container: Json, host: Json) -> Iterator[str]:
    """Yield the mounts that `Binds` does not say, a volume without a name of a person's by Docker's name for it."""
    bound = {str(bind).split(":")[1] for bind in items(host.get("Binds")) if ":" in str(bind)}
    for mount in map(mapping, items(container.get("Mounts"))):
        kind, target = text(mount, "Type"), text(mount, "Destination")
        source = text(mount, "Name") if kind == "volume" else text(mount, "Source")
        if kind in ("volume", "bind") and source and target not in bound:
            yield from ("--mount", f"type={kind},source={source},target={target}{',readonly' * (not mount.get('RW'))}")


def _shown(words: Sequence[str], secrets: list[str]) -> Iterator[str]:
    """Yield the words as a shell takes them. Of what looks like a secret the value is a variable, told in `secrets`."""
    before = ""
    for word in words:
        name, equals, value = word.partition("=")
        if before == "--env" and value and (redact.is_secret(name, value) or redact.text(value) != value):
            secrets.append(name)
            yield _quoted_word(name)  # `docker create` takes it from its own environment.
        elif name.startswith("-") and value and redact.is_secret(name, value):
            yield f'{_quoted_word(name)}{equals}"${_variable(name, secrets)}"'
        elif before.startswith("-") and not word.startswith("-") and redact.is_secret(before, word):
            yield f'"${_variable(before, secrets)}"'
        elif redact.text(word) != word:
            yield f'"${_variable(f"secret {len(secrets) + 1}", secrets)}"'
        else:
            yield _quoted_word(word)
        before = word


def _quoted_word(word: str) -> str:
    """Return the word for a shell, on one line: printf writes what cannot be shown."""
    if word.isprintable():
        return shlex.quote(word)
    octal = "".join(f"\\0{byte:03o}" if not 32 < byte < 127 or byte == 92 else chr(byte) for byte in word.encode())
    return f'"$(printf %b {shlex.quote(octal)})"'


def _variable(option: str, secrets: list[str]) -> str:
    name = re.sub(r"[^A-Z0-9]+", "_", option.strip("-").upper())
    secrets.append(name)
    return name
