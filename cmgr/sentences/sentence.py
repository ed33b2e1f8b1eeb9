"""Sentences: each is a message of the catalog with its arguments, and the English text of that.

Rules:
1. A sentence is a text, and is compared and hashed as one: whoever takes a text takes it. Only an f-string, a slice or
   a join makes a bare text of it. Therefore a sentence that is put together of others is a message, too, with those as
   arguments, and `parts` joins whole ones.
2. The text stays as it was said. Another language is made of id and arguments when somebody asks for it; where that
   cannot be, and of a bare text, it is the English one.
3. An order that a person can type is a text of its own kind (`Order`): whoever has the sentence finds it (`orders_in`).
4. Ids stand in the code as they are, never put together: a test looks for each call of `say`, and for its arguments.

A catalog is a file of JSON for each language and area, by id. In a message `{name}` is an argument as it is, and
`{name:kind}` is shown as one of `KINDS` (`own`: of a text for each of `LANGUAGES`, the language's own), as a word of
the catalog or a sentence (`word`), or, with a bar, as the first for one or the second for any other number, or
length of a list: `{names:runs|run}`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cache
from json.encoder import encode_basestring_ascii as _quoted
from string import Formatter
from typing import Annotated, Any, TypedDict, TypeVar, cast

from cmgr.errors import CmgrError, bare, causes
from cmgr.errors import sentence as plain_sentence
from cmgr.sentences.hints import Order
from cmgr.words import runs, span, times

ENGLISH, CHINESE = "en", "zh"
LANGUAGES = (ENGLISH, CHINESE)

AREAS = (
    "act",
    "back",
    "call",
    "check",
    "chip",
    "code",
    "config",
    "container",
    "decider",
    "demo",
    "drill",
    "drillcli",
    "driver",
    "error",
    "explain",
    "fault",
    "found",
    "group",
    "heal",
    "hint",
    "hold",
    "hook",
    "label",
    "late",
    "machine",
    "maintenance",
    "migrate",
    "notice",
    "order",
    "page",
    "person",
    "rank",
    "reboot",
    "ring",
    "setup",
    "slot",
    "start",
    "store",
    "symptom",
    "trouble",
    "trust",
    "usage",
    "word",
)
"""The beginnings of ids up to the first dot: a file of its own in each catalog."""

Arg = str | int | timedelta | Sequence["Arg"]

Part = str | float | list["Part"]
"""An argument as it is kept: a span in seconds."""


class Message(TypedDict):
    """A sentence as JSON, without its text. A sentence or an order among the arguments has its text besides."""

    id: Annotated[str, "which message it is"]
    args: Annotated[
        dict[str, object],
        "its arguments by name; spans are seconds, a sentence has `id`, `args`, `text`, an order `do`, `args`, `text`",
    ]


LONGEST, DEEPEST = 1 << 14, 12
"""So many bytes, and so many levels of JSON, another program's message may have."""

_UNSAYABLE = ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError
"""The errors of messages and arguments that are none of ours."""

_LARGEST = 1 << 53
"""Beyond that a number is another one in JavaScript."""

Value = TypeVar("Value")

_HERE = __file__.rpartition("/")[0]

_compact = json.JSONEncoder(separators=(",", ":")).encode


class Sentence(str):
    """A text that knows of what message it was made."""

    __slots__ = ("args", "id")

    id: str
    args: Mapping[str, Part]

    def __new__(cls, text: str, id_: str, args: Mapping[str, Part]) -> "Sentence":
        made = super().__new__(cls, text)
        made.id, made.args = id_, args
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Sentence, (str(self), self.id, self.args)


def say(id_: str, **args: Arg) -> Sentence:
    """Return this message with these arguments."""
    if not args:
        return _bare(id_)
    kept = cast("dict[str, Part]", args)  # They are of this call alone.
    for name, arg in args.items():
        if not isinstance(arg, (str, int)):  # A union takes three times as long.
            kept[name] = _part(arg)
    return Sentence(_rendered(ENGLISH, id_, kept), id_, kept)


@cache  # A driver says what it asks at each of its questions.
def _bare(id_: str) -> Sentence:
    return Sentence(_rendered(ENGLISH, id_, {}), id_, {})


def parts(sentences: Iterable[str]) -> str:
    """Return whole sentences as one; nothing of none."""
    told = [each for each in sentences if each]
    if len(told) < 2:
        return told[0] if told else ""
    return say("word.parts", parts=told)


def because(what: str, why: str) -> str:
    """Return what is so and why; without a reason what is so."""
    return say("word.because", what=what, why=why) if why else what


def chained(error: BaseException) -> str:
    """Return the error and its causes as `errors.chain` does, as a sentence."""
    *before, told = causes(error)
    for what in reversed(before):
        told = because(what, told)
    return told


def reason(error: BaseException, unsaid: str) -> str:
    """Return what `errors.sentence` does, as a sentence where the error, or a cause of it, is one."""
    if not any(isinstance(each, Sentence) for each in causes(error)):
        return plain_sentence(error, unsaid)
    told = chained(error)
    while isinstance(told, Sentence) and told.id == "word.because" and _is(told.args["what"], unsaid):
        told = cast("str", told.args["why"])
    told = bare(told, unsaid)
    hint = error.hint if isinstance(error, CmgrError) else ""
    return say("word.hinted", what=told, hint=hint) if hint else told


def _is(what: Part, verb: str) -> bool:
    return isinstance(what, str) and what.startswith(f"cannot {verb} ") and ": " not in what


def in_language(text: str, language: str) -> str:
    """Return the text in this language; as it is where it has no message, or one that nobody can say."""
    if language == ENGLISH or not isinstance(text, Sentence):
        return text
    try:
        return _rendered(language, text.id, text.args)
    except _UNSAYABLE:
        return text  # A newer cmgr said it, or the catalog cannot be opened now.


def translated(document: Value, language: str) -> Value:
    """Return a document with its sentences in this language."""
    if language == ENGLISH:
        return document
    return cast("Value", _translated(document, language))


_PLAIN = frozenset({str, int, float, bool, type(None)})


def _translated(told: object, language: str) -> object:
    if isinstance(told, Sentence):
        return in_language(told, language)
    if isinstance(told, dict):
        # Messages are for programs, and are the same in each language.
        return {
            key: value if type(value) in _PLAIN or key == "messages" else _translated(value, language)
            for key, value in told.items()
        }
    return [_translated(value, language) for value in told] if isinstance(told, (list, tuple)) else told


def language_of(wished: str) -> str:
    """Return the language that is wished with such a word: `zh`, `zh_CN.UTF-8`, `zh-Hans`; English for any other."""
    return CHINESE if wished.casefold().startswith(CHINESE) else ENGLISH


def targets(target: str, language: str) -> tuple[str, ...]:
    """Return what to ask a service for, so that it answers in this language; the next where it refuses with 400.

    A service that was not restarted after an update takes no language, and does nothing that it cannot read. If it
    refuses both, the first refusal counts.
    """
    return (target,) if language == ENGLISH else (f"{target}{'&' if '?' in target else '?'}lang={language}", target)


def messages(**texts: str | Sequence[str]) -> dict[str, Message]:
    """Return the messages of those of these texts that are sentences; in a list with its place: `remarks[0]`."""
    found: dict[str, Message] = {}
    for name, told in texts.items():
        if isinstance(told, Sentence):
            found[name] = message(told)
        elif not isinstance(told, str):
            found |= {f"{name}[{n}]": message(text) for n, text in enumerate(told) if isinstance(text, Sentence)}
    return found


def message(said: Sentence) -> Message:
    return {"id": said.id, "args": {name: _plain(part) for name, part in said.args.items()}}


def written(said: Sentence) -> str:
    """Return the message as JSON without spaces: each noted line has one, and `json` took three times as long."""
    return f"{_opened(said)}}}"


def _opened(said: Sentence) -> str:
    args = ",".join([f"{_quoted(name)}:{_json(part)}" for name, part in said.args.items()])
    return f'{{"id":{_quoted(said.id)},"args":{{{args}}}'


def _json(part: Part) -> str:
    if type(part) is str:
        return _quoted(part)
    if type(part) is Sentence:
        return f'{_opened(part)},"text":{_quoted(part)}}}'
    return str(part) if type(part) is int else _compact(_plain(part))


def orders_in(text: str) -> tuple[Order, ...]:
    """Return the orders that a text names, or is."""
    if isinstance(text, Order):
        return (text,)
    return tuple(_orders(list(text.args.values()))) if isinstance(text, Sentence) else ()


def _orders(part: Part) -> Iterator[Order]:
    if isinstance(part, list):
        for each in part:
            yield from _orders(each)
    elif isinstance(part, str):
        yield from orders_in(part)


def without_orders(part: Part) -> Part:
    """Return what is said without orders in it: those are only texts then."""
    if isinstance(part, Sentence):
        return Sentence(str(part), part.id, {name: without_orders(each) for name, each in part.args.items()})
    if isinstance(part, list):
        return [without_orders(each) for each in part]
    return str(part) if isinstance(part, Order) else part


def sentence(text: str, told: Mapping[str, Any]) -> Sentence:
    """Return the sentence that `message` has told of. Raises `LookupError` or `TypeError` for what is none."""
    return Sentence(text, told["id"], {name: _taken(part) for name, part in told["args"].items()})


def heard(text: str, told: object) -> str:
    """Return the sentence that another program has told of; the text alone where its message says another.

    So what is made of it later can be said, and kept, wherever ours can.
    """
    try:
        if len(json.dumps(told, ensure_ascii=False, allow_nan=False).encode()) > LONGEST or not _is_flat(told, DEEPEST):
            return text
        made = sentence(text, cast("Mapping[str, Any]", told))
        shown = _rendered(CHINESE, made.id, made.args) if _holds(made) else ""
        # Chinese may show arguments that English does not.
        return made if 0 < len(shown) <= LONGEST and shown.isprintable() >= text.isprintable() else text
    except _UNSAYABLE:
        return text  # Of a newer program, perhaps.


def _is_flat(told: object, left: int) -> bool:
    parts = told.values() if isinstance(told, dict) else told if isinstance(told, list) else ()
    return left > 0 and all(_is_flat(part, left - 1) for part in parts)


def _holds(part: object) -> bool:
    """Return whether this is an argument that `say` could have, and each sentence in it is what its message says."""
    if isinstance(part, list):
        return all(map(_holds, part))
    if isinstance(part, Sentence):
        names = {name for _, name, _ in pieces(ENGLISH, part.id) if name}
        known = names == part.args.keys() and all(map(_holds, part.args.values()))
        return known and part == _rendered(ENGLISH, part.id, part.args)
    return isinstance(part, str) or (isinstance(part, int | float) and abs(part) < _LARGEST)


def _part(arg: Arg) -> Part:
    if isinstance(arg, (str, int)):
        return arg
    return arg.total_seconds() if isinstance(arg, timedelta) else [_part(each) for each in arg]


def _plain(part: Part) -> Any:
    if isinstance(part, Sentence):
        return {**message(part), "text": str(part)}
    if isinstance(part, Order):
        return {"do": part.do, "args": dict(part.args), "text": str(part)}
    return [_plain(each) for each in part] if isinstance(part, list) else part


def _taken(told: Any) -> Part:
    if isinstance(told, Mapping):
        return Order(told["do"], told["args"]) if "do" in told else sentence(told["text"], told)
    return [_taken(each) for each in told] if isinstance(told, list) else told


@cache
def catalog(language: str) -> Mapping[str, str]:
    """Return all messages of a language. Raises `OSError`."""
    found: dict[str, str] = {}
    for area in AREAS:
        with open(f"{_HERE}/{language}/{area}.json", encoding="utf-8") as file:
            found |= json.load(file)
    return found


# Like a module, at once: who has run out of descriptors could not open it later.
catalog(ENGLISH)


@cache
def pieces(language: str, id_: str) -> tuple[tuple[str, str, str], ...]:
    """Return a message as texts, each with the argument behind it, or none, and the kind of that."""
    parsed = Formatter().parse(catalog(language)[id_])
    return tuple((text, name or "", kind or "") for text, name, kind, _ in parsed)


def _rendered(language: str, id_: str, args: Mapping[str, Part]) -> str:
    # A plain loop: a fault that stops eight containers says thirty sentences before the first stop is out.
    told = []
    for text, name, kind in pieces(language, id_):
        told.append(text)
        if name:
            part = args[name]
            told.append(part if type(part) is str and not kind else _shown(language, kind, part))
    return "".join(told)


def _shown(language: str, kind: str, part: Any) -> str:
    if not kind:
        return in_language(part, language) if isinstance(part, str) else str(part)
    if "|" in kind:
        one, _, many = kind.partition("|")
        return one if (part if isinstance(part, int) else len(part)) == 1 else many
    if kind == "word" and not isinstance(part, Sentence):
        return catalog(language).get(f"word.{part}", str(part))
    if kind in _BETWEEN:
        told = [in_language(each, language) for each in part]
        before = [_BETWEEN["list"][language].join(told[:-1]), *told[-1:]] if kind in ("and", "or") else told
        return _BETWEEN[kind][language].join(filter(None, before))
    return in_language(part, language) if kind == "word" else str(KINDS[kind][language](part))


_BETWEEN: Mapping[str, Mapping[str, str]] = {
    "list": {ENGLISH: ", ", CHINESE: "、"},
    "facts": {ENGLISH: ", ", CHINESE: "，"},
    "and": {ENGLISH: " and ", CHINESE: " 和 "},
    "or": {ENGLISH: " or ", CHINESE: " 或 "},
    "parts": {ENGLISH: "; ", CHINESE: "；"},
    "lines": {ENGLISH: "\n", CHINESE: "\n"},
}

_UNITS = {"ms": "毫秒", "s": "秒", "min": "分钟", "h": "小时", "d": "天"}


def _span(seconds: float) -> str:
    return span(timedelta(seconds=seconds))


def _chinese_span(seconds: float) -> str:
    return " ".join(_UNITS.get(word, word) for word in _span(seconds).split())


def _chips(chips: Sequence[int]) -> str:
    return f"{'chip' if len(chips) == 1 else 'chips'} {runs(chips)}"


KINDS: Mapping[str, Mapping[str, Any]] = {
    "chips": {ENGLISH: _chips, CHINESE: lambda chips: f"芯片 {runs(chips)}"},
    "span": {ENGLISH: _span, CHINESE: _chinese_span},
    "exact": {ENGLISH: lambda seconds: f"{seconds:.3f} s", CHINESE: lambda seconds: f"{seconds:.3f} 秒"},
    "times": {ENGLISH: times, CHINESE: lambda count: f"{count} 次"},
    "own": {ENGLISH: lambda texts: texts[0], CHINESE: lambda texts: texts[1] or texts[0]},
}
"""How arguments are shown, by kind and language, besides the joins of lists in `_BETWEEN`."""
