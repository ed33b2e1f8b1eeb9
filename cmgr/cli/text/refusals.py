"""The mistakes of a command line in Chinese: typer itself speaks English alone."""

from collections.abc import Sequence
from typing import Any

from cmgr.sentences.sentence import Sentence, say


def lines(error: Any) -> Sequence[str]:
    """Return a refusal of typer's as its `show` writes it. Its own words about a value stay as they are."""
    context = error.ctx
    told = [say("usage.error", what=_what(error))]
    if context is None:
        return told
    words = " ".join([context.command_path, *context.command.collect_usage_pieces(context)])
    return [say("usage.usage", words=words), say("usage.help", command=f"{context.command_path} --help"), "", *told]


def _what(error: Any) -> str:
    said, option, parameter = error.message, getattr(error, "option_name", None), getattr(error, "param", None)
    if isinstance(said, Sentence):
        return said
    if option and hasattr(error, "possibilities"):
        like = sorted(error.possibilities or ())
        what = say("usage.no-option", option=option)
        return say("usage.no-option-but", option=option, like=like) if like else what
    # Without a context it is the parser itself that misses a value.
    if option and error.ctx is None:
        return say("usage.needs-value", option=option)
    return say("usage.not-understood", why=said) if parameter is None else _of_value(error, parameter)


def _of_value(error: Any, parameter: Any) -> str:
    name, kind = parameter.get_error_hint(error.ctx), parameter.type
    if not error.message:
        return say("error.is-missing", name=name)
    if those := getattr(kind, "choices", None):
        return say("error.must-be-one-of", name=name, those=[str(each) for each in those])
    if (least := getattr(kind, "min", None)) is not None:
        return say("usage.at-least", name=name, least=least)
    if kind.name.startswith("int"):
        return say("error.is-no-number", name=name)
    return say("word.because", what=name, why=error.message)
