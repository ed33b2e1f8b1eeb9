"""Makes links between the pages in a directory lead where they lie there, side by side: flat.py DIRECTORY.

What is not among them is named, and not linked; a picture is told by its words.
"""

import re
import sys
from pathlib import Path

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)#\s]*)(#[^)]*)?\)")


def main() -> None:
    directory = Path(sys.argv[1])

    def led(link: re.Match[str]) -> str:
        page = Path(link[3]).name
        is_there = not link[1] and (directory / page).is_file()
        return f"[{link[2]}]({page}{link[4] or ''})" if is_there else link[2]

    for path in directory.glob("*.md"):
        path.write_text(LINK.sub(led, path.read_text()))


main()
