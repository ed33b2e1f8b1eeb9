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
from cmgr.sentences.sentence import say
from cmgr.service.door.claim import GROUP, gid_of
from cmgr.service.door.http.peer_roles import groups_of
from cmgr.service.door.orders.chips import named_user

UNIX_GROUP = say("check.unix-group")


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
        text = say("check.no-group", group=GROUP)
        if config.driver == "sim":
            # For drills and tours that is as it should be; the packages make the group on an appliance.
            return Finding(UNIX_GROUP, OK, text)
        add, join = f"groupadd --system {GROUP}", f"usermod -aG {GROUP} USER"
        return Finding(UNIX_GROUP, WARNING, text, say("check.make-group", add=add, join=join))
    return Finding(UNIX_GROUP, OK, say("check.group-may", group=GROUP, members=members))


def _holder(key: str, holder: Holder | Reporter, directory: Path) -> Finding:
    """Return who this entry gives a role to, or why it gives more than it says, or nothing."""
    role = holder.role if isinstance(holder, Holder) else "report"
    uid, group = (None if holder.uid == ANYBODY else holder.uid), holder.group
    who = _who(uid, say("check.group", group=group) if group else "")
    gid = gid_of(group) if group else None
    if group and gid is None:
        hint = say("check.then-restart", command=f"groupadd --system {group}")
        return Finding("roles", WARNING, say("check.role-no-group", key=key, group=group), hint)
    operators = gid_of(GROUP)
    if role != "operate" and operators is not None and uid is not None and operators in groups_of(uid):
        text = say("check.role-in-group", key=key, who=who, group=GROUP)
        return Finding("roles", WARNING, text, say("check.out-of-group", command=f"gpasswd -d USER {GROUP}"))
    if not _can_enter(directory, uid, gid):
        text = say("check.role-shut-out", key=key, who=who, directory=str(directory))
        return Finding("roles", WARNING, text, say("check.open-directory"))
    who = _who(uid, say("check.group-of", group=group, members=_members(group) or "") if group else "")
    may = {
        "look": say("check.may-look", key=key, who=who),
        "report": say("check.may-report", key=key, who=who),
        "operate": say("check.may-operate", key=key, who=who),
    }
    return Finding("roles", OK, may[role])


def _who(uid: int | None, group: str) -> str:
    if uid is None:
        return group
    return say("check.user-in", user=named_user(uid), group=group) if group else named_user(uid)


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
        who.append(say("check.group-of", group=name, members=_members(name) or say("check.nobody-is-in-it")))
    yield Finding("roles", OK, say("check.readers", who=["root", *who]))


def _members(group: str) -> str | None:
    """Return the members of a group in words, those whose first group it is included; None: there is no such group."""
    try:
        found = grp.getgrnam(group)
    except KeyError:
        return None
    first = [person.pw_name for person in pwd.getpwall() if person.pw_gid == found.gr_gid]
    return ", ".join(sorted({*found.gr_mem, *first})) or say("check.nobody-yet")
