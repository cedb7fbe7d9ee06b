"""Files of runs that were stopped: `saltus resume` makes them the files of whole runs."""
import shutil
import subprocess
import time

import numpy as np
import pytest

import saltus
from conftest import EXAMPLES, LATTICE, SITES, Enough, check_same_data, enough

h5py = pytest.importorskip("h5py")
MANY = dict(until=100, points=3, runs=1_500, seed=4, set={"k": 200.0}, device="cpu", threads=1)


def check_same(one, other, but=()):
    with h5py.File(one) as a, h5py.File(other) as b:
        check_same_data(a, b, but)
        assert a.attrs["complete"] == b.attrs["complete"] == 1
        assert a.attrs["model"] == b.attrs["model"]
        assert a.attrs["model_sha256"] == b.attrs["model_sha256"]


def stopped(simulate):
    """simulate(longer): until it is stopped, with more of it where a machine is too fast. Returns
    the exception, and how much longer that was."""
    for longer in (1, 2, 4, 8, 16, 32):
        try:
            simulate(longer)
        except Enough as e:
            r = e.result
            if not (r.attrs["complete"] if hasattr(r, "attrs") else r.is_complete):
                return e, longer
    pytest.fail("it was not stopped")


def check_resumed(command, simulate, folder):
    """simulate(longer, output, progress) a run that is stopped and goes on elsewhere, and a whole
    one."""
    part = folder / "part.h5"
    _, longer = stopped(lambda longer: simulate(longer, part, enough))
    simulate(longer, folder / "whole.h5", False)
    with h5py.File(part) as f:
        assert not f.attrs["complete"]
    command("resume", part, "-q")
    check_same(part, folder / "whole.h5")


@pytest.mark.parametrize("more", [
    {"derive": ["max:X", "passage:X:50"]},
    {"record": "stats", "first": 7, "method": "tau", "runs": 30_000},
    {"record": "final", "species": "X", "rng": "xorwow", "every": 30.0, "points": None,
     "runs": 700},
    {"record": "histogram", "range": (-5, 500)},
    {"times": np.linspace(0, 100, 5), "until": None, "points": None, "burn_in": 10.0,
     "derive": "mean:X"}])
def test_runs_go_on(arrive, command, tmp_path, more):
    want = {**MANY, **more}
    runs = want.pop("runs")
    check_resumed(command, lambda longer, output, progress: arrive.run(
        runs=longer * runs, output=output, progress=progress, overwrite=True, **want), tmp_path)


def test_long_trajectories_are_kept(arrive, command, tmp_path):
    """The one of a run, and the one of a sweep's first point, are stopped before their end."""
    part, whole = tmp_path / "part.h5", tmp_path / "whole.h5"
    want = dict(points=2, runs=1, seed=4, device="cpu", threads=1, overwrite=True)
    begun = time.monotonic()

    def at_a_fifth(fraction):
        if fraction > 0.2:
            raise Enough

    def later(fraction):
        if time.monotonic() - begun > 2.0:  # a point's is kept if it has taken a second
            raise Enough
    with pytest.raises(Enough):
        arrive.run(until=3e6, output=part, progress=at_a_fifth, **want)
    assert (tmp_path / "part.h5.checkpoint").exists()
    assert "not used" not in command("resume", part)
    assert not (tmp_path / "part.h5.checkpoint").exists()
    arrive.run(until=3e6, output=whole, **want)
    check_same(part, whole)
    begun = time.monotonic()
    with pytest.raises(Enough):
        arrive.sweep({"k": [100, 200]}, until=1e9, output=part, progress=later, **want)
    assert (tmp_path / "part.h5.checkpoint.0").exists()


def test_results_that_were_saved_go_on(command, tmp_path):
    """Trajectories of unequal length, so that some have ended behind a gap: these come again."""
    m = saltus.build(species={"X": 0, "B": 1}, parameters={"k": 200, "g": 0.5},
                     reactions={"in": "0 -> X @ k*B", "out": "X -> 0 @ g", "off": "B -> 0 @ 0.05"})

    def late(fraction):
        if fraction > 0.05:
            enough(fraction)

    def simulate(longer, **more):
        return m.run(**{**MANY, "runs": longer * 5 * MANY["runs"], **more})

    e, longer = stopped(lambda longer: simulate(longer, progress=late))
    assert not e.result.save(tmp_path / "part.h5").is_complete
    assert np.diff(e.result.trajectories).max() > 1
    simulate(longer, output=tmp_path / "whole.h5")
    command("resume", tmp_path / "part.h5", "-q")
    check_same(tmp_path / "part.h5", tmp_path / "whole.h5")
    with h5py.File(tmp_path / "part.h5") as part, h5py.File(tmp_path / "whole.h5") as whole:
        assert part.attrs["events"] == whole.attrs["events"]


@pytest.mark.filterwarnings("ignore:.* with the volume its rate does not change.* `mole` changes")
def test_files_of_any_model_go_on(command, tmp_path, monkeypatch):
    """Read from a path, whose file has gone; with other sizes, and as few molecules make a mole."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-m.yaml").write_text(
        "compartments: {cell: 1 fl}\n"
        "species: {X: {initial: 30 nM, compartment: cell}, Y: {initial: 0, compartment: cell}}\n"
        "parameters: {k: 1e12}\nreactions: {r: 2 X -> Y @ k*X*X/1e14, b: Y -> 2 X @ 0.5*Y}\n")
    m = saltus.read("-m.yaml", volume={"cell": "3 fl"}, mole=3e23, law="combinatorial")
    (tmp_path / "-m.yaml").unlink()
    check_resumed(command, lambda longer, output, progress: m.run(
        40_000, points=3, runs=longer * 500, output=output, progress=progress, threads=2,
        overwrite=True), tmp_path)


@pytest.mark.parametrize("sites", ["", SITES])
def test_lattices_go_on(command, tmp_path, sites):
    m = saltus.read(LATTICE + sites)
    check_resumed(command, lambda longer, output, progress: m.run(
        until=20, points=3, runs=longer * 250, seed=3, profile="z", by_type=True, threads=2,
        output=output, progress=progress, overwrite=True), tmp_path)


def test_a_lattice_takes_along_the_files_that_it_names(command, tmp_path, monkeypatch):
    (tmp_path / "from").mkdir()
    for name in ("min-proteins.yaml", "min-proteins.xml"):
        shutil.copy(EXAMPLES / name, tmp_path / "from")
    monkeypatch.chdir(tmp_path / "from")
    m = saltus.read("min-proteins.yaml")
    r = m.run(until=0.02, points=3, runs=1, output=tmp_path / "o.h5")
    with h5py.File(r.path) as f:  # as the command has it, with counts by type
        assert b"saltus:arguments" in (said := bytes(f["restart/sources"][...]))
    assert r.type_counts.shape[2] == 3
    assert (EXAMPLES / "min-proteins.xml").read_bytes() in said
    assert (EXAMPLES / "min-proteins.yaml").read_bytes() in said


@pytest.mark.parametrize("more", [
    {"common_random_numbers": True, "record": "all"},
    {"vary": {"k": saltus.lin(100, 200, 32)}, "set": {"g": 0.3, "X": 40}},
    {"design": "lhs:40", "vary": {"k": saltus.lin(100, 200), "g": saltus.log(0.1, 1)}}])
def test_sweeps_go_on(arrive, command, tmp_path, more):
    pytest.importorskip("xarray")
    want = {"vary": {"k": saltus.lin(100, 200, 8), "g": [0.1, 0.3, 0.2, 0.7]}, "until": 100,
            "points": 3, "seed": 5, "threads": 2, **more}
    check_resumed(command, lambda longer, output, progress: arrive.sweep(
        runs=longer * 150, output=output, progress=progress, overwrite=True, **want), tmp_path)


def test_what_the_command_cannot_do_is_told(arrive, command, tmp_path):
    """Times that are not equally spaced: the file has the model, and no command."""
    stopped(lambda longer: arrive.run(times=[0.0, 1.0, 500.0], runs=longer * 20_000, threads=2,
                                      output=tmp_path / "part.h5", overwrite=True, progress=enough))
    with pytest.raises(subprocess.CalledProcessError) as failure:
        command("resume", tmp_path / "part.h5")
    assert "times= that are not equally spaced, or" in failure.value.stderr
    r = arrive.run(times=[0.0, 1.0, 5.0], output=tmp_path / "o.h5")
    with h5py.File(r.path) as f:
        said = bytes(f["restart/sources"][...])
    assert b'"reactions"' in said and b"saltus:arguments" not in said


def test_lattices_that_keep_no_types_are_told(command, tmp_path):
    """by_type=False is no option of the command."""
    m, path = saltus.read(LATTICE + SITES), tmp_path / "part.h5"
    stopped(lambda longer: m.run(until=20, points=3, runs=longer * 250, by_type=False, output=path,
                                 threads=2, overwrite=True, progress=enough))
    with pytest.raises(saltus.Error, match="by_type"):
        saltus.open(path).type_counts
    with pytest.raises(subprocess.CalledProcessError) as failure:
        command("resume", path)
    assert "by_type=False of several types of sites; make it again" in failure.value.stderr
