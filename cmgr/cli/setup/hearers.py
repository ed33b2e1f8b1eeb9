"""The receivers of alarms that `cmgr setup` is given: by options, or typed; checked as those of the configuration."""

import re

from cmgr.cli.text import out
from cmgr.config.load import mistakes_of
from cmgr.config.receivers import FORMATS, Receiver
from cmgr.config.schema import row
from cmgr.sentences.sentence import say

Table = dict[str, object]
"""As TOML has it."""

_KINDS = {setting.key: setting.kind for setting in row(Receiver)}


def option_of(text: str) -> Table:
    """Return what one --alarm says: an address, or `KEY=VALUE` with commas between; a value may have commas itself."""
    if not re.match(r"[a-z_]+=", text):
        return {"url": text}
    said: dict[str, list[str]] = {}
    for word in re.split(r",(?=[a-z_]+=)", text):
        name, _, value = word.partition("=")
        said.setdefault(name, []).append(value)
    return {name: _parsed(name, ",".join(values)) for name, values in said.items()}


def typed() -> Table | None:
    """Ask for one; None: nobody is told."""
    question = say("setup.how-told", forms=[*FORMATS])
    name = out.ask(question, "", lambda text: _KINDS["format"].take(text) if text else "")
    while name:
        table = _asked(name)
        if not (wrong := mistakes_of([table], "typed")):
            return table
        out.error("\n".join(wrong))
    return None


def _asked(name: str) -> Table:
    form = FORMATS[name]
    table: Table = {"format": name}
    if form.schemes:
        question = say("setup.where-mail", name=name) if name == "mail" else say("setup.where", name=name)
        where = out.ask(question, "", lambda text: _KINDS[_key(text)].take(text))
        table[_key(where)] = where
    table |= {key: _answer(key) for key in form.needs}
    if name == "mail" and out.agreed(say("setup.wants-password"), False):
        table |= {key: _answer(key) for key in ("user", "secret_file")}
    return table


def _answer(key: str) -> object:
    (sentence,) = (setting.meta.sentence for setting in row(Receiver) if setting.key == key)
    return _parsed(key, out.ask(f"{key}: {sentence}", "", lambda text: _KINDS[key].take(_parsed(key, text))))


def _key(where: str) -> str:
    return "url_file" if where.startswith("/") else "url"


def _parsed(key: str, text: str) -> object:
    return _KINDS[key].parse(text) if key in _KINDS else text
