"""A sentence is a text that can be said in another language."""

import copy
import json
import pickle
from datetime import timedelta

from cmgr.sentences.hints import order
from cmgr.sentences.sentence import (
    CHINESE,
    ENGLISH,
    Sentence,
    in_language,
    language_of,
    message,
    messages,
    orders_in,
    parts,
    say,
    sentence,
    translated,
)

WAITS = say("ring.waits-for", chips=(0, 1), who=[say("ring.user-held", name="web"), "someone"])
CHINESE_WAITS = "芯片 0-1 的复位在等待 web（被持有，却又在运行）、someone"


def test_a_sentence_is_its_english_text() -> None:
    text = "the reset of chips 0-1 waits for web (held, and it runs again), someone"
    assert text == WAITS
    assert hash(WAITS) == hash(text)
    assert json.dumps({"why": WAITS}) == json.dumps({"why": text})
    assert type(f"{WAITS}") is str


def test_a_sentence_within_a_sentence_is_said_in_the_other_language_too() -> None:
    assert in_language(WAITS, CHINESE) == CHINESE_WAITS
    assert in_language(WAITS, ENGLISH) is WAITS


def test_a_copy_keeps_its_message() -> None:
    for other in (copy.deepcopy(WAITS), pickle.loads(pickle.dumps(WAITS))):  # noqa: S301  # Our own bytes.
        assert in_language(other, CHINESE) == CHINESE_WAITS


def test_a_sentence_comes_back_from_json() -> None:
    again = sentence(str(WAITS), json.loads(json.dumps(message(WAITS))))
    assert again == WAITS
    assert in_language(again, CHINESE) == CHINESE_WAITS


def test_numbers_and_spans_are_said_as_each_language_has_them() -> None:
    long = say("ring.came-back", count=3, window=timedelta(minutes=90))
    assert long == "the fault came back 3 times in 1 h 30 min: is it gone this time?"
    assert in_language(long, CHINESE) == "故障在 1 小时 30 分钟内又出现了 3 次：这次真的消除了吗？"
    assert say("ring.tested", chips=[3]) == "chip 3 is tested"
    assert say("ring.tested", chips=[0, 1]) == "chips 0-1 are tested"


def test_the_last_of_several_is_joined_by_its_word_and_the_others_as_in_any_list() -> None:
    names = ["--watch", "--check", "-o nagios"]
    several, two = say("usage.exclude", names=names), say("usage.exclude", names=names[:2])
    assert several == "--watch, --check and -o nagios exclude each other"
    assert two == "--watch and --check exclude each other"
    assert in_language(several, CHINESE) == "--watch、--check 和 -o nagios 不能同时使用"
    assert in_language(two, CHINESE) == "--watch 和 --check 不能同时使用"
    assert in_language(say("usage.give", names=names), CHINESE) == "请给出 --watch、--check 或 -o nagios"


def test_one_thing_is_counted_as_one() -> None:
    assert say("hold.make-it-again", count=1) == "to make it again, type this 1 line"
    assert say("trouble.bugs", count=1) == "1 decision met a bug"


def test_a_text_that_each_language_has_of_its_own_is_english_where_another_has_none() -> None:
    both, one = say("fault.meaning", meaning=["link down", "链路断开"]), say("fault.meaning", meaning=["link down", ""])
    assert both == one == "link down"
    assert [in_language(text, CHINESE) for text in (both, one)] == ["链路断开", "link down"]


def test_whole_sentences_are_joined_and_a_bare_one_stays_as_it_is() -> None:
    joined = parts(["", WAITS, say("ring.taken")])
    assert joined == f"{WAITS}; the driver took the reset"
    assert in_language(joined, CHINESE) == f"{CHINESE_WAITS}；驱动接受了复位"
    assert parts([WAITS]) is WAITS
    assert parts([]) == ""


def test_foreign_words_and_messages_of_a_newer_cmgr_stay_english() -> None:
    newer = Sentence("the moon is full", "moon.full", {})
    other = Sentence("it waits", "ring.waits-for", {"chips": 7})
    for text in ("no such device", newer, other):
        assert in_language(text, CHINESE) is text


def test_a_document_is_said_whole_and_tells_its_messages() -> None:
    told = {"rings": [{"id": 0, "reason": WAITS, "chips": [0, 1], "since": None}], "names": ("web",)}
    assert translated(told, CHINESE)["rings"][0]["reason"] == CHINESE_WAITS  # type: ignore[index]
    assert translated(told, ENGLISH) is told
    assert messages(text="web", why=WAITS) == {"why": message(WAITS)}
    assert messages(remarks=["web", WAITS], why="") == {"remarks[1]": message(WAITS)}


def test_a_language_is_found_in_whatever_names_it() -> None:
    assert [language_of(word) for word in ("zh", "zh_CN.UTF-8", "zh-Hans", "ZH")] == [CHINESE] * 4
    assert [language_of(word) for word in ("", "C", "en_US.UTF-8", "de", "C.UTF-8")] == [ENGLISH] * 5


def test_the_orders_of_a_sentence_are_found_in_it_and_come_back_from_json() -> None:
    release, cancel = order("release", chip=3), order("cancel", chip=3)
    hint = parts((say("hint.work-done", chips=[3], releases=[release]), say("hint.cancel", what="reset", order=cancel)))
    typed = "when the work on chip 3 is done, type: cmgr release 3; to take the ordered reset back: cmgr cancel 3"
    assert hint == typed
    assert in_language(hint, CHINESE) == "芯片 3 的工作完成后，输入：cmgr release 3；要撤回下令的复位：cmgr cancel 3"
    for other in (hint, sentence(typed, json.loads(json.dumps(message(hint)))), copy.deepcopy(hint)):  # type: ignore[arg-type]
        found = [(each.do, each.args) for each in orders_in(other)]
        assert found == [("release", {"chip": 3}), ("cancel", {"chip": 3})]
    assert orders_in(release) == (release,)
    assert orders_in("cmgr release 3") == ()
