"""The help in groups, the words of other tools, and paths before the command."""

import re

import pytest

from cmgr.cli.app import COMMANDS, GROUPS
from cmgr.cli.text.others import OTHERS
from tests.cli.conftest import Home


def test_the_help_has_every_command_in_its_group(home: Home) -> None:
    told = home.cmgr("--help").out
    heads = re.findall(r"^(\w[\w ]*):$", told, re.MULTILINE)
    assert heads[-len(GROUPS) :] == list(GROUPS)
    for head, commands in GROUPS.items():
        listed = re.findall(r"^  (\S+)  ", told.partition(f"\n{head}:\n")[2].partition("\n\n")[0], re.MULTILINE)
        assert listed == list(commands)


@pytest.mark.parametrize("word", sorted(OTHERS))
def test_a_word_of_another_tool_is_answered_with_ours(home: Home, word: str) -> None:
    told = home.cmgr(word, "chat")
    assert (told.code, told.out) == (2, "")
    assert f"No such command '{word}'. Here that is: {OTHERS[word]}" in " ".join(told.err.split())


def test_what_is_answered_are_commands_and_none_of_the_words_is_one() -> None:
    assert not OTHERS.keys() & COMMANDS.keys()
    assert {name for told in OTHERS.values() for name in re.findall(r"\bcmgr ([a-z-]+)", told)} <= COMMANDS.keys()


def test_help_is_a_word_too(home: Home) -> None:
    assert home.cmgr("help").out == home.cmgr("--help").out
    assert home.cmgr("help", "isolate").out == home.cmgr("isolate", "--help").out


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize("spelled", [("--config", "{}"), ("--config={}",)])
def test_paths_stand_before_the_command_too(home: Home, spelled: tuple[str, ...]) -> None:
    paths = [word.format(home.config) for word in spelled]
    for command in ("chips", "status", "faults"):
        told = home.cmgr(*paths, command)
        assert (told.code, told.err) == (0, "")
        assert told.out == home.here(command).out


@pytest.mark.parametrize("words", [("--config",), ("--config", "x"), ("--state-dir", "x", "--socket", "y")])
def test_paths_alone_are_no_command(home: Home, words: tuple[str, ...]) -> None:
    told = home.cmgr(*words)
    assert (told.code, told.out) == (2, "")


def test_the_version_is_told_for_the_short_option(home: Home) -> None:
    assert home.cmgr("-V").out == home.cmgr("--version").out
