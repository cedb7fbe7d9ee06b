"""What is taken out of results to be shown: the same from memory and from a file, part by part."""
import numpy as np
import pytest

import saltus
from conftest import LATTICE
from saltus import _result, _series
from saltus._series import distributions, edges_around, is_geometric, quantiles, spread


@pytest.fixture(params=["memory", "file"])
def kept(request, tmp_path, monkeypatch):
    """A function that runs a model into it, and blocks of so few numbers that there are several."""
    monkeypatch.setattr(_result, "_BLOCK", 1000)
    output = tmp_path / "o.h5" if request.param == "file" else None
    return lambda model, **options: model.run(output=output, overwrite=True, **options)


def test_blocks_are_all_rows(schlogl, kept):
    r = kept(schlogl, until=2, points=11, runs=300)
    blocks = list(r.blocks("counts"))
    assert len(blocks) > 3
    np.testing.assert_array_equal(np.concatenate(blocks), r.counts)


def test_missing_arrays_are_named(schlogl, kept):
    r = kept(schlogl, until=2, points=11, runs=3, record="stats")
    for name, hint in (("counts", "all"), ("profile", 'profile="z"'), ("observables", "species=")):
        with pytest.raises(saltus.InvalidError, match=f"no {name}\n.*{hint}"):
            list(r.blocks(name))
    with pytest.raises(saltus.InvalidError, match="no counts"):
        distributions(r, ["X"], [0])


@pytest.mark.parametrize("record", ["all", "final", "histogram"])
def test_distributions_count_every_run(schlogl, kept, record):
    r = kept(schlogl, until=4, points=11, runs=400, record=record)
    x = schlogl.run(until=4, points=11, runs=400)["X"]
    points = [10] if record == "final" else [0, 4, 10]
    edges, parts = distributions(r, ["X"], points, 50)["X"]
    assert parts.shape == (len(points), len(edges) - 1)
    for point, part in zip(points, parts):
        np.testing.assert_allclose(part, np.histogram(x[:, point], edges)[0] / 400)
        assert part.sum() == pytest.approx(1.0)


def test_distributions_of_observables(kept):
    m = saltus.build("decay", species={"A": 30}, parameters={}, reactions={"r": "A -> 0 @ 1"},
                     rules={"B": "30 - A", "inverse": "1/A"})
    r = kept(m, until=20, points=5, runs=200)
    found = distributions(r, ["inverse", "B", "A"], [1, 4], 10)
    np.testing.assert_allclose(found["B"][1].sum(axis=1), 1.0)
    edges, parts = found["inverse"]  # infinite where none is left
    assert np.isfinite(edges).all() and np.isfinite(parts).all() and len(edges) == 11


@pytest.mark.parametrize("record", ["all", "final", "histogram"])
def test_quantiles_at_every_point(kept, record):
    """Few molecules are told apart although there are many at other times."""
    m = saltus.build("growth", species={"X": 10, "D": 5000}, parameters={},
                     reactions={"grow": "X -> 2 X @ 1", "die": "D -> 0 @ 1.6"},
                     rules={"part": "X/1000"})
    is_kept, options = record == "histogram", {"until": 8, "points": 5, "runs": 200}
    names = ["X", "D"] + ["part"] * (not is_kept)
    r = kept(m, **options, record=record, species=names, **({"bins": 2**20} if is_kept else {}))
    points = [4] if record == "final" else [0, 1, 4]
    every = m.run(**options)
    found = quantiles(r, names, points, [0.05, 0.5, 0.95])
    for name in names:
        x = every[name][:, points]
        wanted = np.quantile(x, [0.05, 0.5, 0.95], axis=0)
        within = 1.0 if name != "part" else 0.0
        assert (np.abs(found[name] - wanted) <= within + 0.02 * np.ptp(x, axis=0)).all()
        assert (found[name][:, 0] >= x[:, 0].min()).all()


@pytest.mark.parametrize("record", ["all", "final", "histogram"])
def test_quantiles_are_those_of_stats(arrive, command, tmp_path, record):
    """Between two counts too."""
    levels = [0.05, 0.25, 0.5, 0.95, 0.975]
    r = arrive.run(until=3, points=4, runs=38, record=record, output=tmp_path / "o.h5")
    points = [3] if record == "final" else range(4)
    said = command("stats", r.path, "--csv", "--quantiles", ",".join(map(str, levels)))
    rows = [[float(x) for x in line.split(",")[-5:]] for line in said.splitlines()[1:]]
    found = quantiles(r, ["X"], points, levels)["X"]
    np.testing.assert_allclose(found.T, [rows[p] for p in points], rtol=1e-12)
    assert (found % 1 > 0).any()
    x = arrive.run(until=3, points=4, runs=38).quantile(levels)[:, points, 0]
    np.testing.assert_allclose(found, x, rtol=1e-12)


def test_quantiles_of_many_samples_are_found_in_bins(arrive, kept, monkeypatch):
    r, levels = kept(arrive, until=3, points=4, runs=38), [0.05, 0.5, 0.975]
    want = quantiles(r, ["X"], range(4), levels)["X"]
    monkeypatch.setattr(_series, "MANY_SAMPLES", 100)
    np.testing.assert_allclose(quantiles(r, ["X"], range(4), levels)["X"], want, rtol=1e-12)


def test_runs_outside_of_a_range_count(arrive, kept):
    """They are a part of all runs, and quantiles among them are not known."""
    want, levels = dict(until=3, points=4, runs=200), [0.05, 0.5, 0.95]
    x = arrive.run(**want)["X"]
    expected = np.quantile(x, levels, axis=0)
    for low, high in ((0, 25), (15, 30), (5, 20)):
        r = kept(arrive, **want, record="histogram", range=(low, high), bins=high - low)
        edges, parts = distributions(r, ["X"], range(4))["X"]
        within = (x >= low) & (x < high)
        np.testing.assert_allclose(parts.sum(axis=1), within.mean(axis=0))
        found = quantiles(r, ["X"], range(4), levels)["X"]
        known = (expected >= low) & (expected < high)
        known &= ~((x < low).any(axis=0) & (x >= high).any(axis=0))  # how many are on either side
        assert known.any() and not known.all()
        np.testing.assert_array_equal(np.isfinite(found), known)
        np.testing.assert_allclose(found[known], expected[known], atol=1)


def test_profiles_are_means(kept):
    r = kept(saltus.read(LATTICE), until=1, points=6, runs=40, profile="z")
    np.testing.assert_allclose(r.mean("profile"), r.profile.mean(axis=0))


def test_frames_of_one_run(kept):
    r = kept(saltus.read(LATTICE), until=1, points=6, runs=3, frames=0.5)
    np.testing.assert_array_equal(r.frame_sites(2), r.frame_counts[2])
    with pytest.raises(saltus.InvalidError, match="no run 3"):
        r.frame_sites(3)
    for wrong in (0.5, None, slice(1)):
        with pytest.raises(saltus.InvalidError, match="must be a whole number"):
            r.frame_sites(wrong)


def test_indices_and_edges():
    assert spread(3, 5).tolist() == [0, 1, 2] and spread(11, 3).tolist() == [0, 5, 10]
    assert edges_around(np.array([1.0, 2.0, 4.0])).tolist() == [0.5, 1.5, 3.0, 5.0]


def test_axes_are_logarithmic_where_values_lie_evenly_on_them():
    random = np.random.default_rng(7)
    for scale in (1.0, 1e-12, 1e12):
        for values in ([1, 10, 100], [1, 2, 4], np.geomspace(1, 1e3, 7), [1, 2, 5, 10, 20, 50],
                       10 ** random.uniform(-2, 2, 64)):
            assert is_geometric(scale * np.asarray(values, dtype=float)), values
        for values in ([1, 2], [1, 2, 3], [1, 10, 2], np.linspace(1, 100, 9), [0, 1, 10, 100], [5] * 4,
                       random.uniform(1, 100, 64)):
            assert not is_geometric(scale * np.asarray(values, dtype=float)), values
