"""The contents of the packages, for both architectures."""

import ast
import json
import re
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from tests.packages import dists

pytestmark = pytest.mark.alone

MACHINES = {"x86_64": 62, "aarch64": 183}
"""e_machine of ELF."""

GLIBC = (2, 28)

BILL = "usr/share/doc/cmgr/sbom.cdx.json"

LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]*)")

SAYS: Mapping[str, str] = {"openssl": "OpenSSL {}", "sqlite3": "{}", "zlib": "deflate {}", "python3.11": "{}"}
"""How a library's version stands in the program; libffi's does not."""

LARGEST_PAGES = {"x86_64": 12, "aarch64": 16}
"""As powers of two. Kernels for servers with aarch64 often have the large ones."""


@pytest.fixture(scope="session", params=dists.ARCHES)
def arch(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def tree(arch: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dists.unpacked(dists.deb(arch), tmp_path_factory.mktemp(arch) / "tree")


def native_files(tree: Path) -> list[Path]:
    return [p for p in tree.rglob("*") if p.is_file() and not p.is_symlink() and p.read_bytes()[:4] == b"\x7fELF"]


def test_the_package_says_which_version_it_is(arch: str) -> None:
    told = dists.said("dpkg-deb", "--field", str(dists.deb(arch)), "Version", "Architecture", "Depends")
    assert f"Architecture: {dists.DEB_NAMES[arch]}\n" in told
    assert "libc6 (>= 2.28)" in told


def test_everything_that_contents_names_is_there_with_its_mode(arch: str) -> None:
    found = {entry.path: entry for entry in dists.entries(dists.deb(arch))}
    for line in (dists.ROOT / "packaging/contents").read_text().splitlines():
        if line.startswith("#") or "system-preset" in line:
            continue
        mode, _, target = line.split()
        entry = found[f"/{target}"]
        assert _octal(entry.mode) == mode, entry
        assert entry.owner == "root/root"


def _octal(mode: str) -> str:
    bits = "".join("0" if letter == "-" else "1" for letter in mode[1:10])
    return f"{int(bits, 2):04o}"


def test_only_the_configuration_is_a_configuration_file(tree: Path) -> None:
    assert (tree / "DEBIAN/conffiles").read_text().split() == ["/etc/cmgr/cmgr.toml", "/etc/logrotate.d/cmgr"]


def test_nobody_but_root_can_write_to_anything(arch: str) -> None:
    links = ("l",)
    loose = [e for e in dists.entries(dists.deb(arch)) if not e.mode.startswith(links) and "w" in e.mode[4:]]
    assert loose == []


def test_all_compiled_code_is_for_the_architecture(arch: str, tree: Path) -> None:
    files = native_files(tree)
    assert len(files) > 5
    for file in files:
        (machine,) = struct.unpack_from("<H", file.read_bytes(), 18)
        assert machine == MACHINES[arch], file


def test_no_compiled_code_asks_for_a_later_glibc(tree: Path) -> None:
    for file in native_files(tree):
        asked = {tuple(map(int, v.split(b"."))) for v in re.findall(rb"GLIBC_(\d+\.\d+)", file.read_bytes())}
        assert max(asked, default=(0, 0)) <= GLIBC, file


def test_compiled_code_can_be_loaded_whatever_the_size_of_pages(arch: str, tree: Path) -> None:
    for file in native_files(tree):
        told = dists.said(f"{arch}-linux-gnu-objdump", "--private-headers", str(file))
        aligned = [int(power) for power in re.findall(r"LOAD .* align 2\*\*(\d+)", told)]
        assert min(aligned) >= LARGEST_PAGES[arch], file


def test_compiled_code_needs_only_what_the_package_depends_on(arch: str, tree: Path) -> None:
    # libstdc++6 brings libgcc_s.so.1 along; all others are glibc's.
    known = r"ld-linux.*|lib(c|m|pthread|dl|rt|util|stdc\+\+|gcc_s)\.so\.\d"
    for file in native_files(tree):
        told = dists.said(f"{arch}-linux-gnu-objdump", "--private-headers", str(file))
        needed = re.findall(r"NEEDED\s+(\S+)", told)
        assert needed, file
        assert all(re.fullmatch(known, name) for name in needed), (file, needed)


def test_no_path_of_the_machine_that_built_it_is_in_there(tree: Path) -> None:
    home = str(Path.home()).encode() + b"/"
    built = (b"/cmgr-python.", b"/build/packages/", f"{dists.ROOT}/".encode())
    for file in (p for p in tree.rglob("*") if p.is_file() and not p.is_symlink()):
        data = file.read_bytes()
        assert not any(word in data for word in built), file
        if home != b"/root/":
            assert home not in data, file


def test_every_library_has_its_licence_there(tree: Path) -> None:
    bundled = (tree / "usr/share/doc/cmgr/bundled.txt").read_text()
    licences = {_normal(path.name): path for path in (tree / "usr/share/doc/cmgr/licenses").iterdir()}
    named = re.findall(r"^  (\S+) \S+$", bundled, re.MULTILINE)
    assert {"python3.11", "openssl", "docker", "sqlalchemy", "grpcio"} <= set(named)
    for name in named:
        texts = list(licences[_normal(name)].iterdir())
        assert any(text.stat().st_size > 100 for text in texts), name


def test_every_link_of_a_page_leads_to_a_page_of_the_package(tree: Path) -> None:
    pages = sorted((tree / "usr/share/doc/cmgr").rglob("*.md"))
    assert {"README.md", "SECURITY.md", "install.md"} <= {page.name for page in pages}
    links = [(page, link) for page in pages for link in LINK.findall(page.read_text())]
    assert len(links) > 100
    assert [(page.name, to) for page, to in links if not (page.parent / to).is_file()] == []


def test_the_bill_of_materials_names_what_is_bundled_and_nothing_else(tree: Path) -> None:
    told = json.loads((tree / BILL).read_text())
    found = {(part["name"], part["version"]) for part in told["components"]}
    bundled = (tree / "usr/share/doc/cmgr/bundled.txt").read_text()
    zig = re.findall(r"(ziglang) (\S+),", bundled)
    assert found == {*re.findall(r"^  (\S+) (\S+)$", bundled, re.MULTILINE), *zig}
    refs = [part["bom-ref"] for part in told["components"]]
    assert told["dependencies"] == [{"ref": told["metadata"]["component"]["bom-ref"], "dependsOn": refs}]


def test_scanners_know_each_part_by_its_purl(tree: Path) -> None:
    told = json.loads((tree / BILL).read_text())
    found = [(part, PackageURL.from_string(part["purl"])) for part in told["components"]]
    assert [part for part, purl in found if (purl.name, purl.version) != (part["name"].lower(), part["version"])] == []
    kinds = {purl.name: (purl.type, purl.namespace) for _, purl in found}
    assert {kinds[name] for name in ("openssl", "sqlite3", "libffi", "zlib", "python3.11")} == {("deb", "debian")}
    assert {kinds[name] for name in ("grpcio", "sqlalchemy")} == {("pypi", None)}


def test_the_bill_of_materials_is_what_the_interpreter_says_of_itself(tree: Path) -> None:
    told = json.loads((tree / BILL).read_text())
    made_of = {part["name"]: part["version"] for part in told["components"]}
    program = next(path for path in (tree / "usr/lib/cmgr/python/bin").iterdir() if path.name.startswith("python"))
    for name, form in SAYS.items():
        upstream = re.split(r"[-+~]|\.dfsg", made_of[name].rpartition(":")[2])[0]
        assert form.format(upstream).encode() in program.read_bytes(), name


def test_both_packages_have_a_bill_that_a_validator_takes(arch: str, tree: Path, tmp_path: Path) -> None:
    bill = (tree / BILL).read_text()
    assert refused(bill) is None
    with (tmp_path / "payload").open("wb") as payload:
        subprocess.run(["rpm2cpio", str(dists.rpm(arch))], stdout=payload, check=True)
    with (tmp_path / "payload").open("rb") as payload:
        wanted = ["cpio", "--extract", "--to-stdout", "--quiet", f"./{BILL}"]
        assert subprocess.run(wanted, stdin=payload, capture_output=True, text=True, check=True).stdout == bill


@pytest.mark.parametrize(
    "broken",
    [
        {"bomFormat": "SPDX"},
        {"serialNumber": "urn:uuid:1"},
        {"metadata": {"timestamp": "today"}},
        {"components": [{"type": "part", "name": "x"}]},
        {"components": [{"type": "library"}]},
        {"components": [{"type": "library", "name": "x", "purls": []}]},
        {"components": [{"type": "library", "name": "x"}] * 2},
    ],
)
def test_a_broken_bill_is_refused(tree: Path, broken: dict[str, object]) -> None:
    assert refused(json.dumps({**json.loads((tree / BILL).read_text()), **broken})) is not None


def refused(bill: str) -> object:
    """Return what CycloneDX's own schema finds wrong; None: nothing."""
    return JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_module_is_compiled(tree: Path) -> None:
    for source in (tree / "usr/lib/cmgr").rglob("*.py"):
        compiled = source.parent / "__pycache__" / f"{source.stem}.cpython-311.pyc"
        # PEP 552: bit 0 says that a hash is in there, bit 1 that it is checked.
        assert compiled.read_bytes()[4:8] == b"\x01\x00\x00\x00", source


def test_nothing_is_compiled_with_its_docstrings_but_the_commands_whose_help_they_are(tree: Path) -> None:
    ours = tree / "usr/lib/cmgr/lib/cmgr"
    documented = [
        module
        for module in ours.rglob("*.py")
        if (text := ast.get_docstring(ast.parse(module.read_text()), clean=False))
        and text.encode() in (module.parent / "__pycache__" / f"{module.stem}.cpython-311.pyc").read_bytes()
    ]
    assert {module.relative_to(ours).parts[0] for module in documented} == {"cli"}


def test_the_program_is_the_one_of_the_repository(tree: Path) -> None:
    theirs = tree / "usr/lib/cmgr/lib/cmgr"
    ours = dists.ROOT / "cmgr"
    names = {str(p.relative_to(ours)) for p in ours.rglob("*") if p.is_file() and "__pycache__" not in p.parts} - {
        "py.typed"
    }
    found = {str(p.relative_to(theirs)) for p in theirs.rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    assert found == names
