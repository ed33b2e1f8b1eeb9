"""What `cmgr check` says of the directories that lead to the files that cmgr writes."""

from collections.abc import Iterator

from cmgr.cli.check.checks import ERROR, OK, WARNING, Finding
from cmgr.config import places
from cmgr.config.settings import Config

WHAT = "directories"


def directories(config: Config) -> Iterator[Finding]:
    """Yield each place where others could put their own files instead of cmgr's. A configuration there is not read."""
    # Many a system lets the group of its log daemon write /var/log: that is no reason not to log there.
    paths = (
        ("state_dir", f"{config.state_dir}/file", ERROR),
        ("socket", config.socket, ERROR),
        ("log.file", config.log.file, WARNING),
    )
    sound = True
    for name, path, state in paths:
        try:
            found = places.weakness(path) if path else None
        except OSError as error:
            found = places.Weakness(f"cannot look at the way to {path}: {error.strerror or error}", "run it as root")
        if found is not None:
            yield Finding(WHAT, state, f"{name}: {found.reason}", found.hint)
            sound = False
    if sound:
        yield Finding(WHAT, OK, "others can change nothing on the way to cmgr's files")
