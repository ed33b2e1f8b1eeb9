"""systemd's unit files, as systemd.syntax(7), systemd.service(5) and systemd.exec(5) have them."""

import pytest

from cmgr.migration.unit_file import Source, command, environment_file, environment_line, parsed, words


def values(*texts: str, section: str = "Service", key: str = "ExecStart") -> list[str]:
    unit = parsed([Source(f"{number}.conf", text) for number, text in enumerate(texts)])
    assert unit.mistakes == ()
    return [a.value for a in unit.of(section, key)]


def test_a_line_that_ends_in_a_backslash_goes_on_and_comments_in_between_do_not_count() -> None:
    text = "[Service]\r\nExecStart=/bin/x \\\n  # not this\n  -a \\\n; nor this \\\n  -b\nType=simple\n"
    assert values(text) == ["/bin/x -a -b"]
    assert values(text, key="Type") == ["simple"]
    assert values("[Service]\nExecStart=/bin/x \\") == ["/bin/x"]


def test_a_drop_in_adds_and_an_empty_assignment_drops_what_was_before() -> None:
    first = "[Service]\nExecStart=one\nEnvironment=A=1\n"
    assert values(first, "[Service]\nExecStart=\nExecStart = two\n") == ["two"]
    assert values(first, "[Service]\nEnvironment=B=2\n", key="Environment") == ["A=1", "B=2"]


def test_what_is_no_setting_is_told_with_its_line() -> None:
    unit = parsed([Source("x.service", "Type=simple\n[Service]\nnonsense\nType=simple\n")])
    assert [m.partition(":")[0] for m in unit.mistakes] == ["x.service, line 1", "x.service, line 3"]
    assert [a.at for a in unit.assignments] == ["x.service, line 4"]


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("", []),
        ("  a\tb  ", ["a", "b"]),
        ('"a b" \'c d\' e"f g"h', ["a b", "c d", "ef gh"]),
        ("''", [""]),
        (r"a\x20b \s \101 \t \\ \"", ["a b", " ", "A", "\t", "\\", '"']),
        ('"it\'s"', ["it's"]),
    ],
)
def test_words_are_those_of_systemd(text: str, means: list[str]) -> None:
    assert words(text) == means


@pytest.mark.parametrize("text", ['"a', "'", "a\\", r"\q", r"\x00", r"\U00110000"])
def test_what_systemd_would_refuse_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        words(text)


def test_variables_are_replaced_as_systemd_does() -> None:
    environment = {"A": "1  2", "B": "x y"}
    assert command("-@/bin/x seen $A ${B} -b=${B} -c=$B $$A 100%% $NONE", environment) == (
        ["/bin/x", "1", "2", "x y", "-b=x y", "-c=$B", "$A", "100%"],
        ["NONE"],
    )
    assert command(":/bin/x $A ${B}", environment) == (["/bin/x", "$A", "${B}"], [])


@pytest.mark.parametrize("text", ["/bin/x %H", "/bin/x ; /bin/y", '/bin/x "'])
def test_a_command_that_only_systemd_understands_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        command(text, {})


def test_an_environment_line_sets_several_variables() -> None:
    (line,) = parsed([Source("x", "[Service]\nEnvironment=\"A=1 2\" B=3 'C=${A}'\n")]).of("Service", "Environment")
    assert environment_line(line) == {"A": "1 2", "B": "3", "C": "${A}"}
    (line,) = parsed([Source("x", "[Service]\nEnvironment=A B=1\n")]).of("Service", "Environment")
    with pytest.raises(ValueError, match='"A" sets no variable'):
        environment_line(line)


def test_an_environment_file_is_read_with_its_quotes() -> None:
    text = '# a comment\n; another\nA = 1 \nB="x \\" y"\nC=\'a\\b\'\nD=long \\\nline\nnonsense\n9=no\nE=\n'
    assert environment_file(text) == {"A": "1", "B": 'x " y', "C": "a\\b", "D": "long line", "E": ""}
