"""The users who may ask the service something, or order it; and those who can read what cmgr has written."""

import grp
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

from cmgr.acl import ENTER, lets_in
from cmgr.cli.check.finding import OK, WARNING, Finding
from cmgr.config.reporters import Reporter
from cmgr.config.roles import ANYBODY, Holder
from cmgr.config.settings import Config
from cmgr.service.door.claim import GROUP, gid_of
from cmgr.service.door.http.peer_roles import groups_of
from cmgr.service.door.orders.chips import named_user

_ROLES = {"look": "may look", "report": "may report and look", "operate": "may do everything"}


def findings(config: Config, database: Path) -> Iterator[Finding]:
    yield _group(config)
    directory = Path(config.socket).parent
    for number, holder in enumerate(config.roles, start=1):
        yield _holder(f"roles[{number}]", holder, directory)
    for source in config.reports.sources:
        yield _holder(f"source {source.name}", source, directory)
    if config.roles or config.reports.sources:
        yield from _readers(database)


def _group(config: Config) -> Finding:
    members = _members(GROUP)
    if members is None:
        text = f"there is no group {GROUP}: only root and the service's own user reach it"
        if config.driver == "sim":
            # For drills and tours that is as it should be; the packages make the group on an appliance.
            return Finding("group", OK, text)
        hint = (
            f"to let others use it: groupadd --system {GROUP}, then usermod -aG {GROUP} USER, and restart the service"
        )
        return Finding("group", WARNING, text, hint)
    return Finding("group", OK, f"group {GROUP} may use the service: {members}")


def _holder(key: str, holder: Holder | Reporter, directory: Path) -> Finding:
    """Return who this entry gives a role to, or why it gives more than it says, or nothing."""
    role = holder.role if isinstance(holder, Holder) else "report"
    uid, group = (None if holder.uid == ANYBODY else holder.uid), holder.group
    who = " in ".join(part for part in (named_user(uid) if uid is not None else "", group and f"group {group}") if part)
    gid = gid_of(group) if group else None
    if group and gid is None:
        text = f"{key}: there is no group {group}: nobody has a role by that"
        return Finding("roles", WARNING, text, f"groupadd --system {group}, then restart the service")
    operators = gid_of(GROUP)
    if role != "operate" and operators is not None and uid is not None and operators in groups_of(uid):
        text = f"{key}: {who} is in group {GROUP}, which may do everything, and can read the database"
        return Finding("roles", WARNING, text, f"take it out: gpasswd -d USER {GROUP}")
    if not _can_enter(directory, uid, gid):
        text = f"{key}: {who} cannot reach the socket: {directory} is closed to it"
        hint = "the service opens the directory that systemd makes for it when it starts; open another one by hand"
        return Finding("roles", WARNING, text, hint)
    members = f" ({_members(group)})" if group else ""
    return Finding("roles", OK, f"{key}: {who}{members} {_ROLES[role]}")


def _can_enter(directory: Path, uid: int | None, gid: int | None) -> bool:
    try:
        # A user who must be in a group, too, is let in by his own number.
        return uid == 0 or lets_in(directory, ENTER, uid, None if uid is not None else gid)
    except OSError:
        return True  # It is not there yet: the service will make it.


def _readers(database: Path) -> Iterator[Finding]:
    try:
        status = database.stat()
    except OSError:
        return
    who = [] if status.st_uid == 0 else [named_user(status.st_uid)]
    if status.st_mode & stat.S_IRGRP:
        try:
            name = grp.getgrgid(status.st_gid).gr_name
        except KeyError:
            name = str(status.st_gid)
        who.append(f"group {name} ({_members(name) or 'nobody is in it'})")
    text = f"the database, which has the history, can be read by {' and '.join(['root', *who])}, and nobody else"
    yield Finding("roles", OK, text)


def _members(group: str) -> str | None:
    """Return the members of a group in words, those whose first group it is included; None: there is no such group."""
    try:
        found = grp.getgrnam(group)
    except KeyError:
        return None
    first = [person.pw_name for person in pwd.getpwall() if person.pw_gid == found.gr_gid]
    return ", ".join(sorted({*found.gr_mem, *first})) or "nobody is in it yet"
