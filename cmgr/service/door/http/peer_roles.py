"""The roles of those who ask: what the configuration names, against what the kernel says of a peer."""

import os
import pwd
from collections.abc import Collection
from pathlib import Path

from cmgr import acl
from cmgr.config.reporters import Reporter
from cmgr.config.roles import ANYBODY, Holder, Role
from cmgr.config.settings import Config
from cmgr.frozen import dataclass
from cmgr.service.door.claim import GROUP, gid_of


@dataclass(frozen=True, slots=True)
class Named:
    """Users who were named: of this group, if its number is known, and this uid."""

    role: Role
    uid: int
    gid: int | None
    reporter: Reporter | None = None

    def means(self, uid: int, groups: Collection[int]) -> bool:
        return self.uid in (ANYBODY, uid) and (self.gid is None or self.gid in groups)


class Roles:
    """Any thread. Numbers of groups are asked for when a configuration is taken, and of nobody who comes."""

    def __init__(self, config: Config | None = None) -> None:
        self._named: tuple[Named, ...] = ()
        self._open, self._group, self._own = True, gid_of(GROUP), os.geteuid()
        if config is not None:
            self.take(config)

    def take(self, config: Config) -> None:
        """Have what this configuration names count from now on."""
        # It is never open again: who came in as a reader would operate, where the last role is taken away.
        self._open = self._open and not config.roles and not config.reports.sources
        self._group = gid_of(GROUP)
        self._named = named(config)

    def of(self, uid: int, groups: Collection[int]) -> Role:
        """Return the role of a peer. Where nobody is named the socket's mode alone says who operates."""
        if self._open or uid in (0, self._own) or self._group in groups:
            return Role.OPERATE
        return max((each.role for each in self._named if each.means(uid, groups)), default=Role.NONE)

    def of_user(self, uid: int) -> Role:
        """Return the role of a user of whom no process is there, in whose place the page asks."""
        groups = groups_of(uid)
        if self._open and not (uid in (0, self._own) or self._group in groups):
            return Role.NONE
        return self.of(uid, groups)

    def reporters(self, uid: int, groups: Collection[int]) -> list[Reporter]:
        """Return what a peer may report as."""
        return [each.reporter for each in self._named if each.reporter is not None and each.means(uid, groups)]

    def let_in(self, socket_: Path) -> None:
        """Have the kernel let those who are named reach the socket, and nobody else. Raises OSError.

        Into its directory they are let where systemd has made that for cmgr: others may be for more than the socket.
        """
        # A user who must be in a group, too, connects by his uid alone, and is refused then.
        users = {each.uid for each in self._named if each.uid != ANYBODY}
        groups = {each.gid for each in self._named if each.uid == ANYBODY and each.gid is not None}
        if str(socket_.parent) in os.environ.get("RUNTIME_DIRECTORY", "").split(":"):
            acl.let_in(socket_.parent, acl.ENTER, users, groups)
        acl.let_in(socket_, acl.READ | acl.WRITE, users, groups)


def named(config: Config) -> tuple[Named, ...]:
    """Return whom the configuration names. Of a group that is not there nobody is."""
    holders: list[Holder | Reporter] = [*config.roles, *config.reports.sources]
    found = []
    for each in holders:
        gid = gid_of(each.group) if each.group else None
        if gid is not None or not each.group:
            role = Role[each.role.upper()] if isinstance(each, Holder) else Role.REPORT
            found.append(Named(role, each.uid, gid, each if isinstance(each, Reporter) else None))
    return tuple(found)


def groups_of(uid: int) -> frozenset[int]:
    """Return the groups of a user; none where nobody knows him."""
    try:
        person = pwd.getpwuid(uid)
    except (KeyError, OverflowError):
        return frozenset()
    return frozenset(os.getgrouplist(person.pw_name, person.pw_gid))
