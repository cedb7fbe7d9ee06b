"""Sweeps and batches: every point has the bits of a run."""
import numpy as np
import pytest

import saltus


def test_a_batch_is_a_run_at_each_row(arrive):
    theta = [[1.0, 5], [20.0, 0], [7.5, 12], [3.0, 3], [2.0, 2]]
    out = arrive.batch(theta, ["k", "X"], until=3, points=4, runs=6, seed=2)
    assert out.shape == (5, 6, 4, 1) and out.dtype == np.int64
    for g, (k, x) in enumerate(theta):
        one = arrive.run(until=3, points=4, runs=6, seed=2, first=6 * g, set={"k": k, "X": x})
        np.testing.assert_array_equal(out[g], one.counts)
    common = arrive.batch(theta, ["k", "X"], until=3, points=4, runs=6, common_random_numbers=True)
    one = arrive.run(until=3, points=4, runs=6, set={"k": 2, "X": 2})
    np.testing.assert_array_equal(common[4], one.counts)
    derived = arrive.batch(theta, ["k", "X"], until=3, points=4, runs=6, seed=2,
                           derive=["final:X", "mean:X"])
    assert derived.shape == (5, 6, 2)
    np.testing.assert_array_equal(derived[..., 0], out[:, :, -1, 0])
    np.testing.assert_allclose(derived[..., 1], out[..., 0].mean(axis=2), rtol=1e-14)
    final = arrive.batch(theta, ["k", "X"], until=3, points=4, runs=6, seed=2, record="final")
    np.testing.assert_array_equal(final, out[:, :, -1])


@pytest.mark.parametrize("runs", (1, 3))
def test_many_rows_are_like_few(arrive, runs):
    """Many rows are simulated at once, few one by one."""
    theta = np.column_stack([np.linspace(1, 30, 150), np.arange(150) % 7])
    names, want = ["k", "X"], dict(until=3, points=4, runs=runs, seed=2)
    for more in ({}, {"record": "final"}, {"derive": "final:X,mean:X"}):
        out = arrive.batch(theta, names, **want, **more)
        few = [arrive.batch(theta[i:i + 50], names, first=i * runs, **want, **more)
               for i in range(0, 150, 50)]
        np.testing.assert_array_equal(out, np.concatenate(few))
    points = arrive.sweep({"k": np.linspace(1, 30, 75), "X": [2, 5]}, **want)
    one = arrive.run(first=148 * runs, set={"k": 30, "X": 2}, **want)
    np.testing.assert_array_equal(points["mean"][-1, 0].values, one.mean())


def test_batches_read_nothing_twice(arrive, monkeypatch):
    arrive.batch([[1.0]] * 40, ["k"], until=1, threads=1)  # of two one may come too late
    parsed = []
    monkeypatch.setattr(saltus.Model, "_parse", lambda self: parsed.append(self))
    for g in (0.5, 0.7):
        arrive.batch([[g]] * 40, ["g"], until=1, threads=1)
        arrive.run(until=1, set={"g": g})
    assert not parsed
    fresh = saltus.Model.batch
    monkeypatch.undo()
    again = arrive.batch([[0.5]], ["g"], until=2, runs=4)  # k is as the model has it, not 1
    np.testing.assert_array_equal(again[0], arrive.run(until=2, runs=4, set={"g": 0.5}).counts)
    assert fresh is saltus.Model.batch


def test_a_sweep_that_is_refused_leaves_nothing_behind(arrive):
    """No value of its points is in those of the next sweep."""
    want = dict(until=2, points=3, runs=5, threads=1)
    expected = arrive.batch([[0.5], [0.7]], ["g"], **want)
    for refused in (lambda: arrive.sweep({"k": [1e3, 2e3]}, until=1, device="nonsense"),
                    lambda: arrive.batch([[1e3], [2e3]], ["k"], until=1, species="k")):
        with pytest.raises(saltus.InvalidError):
            refused()
        np.testing.assert_array_equal(arrive.batch([[0.5], [0.7]], ["g"], **want), expected)


def test_wrong_tables_are_refused(arrive):
    for theta, names in (([1.0, 2.0], ["k"]), ([[1.0, 2.0]], ["k"]), ([[]], []), ([[[1.0]]], ["k"]),
                         (np.empty((0, 1)), ["k"]), ([[float("nan")]], ["k"]),
                         ([[float("inf")]], ["k"]), ([[1.0, 1.0]], ["k", "k"]),
                         ([[-1.0]], ["X"]), ([[1.0]], ["q"]), ([[1.0]], None)):
        with pytest.raises((saltus.InvalidError, saltus.ModelError)):
            arrive.batch(theta, names, until=1)
    with pytest.raises(saltus.InvalidError, match="derive= names quantities"):
        arrive.batch([[1.0]], ["k"], until=1, record="stats")
    with pytest.raises(saltus.InvalidError, match="with derive, batch gives quantities"):
        arrive.batch([[1.0]], ["k"], until=1, record="final", derive="mean:X")
    assert arrive.batch([[1.0, 2.0]], iter(["k", "g"]), until=1, points=2).shape == (1, 1, 2, 1)
    with pytest.raises(saltus.InvalidError, match="did you mean 'k'"):
        arrive.batch([[1.0]], ["kk"], until=1)
    with pytest.raises(saltus.InvalidError, match=r"shape \[N, 2\], a column for each of 'k', 'g'"):
        arrive.batch([[1.0]], ["k", "g"], until=1)


def test_a_batch_without_counts_is_refused(arrive):
    for options in ({"species": "k"}, {"method": "ode"}):
        with pytest.raises(saltus.InvalidError, match="no species is counted"):
            arrive.batch([[1.0]], ["k"], until=1, **options)
    with pytest.raises(saltus.InvalidError, match="'k' is no species") as refused:
        arrive.batch([[1.0]], ["k"], until=1, species="X,k")
    assert "derive=" in refused.value.hint
    out = arrive.batch([[0.0], [7.0]], ["k"], until=1, method="ode", derive="final:X")
    assert out[0] == 0.0 and abs(out[1] - 14.0 * (1.0 - np.exp(-0.5))) < 1e-4


def test_a_sweep_has_an_axis_for_each_name(arrive, tmp_path):
    xarray = pytest.importorskip("xarray")
    vary = {"k": saltus.lin(10, 30, 3), "X": [0, 50]}
    d = arrive.sweep(vary, until=2, points=3, runs=20, seed=4, record="all", derive="mean:X")
    assert d["counts"].dims == ("k", "X", "run", "time", "species")
    assert list(d["k"].values) == [10, 20, 30] and list(d["X"].values) == [0, 50]
    one = arrive.run(until=2, points=3, runs=20, seed=4, first=20 * 3, set={"k": 20, "X": 50})
    cell = d.sel(k=20, X=50)
    np.testing.assert_array_equal(cell["counts"], one.counts)
    np.testing.assert_array_equal(cell["mean"][:, 0], one.mean()[:, 0])
    np.testing.assert_array_equal(cell["trajectory"], one.trajectories)
    assert d["mean:X"].dims == ("k", "X", "run")
    file = arrive.sweep(vary, until=2, points=3, runs=20, seed=4, record="all", derive="mean:X",
                        output=tmp_path / "sweep.h5")
    xarray.testing.assert_equal(file, d)
    assert d.attrs["requested"] == d.attrs["trajectories"] == 6 * 20 and d.attrs["complete"]
    assert d.attrs["seconds"] > 0
    for name in set(d.attrs) - {"seconds"}:
        assert d.attrs[name] == file.attrs[name], name
    some = saltus.open(tmp_path / "sweep.h5", samples=False)
    assert set(file.data_vars) - set(some.data_vars) == {"counts"}
    xarray.testing.assert_equal(some["variance"], d["variance"])
    stats = arrive.sweep({"k": saltus.log(1, 100, 3)}, until=2, points=3, runs=5)
    np.testing.assert_allclose(stats["k"], [1, 10, 100])
    assert "counts" not in stats and stats["variance"].dims == ("k", "time", "species")


def test_a_set_is_of_all_points(arrive, command, tmp_path):
    """As a further axis with one value, and as the command's --set."""
    xarray = pytest.importorskip("xarray")
    want, vary = dict(until=2, points=3, runs=20, seed=4), {"k": [10, 20]}
    axis = arrive.sweep({**vary, "g": [3]}, record="all", **want).isel(g=0, drop=True)
    for more in ({}, {"output": tmp_path / "sweep.h5"}):
        d = arrive.sweep(vary, set={"g": 3}, record="all", **want, **more)
        xarray.testing.assert_equal(d, axis)
    assert (arrive.sweep(vary, record="all", **want)["counts"] != axis["counts"]).any()
    (tmp_path / "arrive.yaml").write_text(arrive.to_yaml())
    command("sweep", tmp_path / "arrive.yaml", "--vary=k=list:10,20", "--set=g=3", "--until=2",
            "--points=3", "--runs=20", "--seed=4", "-o", tmp_path / "command.h5", "-q")
    xarray.testing.assert_equal(saltus.open(tmp_path / "command.h5"), axis)
    rows = [[k, 3.0] for k in (10, 20)] * 40  # so many that some are simulated at once
    many = arrive.batch(rows, ["k", "g"], **want)
    np.testing.assert_array_equal(many[:2], axis["counts"])
    for names in ("k", iter(["k"])):
        out = arrive.batch([row[:1] for row in rows], names, set={"g": 3}, **want)
        np.testing.assert_array_equal(out, many)
    for use in (arrive.sweep, lambda vary, **more: arrive.batch([[1.0]], ["k"], **more)):
        with pytest.raises(saltus.InvalidError, match="did you mean 'g'"):
            use(vary, until=1, set={"gg": 3})
        with pytest.raises(saltus.InvalidError, match="set: g='fast' must be a number"):
            use(vary, until=1, set={"g": "fast"})


def test_a_set_of_what_varies_is_of_no_account(arrive):
    xarray = pytest.importorskip("xarray")
    want = dict(until=2, points=3, runs=20)
    with pytest.warns(UserWarning, match="^set: 'k' is of no account: it is varied$") as said:
        d = arrive.sweep({"k": [10, 20]}, set={"k": 1e6}, record="all", **want)
        out = arrive.batch([[10.0], [20.0]], ["k"], set={"k": 1e6}, **want)
    assert len(said) == 2 and {w.filename for w in said} == {__file__}
    xarray.testing.assert_equal(d, arrive.sweep({"k": [10, 20]}, record="all", **want))
    np.testing.assert_array_equal(out, d["counts"])


@pytest.mark.parametrize("options", [{}, {"bins": 8}, {"range": (0, 40), "bins": 10}])
def test_a_sweep_has_histograms(tmp_path, options):
    pytest.importorskip("xarray")
    m = saltus.build("two", species={"X": 0, "Y": 300}, parameters={"k": 20.0},
                     reactions={"in": "0 -> X @ k", "out": "Y -> 0 @ 1"})
    want = dict(until=2, points=3, runs=50, seed=4)
    samples = m.sweep({"k": [5, 500, 20]}, record="all", **want)["counts"]
    for where in ({}, {"output": tmp_path / "sweep.h5"}):
        d = m.sweep({"k": [5, 500, 20]}, record="histogram", **options, **want, **where)
        assert d["histogram"].dims == ("k", "species", "time", "bin")
        assert d["edges"].dims == ("k", "species", "edge")
        assert d.sizes["edge"] == d.sizes["bin"] + 1 and d["histogram"].values.max() > 0
        for place in np.ndindex(3, 2, 3):
            at = dict(zip(("k", "species", "time"), place))
            edges = d["edges"].isel(k=at["k"], species=at["species"]).values
            edges, counts = edges[~np.isnan(edges)], d["histogram"].isel(at).values
            x, n = samples.isel(at).values, len(edges) - 1
            # numpy's last bin holds its upper edge too, ours does not
            expected = np.histogram(x[x < edges[-1]], edges)[0]
            np.testing.assert_array_equal(counts[:n], expected)
            assert not counts[n:].any()
    one = m.run(record="histogram", set={"k": 500}, first=50, **options, **want)
    both = [one, m.run(record="histogram", set={"k": 500}, first=50, **options, **want,
                       output=tmp_path / "run.h5")]
    for r in both:
        x = r.to_xarray()
        assert x["histogram"].dims == ("species", "time", "bin")
        for i, name in enumerate(r.species):
            edges, counts = r.histogram(name)
            np.testing.assert_array_equal(x["edges"][i, :len(edges)], edges)
            assert np.isnan(x["edges"][i, len(edges):]).all()
            np.testing.assert_array_equal(x["histogram"][i, :, :counts.shape[1]], counts)
            np.testing.assert_array_equal(counts, one.histogram(name)[1])


def test_a_file_has_the_numbers_of_trajectories(arrive, tmp_path):
    pytest.importorskip("xarray")
    for common, expected in ((False, [[7, 8, 9], [10, 11, 12]]), (True, [[7, 8, 9]] * 2)):
        for where in ({}, {"output": tmp_path / "sweep.h5", "overwrite": True}):
            d = arrive.sweep({"k": [1, 2]}, until=1, points=2, runs=3, first=7, record="final",
                             common_random_numbers=common, **where)
            np.testing.assert_array_equal(d["trajectory"], expected)


def test_a_part_has_the_numbers_of_trajectories(arrive, command, tmp_path):
    pytest.importorskip("xarray")
    (tmp_path / "arrive.yaml").write_text(arrive.to_yaml())
    vary = {"k": [1, 20], "X": [0, 5]}
    for by in ("points", "runs"):
        for common in (False, True):
            whole = arrive.sweep(vary, until=1, points=2, runs=6, first=4, record="final",
                                 common_random_numbers=common)
            numbers = [whole[name].values.reshape(4, 6) for name in ("trajectory", "counts")]
            parts = []
            for i in range(2):
                path = tmp_path / f"{by}-{common}-{i}.h5"
                command("sweep", tmp_path / "arrive.yaml", "--vary", "k=list:1,20", "--vary",
                        "X=list:0,5", "--until", 1, "--points", 2, "--runs", 6, "--first", 4,
                        "--record", "final", "--shard", f"{i}/2", "--shard-by", by, "-q",
                        *(["--common-random-numbers"] * common), "-o", path)
                part = saltus.open(path)
                parts.append([part[name].values.reshape((2, 6) if by == "points" else (4, 3))
                              for name in ("trajectory", "counts")])
            for expected, found in zip(numbers, zip(*parts)):
                together = np.concatenate(found, axis=int(by == "runs"))
                np.testing.assert_array_equal(together, expected)


def test_names_of_the_dataset_itself_can_vary(tmp_path):
    pytest.importorskip("xarray")
    m = saltus.build(species={"X": 9, "run": 4},
                     parameters={"mean": 2.0, "time": 1.0, "species": 3.0},
                     reactions={"r": "X -> run @ mean*time*species"})
    want = dict(until=1, points=2, runs=3, record="all", derive="final:X", species="X,run,mean")
    for name in ("mean", "time", "species", "run"):
        for vary, design in (({name: [1, 2]}, None), ({name: saltus.lin(0, 8)}, "sobol:2")):
            d = m.sweep(vary, design=design, **want)
            axis = f"varied:{name}" if design is None else "point"
            assert d["counts"].dims == (axis, "run", "time", "species")
            assert list(d["species"]) == ["X", "run"] and list(d["time"]) == [0, 1]
            for g, value in enumerate(d[f"varied:{name}"].values):
                one = m.run(first=3 * g, set={name: value}, **want)
                np.testing.assert_array_equal(d["counts"][g], one.counts)
            file = m.sweep(vary, design=design, output=tmp_path / "sweep.h5", overwrite=True,
                           **want)
            assert file.equals(d)


def test_a_design_has_one_axis(arrive):
    pytest.importorskip("xarray")
    d = arrive.sweep({"k": saltus.lin(10, 30), "g": saltus.log(0.1, 1)}, until=2, points=3, runs=5,
                     design="sobol:8")
    assert d["mean"].dims == ("point", "time", "species") and d["k"].dims == ("point",)
    assert d["k"].size == 8 and ((d["g"] >= 0.1) & (d["g"] <= 1)).all()


def test_what_gives_numbers_one_by_one_is_a_row_of_them(arrive):
    pytest.importorskip("xarray")
    rates, times = {"k": 0.5, "X": 2.0}, [0.0, 1.0, 2.0]
    d = arrive.sweep({"k": rates.values()}, times=iter(times), runs=3)
    assert d.identical(arrive.sweep({"k": [0.5, 2.0]}, times=times, runs=3).assign_attrs(
        seconds=d.attrs["seconds"]))
    assert arrive.batch((row for row in ([1.0], [2.0])), ["k"], times=map(float, times)).shape[0] == 2
    assert arrive.run(times=2).time == [2.0]


def test_wrong_axes_are_refused(arrive):
    for vary in ({}, None, {"k": "cubic:1:2:3"}, {"k": saltus.lin(0, 1)}, {"q": [1.0]},
                 {"k": [[1.0]]}, {"k": []}, {"k": [float("nan")]}):
        with pytest.raises(saltus.InvalidError):
            arrive.sweep(vary, until=1)
    for wrong, said in (({"seed": -1}, "seed=-1 must be from 0"),
                        ({"seed": 1.5}, "seed=1.5 must be a whole number"),
                        ({"seed": 1 << 64}, "must be from 0"),
                        ({"design": 5}, "design=5 must be a text")):
        with pytest.raises(saltus.InvalidError, match=said):
            arrive.sweep({"k": saltus.lin(1, 2)}, until=1, **{"design": "lhs:2", **wrong})
    with pytest.raises(saltus.InvalidError, match="low='a' must be a number"):
        saltus.lin("a", 2, 3)
    with pytest.raises(saltus.InvalidError, match="n=2.5 must be a whole number"):
        saltus.log(1, 2, 2.5)
