"""The words of a program are heard whole, however they come."""

import subprocess
import sys

from tests.support.waiting import rest


def test_what_came_in_one_read_with_a_line_is_not_lost() -> None:
    words = [sys.executable, "-c", "import sys; print('begun'); print('done'); sys.exit('why')"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as told:
        told.wait()
        assert told.stdout is not None
        assert told.stdout.readline() == "begun\n"
        assert rest(told) == ("done\n", "why\n")
