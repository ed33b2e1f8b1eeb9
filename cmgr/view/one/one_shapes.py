"""The documents about one chip and one container, as `shapes` has the others. For types only, too."""

from typing import Annotated, TypedDict

from cmgr.view.shapes import Chip, ChipFault, Container, Episode, HistoryLine, Ring, Trouble

Notes = Annotated[list[HistoryLine], "the newest lines about it, of any episode and of none, the newest last"]


class Decider(TypedDict):
    by: Annotated[str, "the label or the setting that says so, or whoever does"]
    does: Annotated[str, "what follows for the container"]


class AboutContainer(TypedDict):
    container: Annotated[Container, "as `cmgr status` has it"]
    image: Annotated[str, "what it was made of; nothing where its runtime has not told"]
    deciders: Annotated[list[Decider], "who decides about it, and how: its labels, and what holds without them"]
    chips: Annotated[list[Chip], "the chips that it uses, or will use"]
    troubles: Annotated[list[Trouble], "what is wrong now and concerns it, the worst first"]
    log: Annotated[str, "the command that shows all that it wrote; nothing where its runtime has none"]
    last_words: Annotated[list[str], "what it wrote last, where it does not serve and you may give orders"]
    episodes: Annotated[list[Episode], "the newest episodes in which something was done to it, the newest first"]
    notes: Notes


class AboutChip(TypedDict):
    chip: Annotated[Chip, "as `cmgr chips` has it"]
    ring: Annotated[Ring, "what it is reset with"]
    containers: Annotated[list[Container], "those that use it, or will use it"]
    troubles: Annotated[list[Trouble], "what is wrong now and concerns it, the worst first"]
    faults: Annotated[list[ChipFault], "its faults that are kept, the newest first"]
    episodes: Annotated[list[Episode], "the newest episodes of its ring, the newest first"]
    notes: Notes
