"""What the pages of the documentation show does what they say."""
import os
import re
import shlex
import shutil
import subprocess

import pytest

from conftest import ROOT

PAGES = ["README.md", *(str(path.relative_to(ROOT)) for folder in ("docs", "examples")
                        for path in sorted((ROOT / folder).rglob("*.md")))]
# Less of what takes long.
SMALLER = {"--runs 1000000": "--runs 1000", "--runs 10000": "--runs 100",
           "--runs 2000": "--runs 20", "--runs 1000": "--runs 10", "--until 110": "--until 0.2",
           "--every 0.5": "--every 0.1", "--device cuda": "--device cpu"}
# Lines that say what a command looks like, and a model with a function that is an example of one to
# be added.
SYNOPSIS = re.compile(r"[A-Z]\.h5|\b(MODEL|FILE|ALL)\b|\bsinc\.yaml")


def blocks(page, language):
    """Fenced blocks of a language, with what they are indented by taken off."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for indent, block in re.findall(rf"^( *)```{language}\n(.*?)^ *```$", text, re.M | re.S):
        yield re.sub(f"^{indent}", "", block, flags=re.M)


def commands(page):
    """Lines that call saltus, with those that they are continued by and without a remark."""
    for block in blocks(page, ""):
        for line in re.sub(r" *\\\n *", " ", block).splitlines():
            words = re.match(r"(?:\$ )?(?:build/)?saltus (.*?)(?:  .*)?$", line)
            if words and not SYNOPSIS.search(line):
                yield words[1]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_snippets_run(folder, capsys):
    pytest.importorskip("h5py")
    pytest.importorskip("xarray")
    pytest.importorskip("matplotlib")
    pytest.importorskip("plotly")
    snippets = list(blocks("docs/python.md", "python"))
    assert len(snippets) >= 7
    names = {}
    for snippet in snippets:
        exec(compile(snippet, "docs/python.md", "exec"), names)
    assert names["simulate"](names["arrive"], 5).shape == (100,)
    assert "<saltus.Result: schlogl, 1000 of 1000 trajectories" in capsys.readouterr().out


def test_a_result_file_is_read_without_the_package(folder, schlogl, capsys):
    pytest.importorskip("h5py")
    schlogl.run(until=1, points=11, runs=5, output="out.h5")
    snippet = next(blocks("docs/file-format.md", "python"))  # the next needs a newer xarray
    names = {}
    exec(compile(snippet, "docs/file-format.md", "exec"), names)
    assert names["x"].shape == (5, 11) and names["mean"].shape == (11,)
    assert capsys.readouterr().out == "Schlögl 5 complete\n"


def test_a_result_file_is_read_in_c(folder, schlogl):
    if not shutil.which("cc") or not shutil.which("pkg-config"):
        pytest.skip("no compiler or no pkg-config")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "hdf5"], capture_output=True,
                           text=True)
    if flags.returncode != 0:
        pytest.skip("no headers of HDF5")
    r = schlogl.run(until=1, points=11, runs=5, output="out.h5")
    (folder / "read.c").write_text(next(blocks("docs/file-format.md", "c")), encoding="utf-8")
    subprocess.run(["cc", "read.c", "-o", "read", *flags.stdout.split()], check=True)
    said = subprocess.run(["./read"], check=True, capture_output=True, text=True).stdout
    assert said == f"5 runs; the first ends with {r.counts[0, -1, 0]} of the first species\n"


PAGES_WITH_COMMANDS = [page for page in PAGES if any(commands(page))]


def test_pages_have_commands():
    assert {"README.md", "examples/README.md"} <= set(PAGES_WITH_COMMANDS)
    assert len(list(commands("README.md"))) >= 12


@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS)
def test_commands_run(page, folder):
    pytest.importorskip("matplotlib")
    program = os.environ.get("SALTUS_COMMAND") or pytest.skip("SALTUS_COMMAND names no command")
    for words in commands(page):
        for usual, smaller in SMALLER.items():
            words = re.sub(rf"{usual}\b", smaller, words)
        words = shlex.split(words)
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=100)
        if words[0] == "compile" and "NVRTC" in done.stderr:
            continue
        assert done.returncode == 0, (words, done.stderr)
        assert "warning" not in done.stderr, (words, done.stderr)
        if "-o" in words:
            assert (folder / words[words.index("-o") + 1]).stat().st_size > 0, words
        else:
            assert done.stdout, words
