"""Every message is there in each language, is said with its arguments, and has no words of the wrong language."""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from cmgr.sentences.sentence import CHINESE, ENGLISH, LANGUAGES, Arg, catalog, in_language, pieces, say

ROOT = Path(__file__).parents[2]
IDS = sorted(catalog(ENGLISH))

HAN = re.compile(r"[\u4e00-\u9fff]")
OTHER_SIGNS = re.compile(r"(?<=[\u4e00-\u9fff])[,:;()?]|[,:;()?](?=[\u4e00-\u9fff])")

TOOLS = "cmgr|systemctl|journalctl|machinectl|docker|podman|nerdctl|kubectl|nomad|balena|incus|lxc-stop|ps|fuser"
COMMAND = re.compile(rf"\b(?:{TOOLS}|usermod|findmnt) [^\s\u2e80-\uffef][^\u2e80-\uffef]*")
"""In Chinese a command ends where Chinese goes on."""

TYPED = re.compile(
    r"(?:cmgr [a-z]+ )?--[a-z]+(?:-[a-z]+)*|\b(?:[A-Z]{2,} )*CODE\b|docs/[a-z]+\.md|\[\[[a-z.]+\]\]|\"chip\""
    r"|[a-z_]+\.[a-z_-]+(?: ?= ?(?:[a-z]+|NAME))?|[a-z_]+ = (?:[A-Za-z]+|\[|\"\")?|docker compose|\[containers\]"
    r"|kill -(?:CONT|9)|hccn_tool -i 0 -ip -g|-ip -s|chmod a\+x"
    r"|depends_on(?:, restart: true)?|CMD \[\"program\", …\]|STOPSIGNAL|TimeoutStartSec="
    r"|systemd-sysv|live-restore|LD_LIBRARY_PATH|[a-z]+_[a-z_]+|[A-Z][a-z]+…|ReadWritePaths"
)
"""Words that stand in every language as they are typed: options, settings."""

NAMES = {
    "active",
    "beat",
    "BMC",
    "Bus",
    "busybox",
    "CDI",
    "cert",
    "CHIP",
    "cmgr",
    "compose",
    "ConfigMap",
    "conmon",
    "critical",
    "cron",
    "Ctrl",
    "Deployments",
    "describe",
    "dmesg",
    "Docker",
    "dockerd",
    "EDAC",
    "etcd",
    "Fabric",
    "false",
    "GPU",
    "HBM",
    "HCCS",
    "https",
    "hwmon",
    "id",
    "InfoROM",
    "init",
    "ioctl",
    "JSON",
    "kB",
    "libdcmi",
    "logrotate",
    "major",
    "Manager",
    "md",
    "MHz",
    "Microsoft",
    "MIG",
    "minor",
    "modeset",
    "NAME",
    "never",
    "NTP",
    "NVIDIA",
    "NVLink",
    "NVML",
    "NVRM",
    "pid",
    "podman",
    "ranktable",
    "Replicas",
    "RestartNPU",
    "ringRecover",
    "root",
    "runtimes",
    "SeparateNPU",
    "shell",
    "shutdown",
    "singleRecover",
    "SMP",
    "SRAM",
    "sudo",
    "systemd",
    "TLS",
    "TOML",
    "true",
    "uid",
    "UNIT",
    "UTC",
    "UTF",
    "UUID",
    "vGPU",
    "vNPU",
    "webhook",
    "Xid",
}

OTHERWISE = {"symptom.little-space": {"spare"}, "decider.needs-network": {"down"}}
"""Words of the table that have another meaning in these messages."""


PASSED_ON = "say(id_, **args)"
"""So `Face.says` goes on: each call of that is looked at."""


def names(language: str, id_: str) -> set[str]:
    return {name for _, name, _ in pieces(language, id_) if name}


def sample(id_: str, count: int = 2) -> Mapping[str, Arg]:
    """Return arguments of which no word is of any language; of what is counted there are so many."""
    kinds: dict[str, str] = {}
    for _, name, kind in (piece for language in LANGUAGES for piece in pieces(language, id_)):
        if name and (name not in kinds or (kind and "|" not in kind)):
            kinds[name] = kind
    shown: Mapping[str, Any] = {
        "chips": list(range(count)),
        "span": timedelta(seconds=90),
        "times": count,
        "own": ["◆", "◇"],
        "exact": timedelta(seconds=1.5),
        "word": "waiting",
        **dict.fromkeys(("list", "facts", "and", "or", "either", "parts", "lines"), ["◆", "◇"][:count]),
    }
    return {name: shown.get(kind, count if "|" in kind else "◆") for name, kind in kinds.items()}


def commands(chinese: str) -> list[str]:
    return [command.strip() for command in COMMAND.findall(chinese)]


def said() -> Iterator[tuple[str, ast.Call]]:
    for path in sorted((ROOT / "cmgr").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or ast.unparse(node) == PASSED_ON:
                continue
            func = ast.unparse(node.func)
            if func == "say" or func.endswith(".says"):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_catalog_has_every_message_with_the_arguments_of_the_english_one(language: str) -> None:
    assert sorted(catalog(language)) == IDS
    assert [id_ for id_ in IDS if names(language, id_) != names(ENGLISH, id_)] == []


def test_whatever_is_said_is_in_the_catalog_and_has_its_arguments() -> None:
    wrong, used = [], set[str]()
    for place, call in said():
        id_ = call.args[0].value if isinstance(call.args[0], ast.Constant) else None
        given = {keyword.arg for keyword in call.keywords}
        if not isinstance(id_, str) or id_ not in IDS or given != names(ENGLISH, id_):
            wrong.append(f"{place}: {id_!r}")
        else:
            used.add(id_)
    assert wrong == []
    # A word of the catalog is the value of an argument.
    assert [id_ for id_ in IDS if id_ not in used and (names(ENGLISH, id_) or not id_.startswith("word."))] == []


@pytest.mark.parametrize("id_", IDS)
def test_a_message_is_said_in_both_languages_and_has_no_word_of_the_other(id_: str) -> None:
    for count in (1, 2):
        english = say(id_, **sample(id_, count))
        chinese = in_language(english, CHINESE)
        assert not HAN.search(english)
        assert chinese != english or names(ENGLISH, id_) == {"parts"}, "it is not said in Chinese"
        assert [command for command in commands(chinese) if command not in english] == []
        assert foreign(chinese) <= NAMES
        same = id_.startswith("word.") or set(TYPED.findall(english)) == set(TYPED.findall(chinese))
        assert same, "a command or a setting is not the same"
        assert OTHER_SIGNS.findall(chinese) == [], "English punctuation beside Chinese words"


def foreign(chinese: str) -> set[str]:
    """Return the words in it that are not Chinese, and nothing that is typed."""
    return set(re.findall(r"[A-Za-z]{2,}", TYPED.sub("", COMMAND.sub("", chinese))))


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_message_stands_twice_in_a_catalog(language: str) -> None:
    for path in (ROOT / "cmgr" / "sentences" / language).iterdir():
        pairs = json.loads(path.read_text(), object_pairs_hook=list)
        assert len(pairs) == len(dict(pairs)), path.name


def test_the_words_of_the_table_are_used() -> None:
    assert len(terms()) > 30
    wrong = []
    for id_ in IDS:
        english, chinese = say(id_, **sample(id_)), in_language(say(id_, **sample(id_)), CHINESE)
        wrong += [f"{id_}: {term}" for term in lacking(english, chinese) - OTHERWISE.get(id_, set())]
    assert wrong == []


@cache
def terms() -> Mapping[str, str]:
    page = (ROOT / "docs" / "zh" / "terms.md").read_text()
    return dict(re.findall(r"^\| ([a-z]+) \| ([\u4e00-\u9fff]+) \|", page, re.MULTILINE))


def lacking(english: str, chinese: str) -> set[str]:
    """Return the terms of the English sentence of which the Chinese one does not have the word of the table."""
    prose = str(english)
    for command in commands(chinese):
        prose = prose.replace(command, "")
    bare = set(re.findall(r"[A-Za-z]+", TYPED.sub("", prose))) - NAMES
    words = {word.removesuffix("s") for word in bare}
    return {term for term in words & terms().keys() if terms()[term] not in chinese}
