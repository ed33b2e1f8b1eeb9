"""The command that shows for how long services were down."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

from cmgr.cli import source
from cmgr.cli.options import Common, argument, option
from cmgr.cli.show import page
from cmgr.cli.source import misused
from cmgr.cli.text import out
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import say
from cmgr.service.door import records
from cmgr.service.timing.period import Period, period, quarter_of
from cmgr.view.text import downtime as texts

if TYPE_CHECKING:
    from cmgr.config.settings import Config
    from cmgr.errors import ServiceDown
    from cmgr.store.reader import Reader
    from cmgr.view import slot_shapes


class DowntimeFormat(StrEnum):
    TABLE = "table"
    JSON = "json"
    HTML = "html"


@dataclass(frozen=True, slots=True, kw_only=True)
class DowntimeOptions(Common):
    when: str | None = argument("[WHEN]", "A year, quarter, month or day: 2026, 2026-Q4, 2026-11, 2026-11-29.", None)
    quarter: bool = option("--quarter", "This quarter, which is what is shown without WHEN.", False)
    output: DowntimeFormat = option("--output -o", "A table, JSON, or a page to print.", DowntimeFormat.TABLE)
    json: bool = option("--json", "The same as -o json.", False)

    @property
    def as_json(self) -> bool:
        return self.json or self.output is DowntimeFormat.JSON


def downtime(options: DowntimeOptions) -> int:
    """Show for how many minutes services were down, and why.

    Each service counts for itself, and not what a person has ended. Works without the service.
    """
    if options.quarter and options.when is not None:
        raise misused(say("usage.exclude", names=["--quarter", "WHEN"]))
    try:
        asked = quarter_of(source.now()) if options.when is None else period(options.when)
    except ValueError:
        such = ["2026", "2026-Q4", "2026-11", "2026-11-29"]
        raise misused(say("usage.no-period", text=repr(f"{options.when:.20}"), such=such)) from None
    told, sheet = read(options, asked), page(options)
    text = texts.sheet if options.output is DowntimeFormat.HTML else texts.downtime
    if told.origin != source.SERVICE:
        out.remark(sheet.face.said(told.origin))
    out.result(told.value, text(told.value, sheet), options.as_json)
    return told.code


def read(common: Common, asked: Period) -> "source.Told[slot_shapes.Downtime]":
    """Return the downtime in a period: from the service, or from the database until when the service was there last."""

    def stead(config: "Config", database: "Reader", _why: "ServiceDown") -> Mapping[str, object]:
        return records.downtime(database, asked, source.now(), config.downtime.reaction, None)

    return cast("source.Told[slot_shapes.Downtime]", source.either(common, f"downtime?when={quote(asked.name)}", stead))
