"""The questions of `cmgr setup`: each is answered by an option, by whoever types, or as is proposed."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cmgr.cli.options import Common, option
from cmgr.cli.setup import hearers, whom
from cmgr.cli.setup.dozen import IGNORE, OBSERVE, RECEIVERS, RESERVE, STRATEGY, WINDOW
from cmgr.cli.text import out
from cmgr.config.kinds import Kind
from cmgr.config.load import mistakes_of
from cmgr.config.schema import settings
from cmgr.config.settings import Config
from cmgr.config.spelling import quoted
from cmgr.errors import Misused
from cmgr.frozen import dataclass
from cmgr.model.values.handling.policy import Strategy
from cmgr.sentences.sentence import say
from cmgr.view.advice import called

if TYPE_CHECKING:
    from cmgr.model.values.node import Node

Answers = dict[str, object]
"""By the key of its setting, as TOML has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupOptions(Common):
    strategy: str | None = option("--strategy NAME", "Whose containers are stopped: never, singleRecover, ringRecover.")
    observe: bool | None = option("--observe/--no-observe", "At first decide and record everything, and do nothing.")
    ignore: list[str] | None = option("--ignore PATTERN", "A container that uses no chip, by its name; repeatable.")
    alarm: list[str] | None = option(
        "--alarm RECEIVER", "Who is told: a URL for JSON over HTTP, or format=mail,url=…,sender=…,to=…; repeatable."
    )
    alertmanager: list[str] | None = option("--alertmanager URL", "An Alertmanager that is told; repeatable.")
    window: list[str] | None = option("--window TIMES", 'For faults that can wait: "Sat 02:00-04:00"; repeatable.')
    spares: str | None = option("--spares N", "So many free chips are kept for services on slots.")
    yes: bool = option("--yes -y", "Take what is proposed, and ask nothing.", False)
    dry_run: bool = option("--dry-run", "Show what would be written, and do nothing.", False)


def said(options: SetupOptions) -> Answers:
    """Return what the options answer. Raises `Misused` with every mistake in them."""
    known, mistakes, found = settings(), list[str](), Answers()

    def take(name: str, kind: Kind, text: str) -> object:
        raw = kind.parse(text)
        try:
            kind.take(raw)
        except ValueError as error:
            allowed = error.args[0]
            mistakes.append(say("config.value-given", option=name, text=quoted(text), allowed=allowed))
        return raw

    if options.strategy is not None:
        found[STRATEGY] = take("--strategy", known[STRATEGY].kind, options.strategy)
    if options.observe is not None:
        found[OBSERVE] = options.observe
    if options.spares is not None:
        found[RESERVE] = take("--spares", known[RESERVE].kind, options.spares)
    for key, name, words in ((IGNORE, "--ignore", options.ignore), (WINDOW, "--window", options.window)):
        if words:
            found[key] = [text for text in words if take(name, known[key].kind, text) is not None]
    told = [hearers.option_of(text) for text in options.alarm or ()]
    managers: list[hearers.Table] = [{"url": url, "format": "alertmanager"} for url in options.alertmanager or ()]
    mistakes += [*mistakes_of(told, "--alarm"), *mistakes_of(managers, "--alertmanager")]
    if told or managers:
        found[RECEIVERS] = [*told, *managers]
    if mistakes:
        why = mistakes[0] if len(mistakes) == 1 else say("config.mistakes", count=len(mistakes))
        raise Misused(say("setup.cannot", why=why), mistakes=tuple(mistakes))
    return found


def proposed(config: Config, node: "Node | None") -> Strategy:
    """Return the strategy that is taken where nobody names one: the present one, if it stops anybody."""
    if config.strategy is not Strategy.NEVER:
        return config.strategy
    return Strategy.SINGLE if node is None else whom.proposed(node)


def typed(config: Config, node: "Node | None", given: Answers) -> Iterator[tuple[str, object]]:
    """Ask for what is not given, and yield the answers by key."""
    strategy = given.get(STRATEGY) or _strategy(node, proposed(config, node))
    yield STRATEGY, strategy
    if OBSERVE not in given and strategy != Strategy.NEVER:
        yield OBSERVE, out.agreed(say("setup.observe-first"), config.observe)
    if IGNORE not in given and node is not None:
        yield IGNORE, [*_ignored(node)]
    if RECEIVERS not in given and not config.alarms.receivers:
        yield RECEIVERS, [table] if (table := hearers.typed()) else []
    if WINDOW not in given:
        windows = config.levels.FreeRestartNPU.window
        yield (
            WINDOW,
            _answer(
                WINDOW,
                say("setup.which-window", times="Sat 02:00-04:00; Sun"),
                "; ".join(each.text for each in windows),
            ),
        )
    if RESERVE not in given:
        yield RESERVE, _answer(RESERVE, say("setup.how-many-spares"), str(config.spares.reserve))


def _answer(key: str, question: str, proposal: str) -> object:
    kind = settings()[key].kind
    return kind.parse(out.ask(question, proposal, lambda text: kind.take(kind.parse(text))))


def _strategy(node: "Node | None", proposal: Strategy) -> object:
    out.told(["", say("setup.whose-are-stopped")])
    for strategy in Strategy:
        out.lines(["", f"{strategy}:"])
        out.items(whom.stopped(node, strategy))
    return _answer(STRATEGY, "", str(proposal))


def _ignored(node: "Node") -> Iterator[str]:
    for container in whom.doubtful(node):
        name = called(node, container.key)
        if out.agreed(say("setup.uses-none", name=name), False):
            yield container.name
