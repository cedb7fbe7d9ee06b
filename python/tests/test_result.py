"""Results: bits of the command's file, exact answers, every kind of record, files."""
import os
import pickle
import subprocess
import time
import warnings

import numpy as np
import pytest

import saltus
from conftest import EXAMPLES, LATTICE, SITES, check_same_data

h5py = pytest.importorskip("h5py")


@pytest.mark.parametrize("method", ["direct", "tau"])
def test_bits_are_those_of_the_command(schlogl, command, tmp_path, method):
    path = tmp_path / "command.h5"
    command("run", EXAMPLES / "schlogl.yaml", "--until", 7.3, "--points", 12, "--runs", 60, "--seed",
            9, "--first", 5, "--set", "c3=0.0009", "--method", method, "--derive",
            "mean:X,passage:X:300", "-o", path)
    r = schlogl.run(until=7.3, points=12, runs=60, seed=9, first=5, set={"c3": 9e-4}, method=method,
                    derive=["mean:X", "passage:X:300"])
    with h5py.File(path) as f:
        np.testing.assert_array_equal(r.time, f["time"][:])
        np.testing.assert_array_equal(r.counts, f["counts"][:])
        np.testing.assert_array_equal(r.trajectories, f["run"][:])
        for ours, theirs in (("mean", r.mean()), ("variance", r.var()), ("min", r.min()),
                             ("max", r.max())):
            np.testing.assert_array_equal(theirs, f[f"stats/{ours}"][:])
        for name, values in r.derived.items():
            np.testing.assert_array_equal(values, f[f"derived/{name}"][:])
        assert r.attrs["events"] == f.attrs["events"]
    same = saltus.open(path)
    np.testing.assert_array_equal(same.counts, r.counts)
    np.testing.assert_array_equal(same["passage:X:300"], r["passage:X:300"])
    every = schlogl.run(until=1.0, every=0.3)
    np.testing.assert_array_equal(every.time, [0.0, 0.3, 0.6, 0.3 * 3, 1.0])


def test_birth_and_death_is_poisson(arrive):
    n = 20_000
    r = arrive.run(until=4, points=5, runs=n, seed=2)
    mean = 40.0 * (1.0 - np.exp(-0.5 * r.time[1:]))
    assert (np.abs(r.mean()[1:, 0] - mean) < 5.0 * np.sqrt(mean / n)).all()
    assert (np.abs(r.var()[1:, 0] - mean) < 5.0 * np.sqrt((mean + 2 * mean**2) / n)).all()
    assert np.isnan(r.fano()[0, 0]) and (np.abs(r.fano()[1:, 0] - 1) < 0.06).all()
    from_samples = r["X"].mean(axis=0)
    np.testing.assert_allclose(r.mean()[:, 0], from_samples, rtol=1e-13)
    np.testing.assert_array_equal(r.quantile([0.1, 0.5])[1], np.median(r.counts, axis=0))


def test_quantiles_are_of_samples_or_histograms(command, tmp_path):
    m = saltus.build(species={"X": 0, "Y": 300}, parameters={"k": 5.0},
                     reactions={"in": "0 -> X @ k", "out": "Y -> 0 @ 0.1"})
    want = dict(until=3, points=4, runs=60)
    samples, levels = m.run(**want), [0.0, 0.05, 0.5, 1.0]
    for more in ({}, {"output": tmp_path / "h.h5"}):
        binned = m.run(record="histogram", bins=301, range=(0, 301), **want, **more)
        for q in (0.3, np.float64(0.5), levels, np.array([0.25])):  # a bin is a count
            np.testing.assert_allclose(binned.quantile(q), samples.quantile(q), rtol=1e-12)
            assert binned.quantile(q).shape == np.shape(q) + (4, 2)
    coarse = m.run(record="histogram", bins=3, range=(0, 12), output=tmp_path / "c.h5", **want)
    said = command("stats", coarse.path, "--csv", "--quantiles", "0.05,0.5")
    rows = np.array([line.split(",") for line in said.splitlines()[1:]], dtype=float)
    np.testing.assert_allclose(coarse.quantile([0.05, 0.5]),
                               rows[:, -4:].reshape(4, 2, 2).swapaxes(0, 1), rtol=1e-5)
    final = m.run(record="final", **want)
    np.testing.assert_array_equal(final.quantile(0.5), samples.quantile(0.5)[-1])
    for r, said in ((m.run(record="stats", **want), "quantiles need samples or histograms"),
                    (m.run(species="k", **want), "no counts\nno species is counted")):
        with pytest.raises(saltus.InvalidError, match=said):
            r.quantile(0.5)
    for r in (samples, binned):
        for q in (1.5, [0.5, -0.1], [[0.5]], "half", None, float("nan"), ()):
            with pytest.raises(saltus.InvalidError, match="must be one number from 0 to 1"):
                r.quantile(q)


def test_autocorrelation_decays_at_the_rate_of_leaving(arrive):
    r = arrive.run(until=60, points=241, runs=400, seed=3, set={"X": 40})
    rho = r.autocorrelation("X", burn_in=20)
    expected = np.exp(-0.5 * 0.25 * np.arange(9))
    assert rho[0] == 1.0 and np.abs(rho[:9] - expected).max() < 0.03
    with pytest.raises(saltus.InvalidError, match="equally spaced"):
        arrive.run(times=[0, 1, 3], runs=2).autocorrelation("X")


def test_counts_are_not_copied(arrive):
    r = arrive.run(until=1, runs=10)
    assert r.counts.ctypes.data == r.counts.ctypes.data and r.counts.dtype == np.int64
    assert r["X"].base is not None and r.counts.shape == (10, 101, 1)


def test_a_result_cannot_be_changed(arrive, tmp_path):
    """Its arrays are what it saves; those of a batch are the caller's."""
    r = arrive.run(until=1, points=3, runs=10, derive="final:X")
    for kept in (r, pickle.loads(pickle.dumps(r))):
        for array in (kept.counts, kept["X"], kept["final:X"], kept.mean(), kept.var(),
                      kept.trajectories):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0
    mine = r["X"].copy()
    mine[:] = 0
    r.save(tmp_path / "r.h5")
    np.testing.assert_array_equal(saltus.open(tmp_path / "r.h5").counts, r.counts)
    arrive.batch([[20.0]], ["k"], until=1, derive="final:X")[:] = 0


def test_files_are_packed_as_they_should_be(arrive, tmp_path):
    want, sizes = dict(until=5, points=400, runs=500), []
    for how in ("none", "fast", "small"):
        r = arrive.run(output=tmp_path / f"{how}.h5", compress=how, **want)
        sizes.append(os.path.getsize(r.path))
        np.testing.assert_array_equal(r.counts, arrive.run(**want).counts)
    assert sizes[0] > 2 * sizes[1] and sizes[1] > sizes[2]
    arrive.run(compress="small", **want).save(tmp_path / "saved.h5")
    assert abs(os.path.getsize(tmp_path / "saved.h5") - sizes[2]) < 0.02 * sizes[2]
    with pytest.raises(saltus.InvalidError, match="compress has no 'best'"):
        arrive.run(until=1, compress="best")


def test_less_is_kept_when_less_is_asked_for(schlogl):
    want = dict(until=3, points=4, runs=300, seed=6)
    everything = schlogl.run(**want)
    final = schlogl.run(record="final", **want)
    np.testing.assert_array_equal(final.counts, everything.counts[:, -1])
    np.testing.assert_array_equal(final["X"], everything["X"][:, -1])
    stats = schlogl.run(record="stats", **want)
    np.testing.assert_array_equal(stats.var(), everything.var())
    with pytest.raises(saltus.InvalidError, match='record="all" keeps it'):
        stats.counts
    with pytest.raises(saltus.InvalidError, match="record"):
        stats["X"]
    bins = schlogl.run(record="histogram", bins=32, species="X", **want)
    edges, counts = bins.histogram("X")
    for t in range(4):
        np.testing.assert_array_equal(counts[t], np.histogram(everything["X"][:, t], edges)[0])
    assert (counts.sum(axis=1) == 300).all()
    ranged = schlogl.run(record="histogram", bins=10, range=(0, 1000), **want)
    np.testing.assert_array_equal(ranged.histogram("X")[0], np.arange(11) * 100.0)


def test_what_is_missing_is_told_with_what_would_help(arrive):
    for options, name, hint in (({"method": "ode"}, "counts", "is in observable_values"),
                                ({"record": "stats"}, "counts", 'record="all" keeps it'),
                                ({"record": "stats", "species": "k"}, "observable_values", "all"),
                                ({}, "observable_values", "name some in species=")):
        with pytest.raises(saltus.InvalidError, match=hint):
            getattr(arrive.run(until=1, **options), name)


def test_columns_are_those_asked_for(schlogl):
    r = schlogl.run(until=1, points=2, runs=3, species=["c3", "X"])
    assert r.species == ["X"] and r.observables == ["c3"] and r.columns == ["X", "c3"]
    assert (r["c3"] == 1e-3).all() and r.observable_values.shape == (3, 2, 1)
    assert r.mean().shape == (2, 2) and r.mean()[0, 1] == 1e-3
    with pytest.raises(saltus.InvalidError, match="there is 'X', 'c3'"):
        r["Y"]


@pytest.mark.parametrize("record, names", [("all", ["X", "c3", "max:X"]), ("stats", ["max:X"]),
                                           ("final", ["X", "c3", "max:X"])])
def test_is_a_mapping_of_what_it_keeps(schlogl, tmp_path, record, names):
    memory = schlogl.run(until=1, points=3, runs=4, species="X,c3", record=record, derive="max:X")
    file = schlogl.run(until=1, points=3, runs=4, species="X,c3", record=record, derive="max:X",
                       output=tmp_path / "r.h5")
    for r in (memory, file, pickle.loads(pickle.dumps(memory))):
        assert list(r) == r.keys() == names == list(dict(r)) and len(r) == len(names)
        with pytest.raises(saltus.InvalidError, match="a result is no array"):
            np.asarray(r)
        for name, array in r.items():
            assert name in r and np.array_equal(array, r[name])
        assert "Y" not in r and 0 not in r and [] not in r
        for error in (KeyError, saltus.InvalidError):
            with pytest.raises(error, match="^this result has no 'Y'"):
                r["Y"]
        assert ("X" in r) == (record != "stats")
    nothing = schlogl.run(until=1, record="stats")
    assert nothing and len(nothing) == 0 and list(nothing) == []


@pytest.mark.filterwarnings("ignore:histograms are of counts")
@pytest.mark.parametrize("record", ["all", "final", "histogram", "stats"])
def test_a_file_is_the_same_object(schlogl, tmp_path, record):
    want = dict(until=2, points=3, runs=40, seed=8, record=record, species="X,c3", derive="final:X")
    memory = schlogl.run(**want)
    file = schlogl.run(output=tmp_path / "run.h5", **want)
    assert type(file) is type(memory) and file.attrs["record"] == record
    for a, b in ((memory.mean(), file.mean()), (memory.var(), file.var()),
                 (memory["final:X"], file["final:X"]), (memory.trajectories, file.trajectories)):
        np.testing.assert_array_equal(a, b)
    assert file.columns == memory.columns and file.is_complete
    if record in ("all", "final"):
        np.testing.assert_array_equal(memory["X"], file["X"])
        np.testing.assert_array_equal(memory["c3"], file["c3"])
    if record == "histogram":
        for a, b in zip(memory.histogram("X"), file.histogram("X")):
            np.testing.assert_array_equal(a, b)
    with pytest.raises(saltus.Error, match="exists"):
        schlogl.run(output=tmp_path / "run.h5", **want)
    schlogl.run(output=tmp_path / "run.h5", overwrite=True, **want)


@pytest.mark.parametrize("record", ["all", "final"])
def test_numbers_of_a_file_have_the_types_of_memory(tmp_path, record):
    """A file has counts and sites in few bytes: squares and differences of these would wrap."""
    m = saltus.read(LATTICE.replace("A: 40", "A: 50000") + SITES)
    want = dict(until=1, points=3, runs=2, seed=5, frames=0.5, profile="z", by_type=True,
                record=record)
    memory, file = m.run(**want), m.run(output=tmp_path / "run.h5", **want)
    with h5py.File(file.path) as f:
        assert f["space/frames/A"].dtype.itemsize < 4
        assert record == "final" or f["counts"].dtype == f["space/profile"].dtype == np.int32
    parts = ["type_counts", "profile"] if record == "all" else []
    for r in (memory, file):
        for name in ["counts", "trajectories", *parts]:
            assert getattr(r, name).dtype == np.int64, name
        for name in ["counts", *parts]:
            assert all(x.dtype == np.int64 for x in r.blocks(name))
        assert r["A"].dtype == r["B"].dtype == np.int64 and (r["A"]**2 >= 0).all()
        assert r.frame_counts.dtype == r.frame_sites(1).dtype == np.int32
        assert (np.diff(r.frame_sites(), axis=0) < 0).any()
    pytest.importorskip("xarray")
    assert file.frames(1).dtype == np.int32 and file.to_xarray().dtypes == memory.to_xarray().dtypes
    pytest.importorskip("pandas")
    assert (file.to_pandas().dtypes == memory.to_pandas().dtypes).all()
    assert (file.to_pandas().dtypes == np.int64).all()


def check_same_files(one, other):
    """But for when they were made, and by which command."""
    with h5py.File(one) as a, h5py.File(other) as b:
        check_same_data(a, b)
        assert set(a.attrs) == set(b.attrs)
        assert not [k for k in a.attrs if k not in ("started", "seconds") and a.attrs[k] != b.attrs[k]]


@pytest.mark.parametrize("more", [
    {"record": "all", "derive": "max:X"}, {"record": "stats"}, {"record": "stats", "derive": "max:X"},
    {"record": "final", "species": "X,c3", "derive": "max:X,mean:c3"},
    {"record": "histogram", "bins": 16, "derive": "max:X"},
    {"record": "histogram", "range": (50, 400)}])
def test_saves_what_the_run_would_have_written(schlogl, command, tmp_path, more):
    want = dict(until=2, points=5, runs=3000, seed=8, set={"X": 300}, **more)
    r = schlogl.run(**want)
    schlogl.run(until=1)  # other values by now
    saved = r.save(tmp_path / "saved.h5")
    written = schlogl.run(output=tmp_path / "written.h5", **want)
    check_same_files(tmp_path / "saved.h5", tmp_path / "written.h5")
    assert saved.is_complete and written.is_complete
    np.testing.assert_array_equal(saved.mean(), r.mean())
    np.testing.assert_array_equal(saved.var(), r.var())
    every = [["stats", "--csv"], ["export", "--csv"], ["export", "--csv", "--derived"]]
    for words in every[:1 + (more["record"] in ("all", "final"))] + every[2:] * ("derive" in more):
        a, b = (command(words[0], tmp_path / f"{name}.h5", *words[1:]) for name in ("saved", "written"))
        assert a == b and a
    with pytest.raises(saltus.Error):
        r.save(tmp_path / "saved.h5")


@pytest.mark.parametrize("record", ["all", "stats", "final", "histogram"])
def test_saves_and_keeps_what_a_lattice_leaves(tmp_path, record):
    """Profiles and counts by type, or their statistics, and frames."""
    m = saltus.read(LATTICE + SITES)
    want = dict(until=1, points=3, runs=7, profile="z", by_type=True, frames=0.5, first=2)
    every, r = m.run(record="all", **want), m.run(record=record, **want)
    saved = r.save(tmp_path / "saved.h5")
    written = m.run(record=record, output=tmp_path / "written.h5", **want)
    check_same_files(tmp_path / "saved.h5", tmp_path / "written.h5")
    for of, samples in (("profile", every.profile), ("type_counts", every.type_counts)):
        for a in (r, saved, written, pickle.loads(pickle.dumps(r))):
            np.testing.assert_allclose(a.mean(of), samples.mean(axis=0), rtol=1e-14)
            np.testing.assert_allclose(a.var(of), samples.var(axis=0, ddof=1), rtol=1e-13)
        if record != "all":
            np.testing.assert_array_equal(r.mean(of), written.mean(of))
            np.testing.assert_array_equal(r.var(of), written.var(of))
            with pytest.raises(saltus.InvalidError, match=f"mean.\"{of}\".") as failed:
                getattr(r, of)
            assert f"no {of}" in failed.value.message
            if record != "final":
                continue
            xarray = pytest.importorskip("xarray")
            d = r.to_xarray()
            assert isinstance(d, xarray.Dataset)
            assert d["profile_mean"].dims == ("time", "plane", "species")
            assert d["type_counts_variance"].dims == ("time", "site_type", "species")
    with pytest.raises(saltus.InvalidError, match="has no 'frames'"):
        r.mean("frames")
    pytest.importorskip("matplotlib")
    r.plot("kymograph")


OLD_NAMES = {"run": "trajectories", "observable": "observable_names",
             "space/site_type": "space/type_names", "space/frame": "space/frames/time"}


def make_older(path):
    """A file as an earlier version wrote it: without scales, units and sums, and with other names."""
    with h5py.File(path, "r+") as f:
        names = []
        f.visit(names.append)
        for name in names:
            for attribute in ("units", "CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST", "DIMENSION_LABELS",
                              "_Netcdf4Dimid"):
                if attribute in f[name].attrs:
                    del f[name].attrs[attribute]
        for name in names:
            if name.split("/")[-1] in ("sum", "sum_sq", "word", "restart", "row", "plane", "n",
                                       "time_unit") and name in f:
                del f[name]
        moved = [(name, old) for name, old in OLD_NAMES.items() if name in f]
        for name, old in moved:
            f.move(name, old)
        return dict(moved)


def test_older_files_are_read(schlogl, command, tmp_path):
    path = tmp_path / "old.h5"
    new = schlogl.run(until=2, points=3, runs=40, species="X,c3", first=5, record="final", output=path)
    want = {name: new[name].copy() for name in new}, new.trajectories.copy(), new.mean()
    assert len(make_older(path)) == 2
    old = saltus.open(path)
    assert old.observables == ["c3"] and list(old) == ["X", "c3"]
    for name, array in want[0].items():
        np.testing.assert_array_equal(old[name], array)
    np.testing.assert_array_equal(old.trajectories, want[1])
    np.testing.assert_array_equal(old.mean(), want[2])
    said = command("stats", path, "--csv").splitlines()  # which reads them too
    assert said[0] == "time,X-mean,c3-mean,X-sd,c3-sd" and len(said) == 4
    path = tmp_path / "lattice.h5"
    new = saltus.read(LATTICE + SITES).run(until=1, points=3, runs=2, frames=0.5, by_type=True, output=path)
    frames, times, counts = new.frame_counts, list(new.frame_times), new.type_counts
    assert len(make_older(path)) == 3
    old = saltus.open(path)
    assert list(old.frame_times) == times == [0, 0.5, 1]
    np.testing.assert_array_equal(old.frame_counts, frames)
    np.testing.assert_array_equal(old.frame_sites(1), frames[1])
    np.testing.assert_array_equal(old.type_counts, counts)


def test_a_file_that_is_gone_or_another_is_told(arrive, tmp_path):
    """Rather than numbers of another run under this one's names."""
    path = tmp_path / "r.h5"
    same = dict(until=1, runs=5, points=3, output=path, overwrite=True)
    r = arrive.run(**same)
    for other in ({"seed": 2}, {"set": {"k": 3}}, {"first": 5}, {"points": 4}):
        arrive.run(**{**same, **other})
        for use in (lambda: r["X"], r.mean, r.to_pandas, r._repr_html_, lambda: list(r.blocks("counts"))):
            with pytest.raises(OSError, match="r.h5: holds another result than when it was opened"):
                use()
    arrive.run(**{**same, "runs": 7})  # as when it is extended
    assert r["X"].shape == (5, 3) and r.trajectories.tolist() == list(range(5))
    path.unlink()
    with pytest.raises(OSError, match="r.h5: cannot be read: No such file or directory"):
        r.mean()


def test_a_file_that_is_being_written_has_whole_trajectories(arrive, tmp_path):
    """Of some there may be the counts but not the numbers, and more come at any time."""
    h5py = pytest.importorskip("h5py")
    pytest.importorskip("xarray")
    arrive.run(until=1, runs=9, points=3, derive="mean:X", output=tmp_path / "r.h5")
    with h5py.File(tmp_path / "r.h5", "a") as f:
        f["run"].resize((6,))
    r = saltus.open(tmp_path / "r.h5")
    assert r.attrs["trajectories"] == 6 and len(r.counts) == len(r["mean:X"]) == 6
    assert len(r.to_pandas()) == 18 and r.to_xarray().sizes["run"] == 6
    assert sum(len(x) for x in r.blocks("counts")) == 6


@pytest.fixture
def begun(tmp_path):
    """begun(model, *options) gives the file of a run, or a sweep, whose trajectories do not end."""
    program, processes = os.environ.get("SALTUS_COMMAND"), []
    if not program:
        pytest.skip("SALTUS_COMMAND does not name the command")

    def begin(model, verb, *options):
        (tmp_path / "long.yaml").write_text(model)
        path, end = tmp_path / f"{verb}{len(processes)}.h5", time.time() + 300
        processes.append(subprocess.Popen([program, verb, tmp_path / "long.yaml", "--until", "1e12",
                                           "--points", "3", "-q", "-o", path, *options]))
        while not path.exists() and processes[-1].poll() is None and time.time() < end:
            time.sleep(0.05)
        return path
    yield begin
    for process in processes:
        process.kill()
        process.wait()


@pytest.mark.parametrize("lattice, record", [("", "all"), ("", "stats"), (LATTICE, "all")],
                         ids=["all", "stats", "lattice"])
@pytest.mark.filterwarnings("error")
def test_statistics_of_a_file_before_its_first_trajectory_are_nan(begun, tmp_path, lattice, record):
    model = lattice.replace("A -> B @ 0.5", '"A <-> B @ 1, 1"') + (SITES if lattice else "")
    path = begun(model or "species: {A: 0, B: 9}\nreactions: {in: 0 -> A @ 9, out: A -> 0 @ 1}\n",
                 "run", "--runs", "2", "--record", record, *["--profile", "z"][:2 * bool(lattice)])
    r = saltus.open(path)
    assert r.attrs["trajectories"] == 0
    for f in (r.mean, r.var, r.min, r.max, r.fano):
        assert f().shape == (3, 2) and np.isnan(f()).all(), f
    if record == "all":
        assert r.quantile(0.5).shape == (3, 2) and np.isnan(r.quantile(0.5)).all()
    for of in ("profile", "type_counts") if lattice else ():
        for f in (r.mean, r.var):
            assert f(of).shape == (3, 2, 2) and np.isnan(f(of)).all(), f
    pytest.importorskip("xarray")
    assert all(np.isnan(r.to_xarray()[s]).all() for s in ("mean", "variance", "min", "max"))
    pytest.importorskip("plotly")
    r.report(tmp_path / "page.html")
    assert "It holds no statistics yet: none" in (tmp_path / "page.html").read_text("utf-8")


def test_statistics_of_a_point_without_runs_are_nan(arrive, begun, tmp_path):
    pytest.importorskip("xarray")
    path = tmp_path / "sweep.h5"
    arrive.sweep({"k": [1.0, 2.0, 3.0]}, until=1, points=3, runs=4, output=path)
    with h5py.File(path, "a") as f:
        f["stats/n"][1] = 0
    d = saltus.open(path)
    for name in ("mean", "variance", "min", "max"):
        assert np.isnan(d[name].sel(k=2)).all() and np.isfinite(d[name].sel(k=[1, 3])).all()
    pytest.importorskip("plotly")
    path = begun("species: {A: 0}\nreactions: {in: 0 -> A @ 9, out: A -> 0 @ 1}\n", "sweep",
                 "--runs", "2", "--vary", "A=list:1,2")
    saltus.report(saltus.open(path), tmp_path / "page.html")
    assert "It holds no statistics yet: no point" in (tmp_path / "page.html").read_text("utf-8")


def test_saves_what_was_stopped(arrive, tmp_path):
    def enough(fraction):
        raise RuntimeError("enough")

    for record in ("all", "stats", "final", "histogram"):
        with pytest.raises(RuntimeError) as stopped:
            arrive.run(until=400, points=3, runs=200_000, set={"k": 200.0}, device="cpu", threads=2,
                       record=record, progress=enough)
        r = stopped.value.result
        saved = r.save(tmp_path / f"{record}.h5")
        assert not saved.is_complete and saved.attrs["trajectories"] == len(r.trajectories) < 200_000
        np.testing.assert_array_equal(saved.trajectories, r.trajectories)
        np.testing.assert_array_equal(saved.mean(), r.mean())


def test_what_is_no_result_is_refused(tmp_path):
    (tmp_path / "x.h5").write_text("nothing")
    with pytest.raises(saltus.Error):
        saltus.open(tmp_path / "x.h5")
    with pytest.raises(OSError):
        saltus.open(tmp_path / "nowhere.h5")


def test_pickles(schlogl, tmp_path):
    r = schlogl.run(until=2, points=5, runs=30, derive="max:X")
    again = pickle.loads(pickle.dumps(r))
    np.testing.assert_array_equal(again.counts, r.counts)
    np.testing.assert_array_equal(again["max:X"], r["max:X"])
    np.testing.assert_array_equal(again.var(), r.var())
    assert repr(again) == repr(r)
    with pytest.raises(saltus.InvalidError, match="process that ran it"):
        again.save(tmp_path / "x.h5")
    file = pickle.loads(pickle.dumps(r.save(tmp_path / "y.h5")))
    np.testing.assert_array_equal(file.counts, r.counts)


def test_to_xarray_and_pandas(schlogl):
    xarray = pytest.importorskip("xarray")
    r = schlogl.run(until=2, points=5, runs=30, species="X,c3", derive="max:X")
    d = r.to_xarray()
    assert d["counts"].dims == ("run", "time", "species")
    np.testing.assert_array_equal(d["counts"].sel(species="X"), r["X"])
    np.testing.assert_array_equal(d["mean"].sel(species="X"), r.mean()[:, 0])
    np.testing.assert_array_equal(d["observable_mean"].sel(observable="c3"), r.mean()[:, 1])
    assert d["max:X"].shape == (30,) and isinstance(d, xarray.Dataset)
    assert d["time"].size == 5 and d.attrs["model"] == "Schlögl"
    pytest.importorskip("pandas")
    frame = r.to_pandas()
    assert list(frame.columns) == ["X", "c3"] and len(frame) == 150
    assert frame.loc[(7, 2.0), "X"] == r["X"][7, -1]
    table = schlogl.run(until=2, points=5, runs=30, record="stats").to_pandas()
    np.testing.assert_array_equal(table["mean"]["X"], r.mean()[:, 0])
    final = schlogl.run(until=2, points=5, runs=30, record="final").to_pandas()
    np.testing.assert_array_equal(final["X"], r["X"][:, -1])


def test_shows_itself_in_a_notebook(schlogl):
    r = schlogl.run(until=2, points=5, runs=30)
    assert "30 of 30 trajectories" in repr(r) and f"{r.mean()[-1, 0]:.6g}" in r._repr_html_()


def test_frames_of_a_lattice(command, tmp_path):
    m = saltus.read(LATTICE)
    (tmp_path / "lattice.yaml").write_text(LATTICE)
    r = m.run(until=1, points=3, runs=2, seed=5, frames=0.5)
    frames = r.frame_counts
    assert frames.shape == (2, 3, 2, 3, 4, 2)
    np.testing.assert_array_equal(frames.sum(axis=(2, 3, 4)), r.counts)
    command("run", tmp_path / "lattice.yaml", "--until", 1, "--points", 3, "--runs", 2, "--seed", 5,
            "--frames", 0.5, "-o", tmp_path / "lattice.h5")
    same = saltus.open(tmp_path / "lattice.h5")
    np.testing.assert_array_equal(same.frame_counts, frames)
    np.testing.assert_array_equal(r.save(tmp_path / "x.h5").frame_counts, frames)
    pytest.importorskip("xarray")
    d = r.frames(1)
    assert d.dims == ("frame", "z", "y", "x", "species") and d.shape == (3, 2, 3, 4, 2)
    np.testing.assert_array_equal(same.frames(1), d)
    assert list(d["frame"].values) == [0.0, 0.5, 1.0]
    np.testing.assert_allclose(d["z"], [0.5e-7, 1.5e-7])
    with pytest.raises(saltus.InvalidError, match="no run 2"):
        r.frames(2)
    with pytest.raises(saltus.InvalidError, match="frames"):
        m.run(until=1).frames()


COMMAS = """begin parameters
 1 k 2
end parameters
begin species
 1 A(b,c) 9
 2 B() 0
end species
begin reactions
 1 1 2 k #_R1
end reactions
"""


def test_names_with_commas():
    m = saltus.read(COMMAS)
    r = m.run(until=0.3, points=3, runs=5, species=["B()", "A(b,c)"],
              derive=["final:A(b,c)", "final:B()"])
    assert r.species == ["B()", "A(b,c)"]
    np.testing.assert_array_equal(r["final:A(b,c)"], r["A(b,c)"][:, -1])
    assert (r["A(b,c)"] + r["B()"] == 9).all()
    for derive in ("final:A(b,c), mean:B()", iter(["final:A(b,c)", "mean:B() "]),
                   np.array(["final:A(b,c)", "mean:B()"])):
        same = m.run(until=0.3, points=3, runs=5, derive=derive)
        assert same.derived_names == ["final:A(b,c)", "mean:B()"]
        np.testing.assert_array_equal(same["final:A(b,c)"], r["final:A(b,c)"])
        np.testing.assert_allclose(same["mean:B()"], r["B()"].mean(axis=1))
    both = m.batch([[2.0]], "k", until=0.3, points=3, runs=5,
                   derive=np.array(["max:B()", "min:B()"]))
    np.testing.assert_array_equal(both[0, :, 0], r["B()"].max(axis=1))


def test_figures_of_names_with_commas():
    pytest.importorskip("matplotlib")
    r = saltus.read(COMMAS).run(until=0.3, points=3)
    figure = r.plot("trajectories", species="B(), A(b,c)")
    names = [t.get_text() for t in figure.axes[0].get_legend().get_texts()]
    assert names == ["B()", "A(b,c)"]


def test_what_a_run_has_to_say_is_a_warning():
    m = saltus.build(species={"A": 5}, reactions={}, events={"half": {"at": 0.5, "set": {"A": "A/2"}}})
    with pytest.warns(UserWarning, match="half") as said:
        m.run(until=1)
    assert len(said) == 1 and said[0].filename == __file__


def test_amounts_that_are_rounded_are_told():
    m = saltus.build(species={"A": 5}, reactions={})
    with pytest.warns(UserWarning, match="'A': initial amount 1.6 is rounded to 2") as said:
        r = m.run(until=1, set={"A": 1.6})
    assert len(said) == 1 and (r["A"] == 2).all()


@pytest.mark.parametrize("values, said", [([2.5, 3], "^model.* 2.5 is rounded to 2"),
                                          ([2, 3, 2.5], "^at A = 2.5: .* 2.5 is rounded to 2")])
def test_amounts_that_points_round_are_told(values, said, tmp_path):
    pytest.importorskip("xarray")
    m = saltus.build(species={"A": 5}, reactions={})
    calls = [lambda: m.sweep({"A": values}, until=1),
             lambda: m.sweep({"A": values}, until=1, output=tmp_path / "a.h5"),
             lambda: m.batch([[v] for v in values], ["A"], until=1)]
    for call in calls:
        with pytest.warns(UserWarning, match=said) as warned:
            call()
        assert len(warned) == 1 and warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m.sweep({"A": values}, until=1, method="ode")
        m.sweep({"A": [2, 3]}, until=1)


def test_parts_of_a_lattice(tmp_path):
    sites = "  sites: {a: , b: {box: {from: [0, 0, 0], to: [2 sites, 3 sites, 2 sites]}}}\n"
    r = saltus.read(LATTICE + sites).run(until=1, points=3, runs=2, profile="z", by_type=True)
    assert r.type_counts.shape == (2, 3, 2, 2)
    with pytest.raises(saltus.InvalidError, match="has no lattice, and so no types of sites"):
        saltus.read(EXAMPLES / "schlogl.xml").run(until=1, by_type=True)
    np.testing.assert_array_equal(r.type_counts.sum(axis=2), r.counts)
    profile = r.profile
    assert profile.shape == (2, 3, 2, 2)
    np.testing.assert_array_equal(profile.sum(axis=2), r.counts)
    pytest.importorskip("xarray")
    m, want = saltus.read(LATTICE), dict(until=1, points=3, profile="z")
    assert m.sweep({"A": [9.0]}, record="all", **want)["profile"].shape == (1, 1, 3, 2, 2)
    for use in (lambda: m.sweep({"A": [9.0]}, **want), lambda: m.batch([[9.0]], ["A"], **want),
                lambda: m.sweep({"A": [9.0]}, record="all", output=tmp_path / "o.h5", **want)):
        with pytest.raises(saltus.InvalidError, match="profile is kept of runs, and of sweeps with every"):
            use()
    assert not any(tmp_path.iterdir())


def test_a_file_that_is_missing_is_one(tmp_path):
    with pytest.raises(FileNotFoundError, match="cannot be read: No such file") as missing:
        saltus.open(tmp_path / "none.h5")
    again = pickle.loads(pickle.dumps(missing.value))
    assert isinstance(again, type(missing.value)) and again.errno == missing.value.errno == 2
    assert str(again) == str(missing.value)


def test_a_models_name_is_text_whatever_its_file_is_called(tmp_path):
    path = os.path.join(os.fsencode(tmp_path), b"m\xfcl\xc3\xbcr.yaml")
    try:
        with open(path, "w") as f:
            f.write("species: {A: 9}\nreactions: {R: A -> 0 @ 1}\n")
    except OSError:
        pytest.skip("the file system takes no such name")
    m = saltus.read(os.fsdecode(path))
    assert m.name == "m?l\xfcr"
    m.run(until=1, points=2, seed=1).save(tmp_path / "r.h5")
    assert saltus.open(tmp_path / "r.h5").attrs["model"] == "m?l\xfcr"


def test_a_file_that_is_open_elsewhere_in_the_process(arrive, tmp_path):
    """HDF5 refuses to open a file by other rules than those by which it is open."""
    h5py = pytest.importorskip("h5py")
    arrive.run(until=1, points=3, runs=5, output=tmp_path / "r.h5")
    with h5py.File(tmp_path / "r.h5", "r") as f:
        r = saltus.open(tmp_path / "r.h5")
        assert np.array_equal(r.counts, f["counts"][...])
    assert r.counts.shape == (5, 3, 1)


def test_a_result_is_a_mapping(arrive):
    r = arrive.run(until=1, points=3, runs=5, derive="final:X")
    assert r.get("Y") is None and r.get("Y", 3) == 3 and np.array_equal(r.get("X"), r["X"])
    assert [a.shape for a in r.values()] == [(5, 3), (5,)]


def test_frames_that_were_not_made_hold_no_number(tmp_path):
    h5py = pytest.importorskip("h5py")
    pytest.importorskip("xarray")
    saltus.read(LATTICE).run(until=1, points=3, runs=2, frames=0.25, output=tmp_path / "r.h5")
    whole = saltus.open(tmp_path / "r.h5").to_xarray().frames
    assert whole.dtype.kind in "iu" and whole.sizes["frame"] == 5
    with h5py.File(tmp_path / "r.h5", "r+") as f:
        f["space/frames/there"][1, 3:] = 0
    part = saltus.open(tmp_path / "r.h5").to_xarray().frames
    assert part.dtype == float and np.isnan(part[1, 3:]).all()
    assert np.array_equal(part[1, :3], whole[1, :3])
    assert np.array_equal(part[0], whole[0])
