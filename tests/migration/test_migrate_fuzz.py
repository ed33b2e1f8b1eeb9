"""Whatever stands in a unit file: a configuration that loads, or mistakes, and never an exception."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from cmgr.config.load import load
from cmgr.migration.migrate import environment_files, migrate
from cmgr.migration.reference import FLAGS
from cmgr.migration.text import file_text
from cmgr.migration.unit_file import Source
from tests.config.support import written

ODD = st.text(st.sampled_from("\\\"'$%{};&|<>=-\n #@:a0/[]\x00é\u2028"), max_size=12)
VALUE = (
    st.sampled_from(["never", "ringRecover", "docker", "containerd", "/run/x", "7", "0", "-1", "", "$A", "'x y'"]) | ODD
)
FLAG = st.builds(lambda dash, name, sep, value: f"{dash}{name}{sep}{value}", st.sampled_from(["-", "--"]),
                 st.sampled_from(FLAGS) | ODD, st.sampled_from(["=", " "]), VALUE)  # fmt: skip
LINE = st.sampled_from(["[Service]", "[Unit]", "ExecStart=", "Environment=A=1", "Environment=", "Nice=5", "# x", "\\"])
START = st.builds(lambda flags: "ExecStart=/x/container-manager run " + " ".join(flags), st.lists(FLAG, max_size=5))
TEXT = st.builds("\n".join, st.lists(LINE | START | ODD, max_size=6)).map("[Service]\n{}".format)


@given(st.lists(TEXT | START.map("[Service]\n{}".format), min_size=1, max_size=2))
@settings(deadline=None)
def test_any_text_gives_a_configuration_or_mistakes(texts: list[str]) -> None:
    sources = [Source(f"{number}.conf", text) for number, text in enumerate(texts)]
    found = migrate(sources, {file.path: "A=2\n" for file in environment_files(sources)})
    if found.mistakes:
        assert all(mistake.strip() for mistake in found.mistakes)
        return
    with TemporaryDirectory() as folder:
        config = load(written(Path(folder) / "cmgr.toml", file_text(found, ["a unit"])), environ={})
    assert config.observe is False
    assert len(config.runtimes) == 1
