"""What the tests share: models with known answers, and the command beside the package."""
import os
import pathlib
import signal
import subprocess
import sys

import numpy as np
import pytest

import saltus

# What a shell runs in the background ignores Ctrl-C from the start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"

# Molecules arrive at the rate k and leave at the rate g each: from none, Poisson at any time.
ARRIVE = {"species": {"X": 0}, "parameters": {"k": 20.0, "g": 0.5},
          "reactions": {"in": "0 -> X @ k", "out": "X -> 0 @ g"}}

LATTICE = """
species: {A: 40, B: 0}
reactions: {r: A -> B @ 0.5}
lattice:
  size: [4, 3, 2]
  spacing: 1e-7 m
  step: 0.01
  diffusion: {A: 1e-14, B: 0}
"""

# Of a lattice of that size.
SITES = """
  sites:
    a:
    b: {box: {from: [0, 0, 0], to: [2 sites, 3 sites, 2 sites]}}
"""


class Enough(Exception):
    pass


def enough(fraction):
    """For progress: stop at once."""
    raise Enough("no more")


def check_same_data(one, other, but=()):
    """Result files hold the same data sets, but for what tells of when and by what they were made.
    """
    h5py = pytest.importorskip("h5py")
    names, others = [], []
    one.visit(names.append)
    other.visit(others.append)
    assert names == others and len(names) > 10
    for name in names:
        if isinstance(one[name], h5py.Dataset) and name not in (
                "about", "restart/sources", "restart/source_byte", *but):
            np.testing.assert_array_equal(one[name][()], other[name][()], err_msg=name)


def run_python(code, folder, **env):
    """Run a program that finds the package, in a process and a folder of its own."""
    path = os.pathsep.join([str(pathlib.Path(saltus.__file__).parents[1]),
                            os.environ.get("PYTHONPATH", "")])
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder,
                          env={**os.environ, "PYTHONPATH": path, **env})


@pytest.fixture
def arrive():
    return saltus.build("arrive", **ARRIVE)


@pytest.fixture(scope="session")
def schlogl():
    return saltus.read(EXAMPLES / "schlogl.yaml")


@pytest.fixture(scope="session")
def command():
    """Run the command; skipped where it is not beside the package."""
    program = os.environ.get("SALTUS_COMMAND")
    if not program:
        pytest.skip("SALTUS_COMMAND does not name the command")

    def run(*arguments):
        return subprocess.run([program, *map(str, arguments)], check=True, capture_output=True,
                              text=True).stdout
    return run


def pytest_terminal_summary(terminalreporter):
    """Cases as tools/test_summary counts them."""
    for kind in ("passed", "failed", "skipped"):
        n = len(terminalreporter.stats.get(kind, []))
        n += len(terminalreporter.stats.get("error", [])) if kind == "failed" else 0
        if n:
            terminalreporter.write_line(f"[  {kind.upper()}  ] {n} test(s).")
