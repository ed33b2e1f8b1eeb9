"""Makes links between the pages in a directory lead where they lie there, side by side: flat.py DIRECTORY.

Those of another language lie in a directory below, and lead to it and up from it.

What is not among them is named, and not linked; a picture is told by its words.
"""

import re
import sys
from functools import partial
from pathlib import Path

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)#\s]*)(#[^)]*)?\)")


def main() -> None:
    directory = Path(sys.argv[1])

    def led(place: Path, link: re.Match[str]) -> str:
        to = Path(link[3])
        pages = [page for page in (Path(to.parent.name) / to.name, Path(to.name)) if (place / page).is_file()]
        return f"[{link[2]}]({pages[0]}{link[4] or ''})" if pages and not link[1] else link[2]

    for path in directory.rglob("*.md"):
        path.write_text(LINK.sub(partial(led, path.parent), path.read_text()))


main()
