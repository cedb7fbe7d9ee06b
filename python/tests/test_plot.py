"""Figures: whatever is drawn, no two texts overlap and none leaves the canvas."""
import functools
import itertools
import math
import signal
import threading
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest

import saltus
from conftest import ARRIVE, EXAMPLES, LATTICE, SITES
from saltus import __main__ as of_command

pytest.importorskip("matplotlib", reason="matplotlib is missing (tools/packages test)")
pytest.importorskip("xarray", reason="xarray is missing (tools/packages test)")

from matplotlib.backends.backend_agg import RendererAgg  # noqa: E402
from matplotlib.collections import QuadMesh  # noqa: E402

LONG = ["concentration_of_a_protein_no" + c for c in "12345678"]  # 30 characters each
TITLE = ("A title of a hundred characters is more "
         "than a figure of usual width can show in one line, like here")


class Recorder(RendererAgg):
    """Notes the texts that are drawn."""

    def __init__(self, figure):
        super().__init__(figure.bbox.width, figure.bbox.height, figure.dpi)
        self.texts = []

    def draw_text(self, *arguments, mtext=None, **options):
        self.texts.append(mtext)
        super().draw_text(*arguments, mtext=mtext, **options)


def texts_of(figure):
    """Every text that is drawn, with its extent in pixels."""
    renderer = Recorder(figure)
    figure.draw(renderer)
    return [(t.get_text(), t.get_window_extent(renderer)) for t in renderer.texts]


def check(figure, *expected):
    """No two texts of the figure overlap, none leaves it, and some are there."""
    texts = texts_of(figure)
    width, height = figure.bbox.width, figure.bbox.height
    assert len(texts) >= 5
    for text, box in texts:
        assert -1 <= box.x0 and box.x1 <= width + 1 and -1 <= box.y0 and box.y1 <= height + 1, text
    for (one, a), (other, b) in itertools.combinations(texts, 2):
        across, up = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert across < 1 or up < 1, f"{one!r} and {other!r} overlap"
    for part in expected:
        assert any(part in text for text, _ in texts), part
    return figure


def ladder(n, sizes=lambda i: 100, names=None):
    """n species that decay from given numbers of molecules."""
    names = names or [f"S{i}" for i in range(n)]
    return saltus.build("ladder", species={s: sizes(i) for i, s in enumerate(names)}, parameters={},
                        reactions={f"r{i}": f"{s} -> 0 @ 0.5" for i, s in enumerate(names)})


KINDS = ["auto", "bands", "trajectories", "histogram", "heatmap"]


@pytest.fixture(scope="module")
def results():
    """Results that are hard to draw, by names."""
    flat = saltus.build("flat", species={"X": 7}, parameters={}, reactions={"r": "X -> 0 @ 0"})
    return {
        "long": ladder(8, lambda i: 50 + 10 * i, LONG).run(until=5, points=21, runs=60),
        "wide": ladder(7, lambda i: 10 ** i).run(until=5, points=21, runs=60),
        "many": ladder(30, lambda i: 20 + i).run(until=5, points=21, runs=60),
        "one": saltus.build("arrive", **ARRIVE).run(until=8, points=41, runs=1),
        "flat": flat.run(until=3, points=11, runs=60),
        "schlogl": saltus.read(EXAMPLES / "schlogl.xml").run(until=10, points=51, runs=400),
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["long", "wide", "many", "one", "flat", "schlogl"])
def test_texts_keep_apart(results, name, kind):
    check(results[name].plot(kind, title=TITLE if name == "long" else None))


@pytest.mark.parametrize("name", ["long", "wide", "schlogl"])
def test_log_axes(results, name):
    check(results[name].plot("bands", log=True, logx=True))


def test_log_axes_of_maps_have_all_cells(schlogl):
    """Cells that begin below 0, where counts and times do, cut nothing else off."""
    m = saltus.build("few", species={"X": 0}, parameters={},
                     reactions={"in": "0 -> X @ 2", "out": "X -> 0 @ 0.005"})
    r = m.run(until=1000, points=101, runs=80)
    drawn = r.plot("heatmap", log=True, logx=True).axes[0]
    assert drawn.get_ylim()[0] < 1 < 2 * r["X"].max() < 4 * drawn.get_ylim()[1]
    assert drawn.get_xlim()[0] < 10 < drawn.get_xlim()[1] == 1000
    d = schlogl.sweep({"c3": [0, 8e-4, 9e-4, 1e-3]}, until=10, points=2, runs=100, record="all")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn = saltus.plot(d, log=True, logx=True).axes[0]
    assert drawn.get_ylim()[0] < 1 and 1e-4 < drawn.get_xlim()[0] < drawn.get_xlim()[1] < 1.1e-3


def test_logarithmic_axes_of_the_smallest_numbers():
    m = saltus.build("tiny", species={"A": 10}, parameters={}, rules={"t": "if(A > 20, 1e10, 1e-320)"},
                     reactions={"r": "0 -> A @ 9"})
    r = m.run(until=3, points=11, runs=1, species="A,t")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        r.plot(species="t", log=True)


def test_largest_numbers_are_refused_or_drawn():
    m = saltus.build("large", species={"A": 5, "B": 0}, parameters={"k": 1.0},
                     rules={"y": "A*7e307", "z": "-7e307*A", "t": "(A + 1)*1e-300",
                            "w": "if(A > 2, 1.7e308, -1.7e308)"},
                     reactions={"r": "A -> B @ k", "b": "B -> A @ k"})
    r = m.run(until=3, points=11, runs=60, species="A,y,z,t,w", derive="final:w,final:A")
    d = m.sweep({"k": [1.0, 2.0, 4.0], "A": [5, 6]}, until=3, points=2, runs=60,
                species="A,y,z,t,w")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draws = [functools.partial(r.plot, kind) for kind in ("bands", "trajectories", "histogram")]
        draws.append(functools.partial(saltus.plot, d))
        for draw, species, log in itertools.product(draws, "yztAw", (False, True)):
            try:
                draw(species=species, log=log)
            except saltus.InvalidError as failure:
                assert failure.message == "values of 1e+300 and more cannot be drawn"
                assert species in "yzw"
        for how in ({"derived": "final:w"}, {"kind": "heatmap", "species": "w"}):
            with pytest.raises(saltus.InvalidError, match="cannot be drawn"):
                r.plot(**how)


def bars(axes):
    """Heights of a panel's bins, and their edges."""
    return axes.patches[0].get_data()[:2]


def test_whole_numbers_have_whole_bins(arrive):
    """Also of rules and derived quantities: no bin holds more of them than another."""
    m = saltus.build(**ARRIVE, rules={"same": "X + 0", "half": "X/2", "all": "X*0.1 + (40 - X)*0.1"})
    r = m.run(until=20, points=5, runs=2000, species="X,same,half,all", derive="final:X")
    figure = r.plot("histogram", species="X,same,half,all")
    (x, at), (same, at_same), (half, at_half), (one, _) = map(bars, figure.axes)
    assert np.array_equal(x, same) and np.array_equal(at, at_same) and (at % 1 == 0.5).all()
    assert (at_half[1:] - at_half[:-1] < 1).all() and abs(half.sum() - 1.0) < 1e-9
    assert one[0] == 1.0 and not one[1:].any()  # but for rounding it stays
    heights, edges = bars(r.plot(derived="final:X").axes[0])
    assert heights.sum() == 2000 and (edges % 1 == 0.5).all()
    assert "all" not in "".join(text for text, _ in texts_of(r.plot("bands")))


def test_rules_have_peaks_too(schlogl):
    m = saltus.read(EXAMPLES / "schlogl.xml")
    with_rule = saltus.read(m.to_yaml() + "\nrules: {dens: X/100}\n")
    figure = with_rule.run(until=10, points=11, runs=400).plot()
    assert [isinstance(a.collections[0], QuadMesh) for a in figure.axes[:2]] == [True, True]
    last = with_rule.run(until=10, points=11, runs=400, record="final").plot().axes[0].child_axes[0]
    assert last.get_title("left") == "end"


def test_sweeps_show_what_varies_most():
    names = [f"S{i}" for i in range(9)] + ["BIG"]
    m = saltus.build("ten", species=dict.fromkeys(names, 0), parameters={"q": 1, "k": 1, "h": 1},
                     reactions={f"r{n}": f"0 -> {n} @ {'q' if n == 'BIG' else 50}" for n in names})
    axes = {"q": [1, 1000], "k": [1, 2], "h": [1, 2]}
    for n, most in ((1, 8), (2, 8), (3, 3)):
        d = m.sweep(dict(list(axes.items())[:n]), until=1, points=2, runs=5)
        check(saltus.plot(d), "BIG", f"ten at time 1, {most} of 10 shown")
    d = m.sweep({"q": saltus.lin(1, 900), "k": saltus.lin(1, 2), "h": saltus.lin(1, 2)}, until=1,
                points=2, runs=5, design="lhs:8")
    check(saltus.plot(d), "mean ± sd of BIG", "1 of 10 shown")
    d.attrs["complete"] = 0
    check(saltus.plot(d, species="S3,BIG"), "mean ± sd of S3", "incomplete, 1 of 2 shown")
    d.attrs.update(complete=1, n_shards=4)
    check(saltus.plot(d), "one part of 4")


def test_what_few_runs_have_is_said(arrive):
    r = arrive.run(until=3, points=4, runs=200, derive="passage:X:48")
    n = int(np.isfinite(r.derived["passage:X:48"]).sum())
    assert 0 < n < 100
    check(r.plot(derived="passage:X:48"), f"passage:X:48, {n} of 200 runs")


def test_cells_of_a_logarithmic_time(arrive):
    """Each lies around its own time."""
    r = arrive.run(times=[0, 1e-6, 1e-3, 1, 1000], runs=60)
    mesh = r.plot("heatmap", logx=True).axes[0].collections[0].get_coordinates()[0, :, 0]
    assert np.allclose(mesh[1:], [10**-7.5, 10**-4.5, 10**-1.5, 10**1.5, 10**4.5])


def test_one_number_is_that_of_its_place():
    m = saltus.build("huge", species={"B": 10**12}, reactions={"r": "0 -> B @ 500"})
    r = m.run(until=1, points=2, runs=60)
    axes = r.plot("histogram", size=(1.6, 1.6)).axes[0]
    for at, text in zip(axes.get_xticks(), axes.get_xticklabels()):
        assert abs(float(text.get_text() or at) - at) < 1


def test_times_have_their_kind(results):
    r = results["long"]
    for time in (math.nan, math.inf):
        with pytest.raises(saltus.InvalidError, match=f"time={time} is no time"):
            r.plot("histogram", time=time)
    with pytest.raises(saltus.InvalidError, match="time=2 is for kind='histogram': kind='bands'"):
        r.plot("bands", time=2)
    assert f"at time {r.time[0]:g}" in r.plot(time=0)._suptitle.get_text()
    assert "3 of " in r.plot(trajectories=3)._suptitle.get_text()
    with pytest.raises(saltus.InvalidError, match="trajectories=0 are none to draw"):
        r.plot(trajectories=0)


def test_texts_that_xml_does_not_know(results, tmp_path):
    path = tmp_path / "figure.svg"
    drawn = results["flat"].plot("bands", title="]]> <a> -- & \x01 \udcff \ufffe", path=path)
    ElementTree.parse(path)
    assert drawn._suptitle.get_text() == "]]> <a> -- &"


@pytest.mark.parametrize("dpi, size", [(4, None), (10000, None), (6000, (3, 11)), (math.nan, None)])
def test_sizes_that_are_none(results, dpi, size):
    with pytest.raises(saltus.InvalidError, match=f"dpi={dpi}: .* inches; 5 to [0-9]+ are possible"):
        results["flat"].plot(dpi=dpi, size=size)


@pytest.mark.parametrize("how, said", [
    ({"size": 5}, "size=5 must be two numbers"), ({"size": (5,)}, r"size=\(5,\) must be two numbers"),
    ({"size": (0, 1)}, r"size=\(0, 1\) must be above 0"), ({"title": 5}, "title=5 must be a text"),
    ({"path": 5}, "path=5 must be a path")])
def test_pages_that_are_none(results, how, said):
    with pytest.raises(saltus.InvalidError, match=said):
        results["flat"].plot(**how)


def test_a_sweep_before_its_first_point_has_nothing_to_draw(arrive):
    pytest.importorskip("xarray")
    d = arrive.sweep({"k": [1, 2]}, until=1, points=3, runs=4)
    with pytest.raises(saltus.InvalidError, match="has nothing to draw"):
        saltus.plot(d.isel(k=slice(0)))


@pytest.mark.parametrize("size", [(3, 2.2), (12, 3)])
def test_sizes(results, size):
    figure = results["long"].plot("bands", size=size, dpi=70, title=TITLE)
    assert (figure.get_size_inches() == size).all() and figure.dpi == 70
    check(figure, *["…"] * (size[0] < 5))


def test_check_can_fail(results):
    figure = results["one"].plot()
    figure.suptitle(TITLE + TITLE)
    with pytest.raises(AssertionError):
        check(figure)
    figure.suptitle("")
    figure.text(0.5, 0.5, "one")
    figure.text(0.51, 0.51, "another")
    with pytest.raises(AssertionError, match="overlap"):
        check(figure)


def test_what_auto_takes(results):
    assert len(results["schlogl"].plot().axes[0].collections) == 1          # a heat map
    assert len(results["one"].plot().axes[0].lines) == 1                    # the trajectory
    check(results["wide"].plot(), "5 % to 95 % of runs", "1e6")             # bands
    assert sum(a.axison for a in results["wide"].plot().axes) == 7          # each its own range
    assert len(results["long"].plot().axes) == 1
    check(results["many"].plot(), "8 of 30 shown", "S29")  # those that change most
    check(results["many"].plot(title=TITLE, size=(5, 4)), "8 of 30 shown", "…")
    check(results["many"].plot(species=[f"S{i}" for i in range(13)]), "12 of 13 shown", "S11")


def test_the_end_stands_beside(results):
    """Distributions at the end, on the axis of values of what is drawn over time."""
    panel = check(results["schlogl"].plot(), "end").axes[0]
    (side,) = panel.child_axes
    assert side.get_ylim() == panel.get_ylim()
    edges, parts = side.patches[0].get_data().edges, side.patches[0].get_data().values
    assert abs(parts.sum() - 1) < 1e-12
    last = results["schlogl"]["X"][:, -1]
    assert (np.histogram(last, edges)[0] / len(last) == parts).all()
    assert len(results["long"].plot().axes[0].child_axes[0].patches) == 16  # 8 in one panel
    for figure in (results["schlogl"].plot("bands"), results["one"].plot()):
        assert not figure.axes[0].child_axes


def test_lines_are_the_data(results):
    r = results["wide"]
    figure = r.plot("trajectories", species="S3,S6", trajectories=5)
    assert [len(a.lines) for a in figure.axes] == [5, 5]
    (line,) = r.plot("bands", species="S6").axes[0].lines
    assert (line.get_ydata() == r.mean()[:, 6]).all() and (line.get_xdata() == r.time).all()


def test_bands_of_many_samples(schlogl, monkeypatch):
    """Of many, quantiles are found in bins, here of one count each."""
    r = schlogl.run(until=10, points=11, runs=3000)
    bands = []
    for most in (saltus._series.MANY_SAMPLES, 0):
        monkeypatch.setattr(saltus._series, "MANY_SAMPLES", most)
        (band,) = r.plot("bands", species="X").axes[0].collections
        bands.append(band.get_paths()[0].vertices)
    one, other = bands
    np.testing.assert_allclose(one, other, rtol=1e-12)


def test_bands_of_few_beside_many(monkeypatch):
    """Bins of what are many at the end do not widen the bands at the begin."""
    m = saltus.build("growth", species={"X": 10}, parameters={}, reactions={"in": "X -> 2 X @ 1"})
    r = m.run(until=8, points=9, runs=300)
    monkeypatch.setattr(saltus._series, "MANY_SAMPLES", 0)
    (band,) = r.plot("bands", log=True).axes[0].collections
    x, y = band.get_paths()[0].vertices.T
    for point in (0, 1, 2):
        ends = np.unique(y[x == r.time[point]])
        np.testing.assert_allclose([ends.min(), ends.max()],
                                   r.quantile([0.05, 0.95])[:, point, 0], atol=1)


def test_bands_of_one_time(arrive):
    """A band of no width is drawn as a bar."""
    r = arrive.run(times=[5], runs=200)
    (bar,) = r.plot("bands", species="X").axes[0].collections
    ((low, high),) = [line[:, 1] for line in bar.get_segments()]
    np.testing.assert_array_equal([low, high], r.quantile([0.05, 0.95])[:, 0, 0])


def test_other_records(arrive):
    check(arrive.run(until=8, runs=50, record="stats").plot(), "mean ± sd")
    h = arrive.run(until=8, points=21, runs=200, record="histogram")
    check(h.plot("heatmap"), "fraction of runs per bin")
    (filled, _) = h.plot("histogram").axes[0].patches
    assert abs(filled.get_data().values.sum() - 1) < 1e-12
    f = arrive.run(until=8, runs=200, record="final", derive="mean:X,passage:X:20")
    check(f.plot("histogram"), "at time 8")
    check(f.plot(derived="mean:X,passage:X:20"), "passage:X:20")
    with pytest.raises(saltus.InvalidError, match="final states alone"):
        f.plot("histogram", time=2)
    with pytest.raises(saltus.InvalidError, match="no distributions"):
        f.plot("heatmap")


def test_lattice(tmp_path):
    model = saltus.build(
        "lattice", species={"A": 4000, "B": 10}, parameters={}, reactions={"r": "A -> B @ 0.5"},
        lattice={"size": [40, 30, 20], "spacing": "1e-7 m", "step": 0.01,
                 "diffusion": {"A": 1e-14, "B": 0}})
    options = {"until": 5, "points": 11, "runs": 2, "frames": 1, "profile": "z"}
    r = model.run(**options)
    check(r.plot("kymograph"), "position (µm)", "per plane")
    for spec, title in (("z=5", "z = 5"), ("z", "z = 10"), ("max x", "max along x"),
                        (None, "z = 10")):
        check(r.plot("slice", slice=spec, frame=2.2), title, "at time 2")
    check(r.plot(), "time (s)")
    drawn = r.plot("slice", slice="sum y", species="A").axes[0].collections[0].get_array()
    assert drawn.sum() == r.frame_counts[0, -1, ..., 0].sum()
    check(r.plot("slice", slice="y", size=(4, 2)))
    file = model.run(**options, output=tmp_path / "lattice.h5")
    check(file.plot("slice", species="A"))
    check(file.plot("kymograph"))
    axes = r.plot("kymograph", logx=True).axes[0]
    assert axes.get_xscale() == "log" and 0 < axes.get_xlim()[0] <= r.time[1]
    assert r.plot("kymograph").axes[0].get_xlim() == (0, 5)
    for spec in ("z=20", "w", "max z=3"):
        with pytest.raises(saltus.InvalidError, match="slice="):
            r.plot("slice", slice=spec)


def test_what_stays_many_may_move():
    """In space a species is drawn whose molecules are always as many, and none that never is."""
    model = saltus.build(
        "lattice", species={"A": 50, "B": 10, "C": 0}, parameters={}, reactions={"r": "A -> 0 @ 1"},
        lattice={"size": [5, 4, 3], "spacing": "1e-7 m", "step": 0.01,
                 "diffusion": {"A": 1e-14, "B": 1e-14, "C": 0}})
    r = model.run(until=1, points=5, runs=2, frames=1, profile="x")
    for kind, names in (("kymograph", ["A", "B"]), ("slice", ["A", "B"]), ("bands", [""])):
        figure = check(r.plot(kind))
        assert [a.get_title(loc="left") for a in figure.axes if a.get_subplotspec()] == names


@pytest.mark.parametrize("name", ["min-system", "crowding"])
def test_site_types(name, tmp_path):
    model = saltus.read(EXAMPLES / f"{name}.yaml")
    figure = check(model.plot(path=tmp_path / "types.png"),
                   *(f"{t}: {n}" for t, n in model.site_types.items()))
    x, y, z = (n // 2 for n in model.lattice)
    planes = [model.sites(y=y), model.sites(x=x), model.sites(z=z)]
    for a, plane in zip(figure.axes, planes):  # its longer side lies
        lying = plane if plane.shape[1] >= plane.shape[0] else plane.T
        assert (np.ravel(a.collections[0].get_array()) == np.ravel(lying)).all()
    check(model.plot(title=TITLE, size=(4, 4)), "…")
    with pytest.raises(saltus.InvalidError, match="has no lattice to draw"):
        saltus.read(EXAMPLES / "schlogl.xml").plot()


@pytest.fixture(scope="module")
def gene():
    return saltus.build("gene", species={"X": 0, "Y": 3}, parameters={"k": 20, "g": 0.5, "h": 1},
                        reactions={"in": "0 -> X @ k", "out": "X -> 0 @ g",
                                   "copy": "X -> X + Y @ h", "lose": "Y -> 0 @ 1"})


AXES = {"k": saltus.lin(10, 30, 4), "g": saltus.log(0.1, 10, 5), "h": saltus.lin(1, 2, 7)}
SWEEP = {"until": 8, "points": 3, "runs": 5, "derive": "mean:X"}


def test_two_peaks_along_a_parameter(schlogl):
    """Distributions are drawn, not a mean that no run is near to."""
    d = schlogl.sweep({"c3": saltus.lin(8e-4, 1e-3, 4)}, until=10, points=2, runs=200,
                      record="all")
    panel = check(saltus.plot(d), "fraction of runs per bin", "mean").axes[0]
    drawn = np.ma.filled(panel.collections[0].get_array(), 0.0).reshape(-1, 4)  # [bin][value]
    assert np.allclose(drawn.sum(axis=0), 1.0)
    (line,) = panel.lines
    assert np.allclose(line.get_ydata(), d["counts"].sel(species="X").isel(time=-1).mean("run"))
    h = schlogl.run(until=10, points=11, runs=200, record="histogram")
    check(h.plot(), "fraction of runs per bin", "end")
    stats = schlogl.sweep({"c3": saltus.lin(8e-4, 1e-3, 4)}, until=10, points=2, runs=200,
                          record="stats")
    check(saltus.plot(stats), "mean ± sd")


def test_one_of_an_axis_may_be_taken_out_of_a_sweep(gene, tmp_path):
    d = gene.sweep({"k": AXES["k"]}, **SWEEP)
    whole = saltus.plot(d, species="X").axes[0].lines[0].get_ydata()
    for part in (d.sel(species="X"), d.isel(time=-1), d.sel(species="X").isel(time=-1)):
        figure = saltus.plot(part, species="X")
        assert np.array_equal(figure.axes[0].lines[0].get_ydata(), whole)
        saltus.report(part, tmp_path / "page.html")
    with pytest.raises(saltus.InvalidError, match="nothing to draw"):
        saltus.plot(d[["mean"]])


@pytest.mark.parametrize("scale", ["log", "lin"])
def test_designs_have_the_axes_of_their_values(gene, scale):
    axis = getattr(saltus, scale)
    d = gene.sweep({"k": axis(0.1, 100), "g": axis(0.1, 100)}, design="sobol:16", **SWEEP)
    for figure in (saltus.plot(d, species="X"), saltus.plot(d.drop_vars("g"), species="X")):
        assert figure.axes[0].get_xscale() == {"log": "log", "lin": "linear"}[scale]


def test_arguments_of_figures_are_looked_at(gene):
    r = gene.run(until=1, points=3, runs=2)
    for wrong in ({"dpi": "a"}, {"dpi": 0}, {"size": (1e6, 1)}, {"trajectories": 1.5}, {"log": "no"}):
        with pytest.raises(saltus.InvalidError, match=next(iter(wrong))):
            r.plot(**wrong)


def test_maps_of_standard_deviations(gene):
    d = gene.sweep({a: AXES[a] for a in "kg"}, **SWEEP)
    figure = check(saltus.plot(d, species="X", statistic="sd"), "sd molecules")
    (mesh,) = figure.axes[0].collections
    sd = np.sqrt(d["variance"].sel(species="X").isel(time=-1).values)
    assert np.allclose(np.ravel(mesh.get_array()), sd.T.ravel())
    check(saltus.plot(d, derived="mean:X", statistic="sd"), "sd of mean:X")
    with pytest.raises(saltus.InvalidError, match="median"):
        saltus.plot(d, statistic="median")


def test_standard_deviations_along_a_parameter(gene, schlogl):
    d = gene.sweep({"k": AXES["k"]}, **SWEEP)
    sd = np.sqrt(d["variance"].isel(time=-1))
    panel = check(saltus.plot(d, species="X", statistic="sd"), "sd of X").axes[0]
    assert np.allclose(panel.lines[0].get_ydata(), sd.sel(species="X")) and not panel.collections
    panel = check(saltus.plot(d, species="Y,X", statistic="sd"), "sd of molecules").axes[0]
    for line, name in zip(panel.lines, "YX"):
        assert np.allclose(line.get_ydata(), sd.sel(species=name))
    panel = check(saltus.plot(d, derived="mean:X", statistic="sd"), "sd of mean:X").axes[0]
    assert np.allclose(panel.lines[0].get_ydata(), d["mean:X"].std("run", ddof=1))
    d = schlogl.sweep({"c3": saltus.lin(8e-4, 1e-3, 4)}, until=10, points=2, runs=200, record="all")
    check(saltus.plot(d, statistic="sd"), "sd of X")  # of two peaks, too


def test_standard_deviations_of_designs(gene):
    for names in ("k", "kgh"):
        d = gene.sweep({a: AXES[a].rsplit(":", 1)[0] for a in names}, design="sobol:16", **SWEEP)
        panel = check(saltus.plot(d, species="X", statistic="sd"), "sd of X").axes[0]
        sd = np.sqrt(d["variance"].sel(species="X").isel(time=-1).values)
        assert np.allclose(sorted(panel.lines[0].get_ydata()), sorted(sd))
        assert not panel.collections  # no bars or bands of it


@pytest.mark.parametrize("names", ["k", "kg", "kgh"])
def test_sweeps(gene, names):
    d = gene.sweep({a: AXES[a] for a in names}, **SWEEP)
    check(saltus.plot(d, title=TITLE))
    check(saltus.plot(d, species="X", log=True, time=3.9), "at time 4")
    check(saltus.plot(d, derived="mean:X"), "mean:X" if names != "kgh" else "mean of mean:X")
    with pytest.raises(saltus.InvalidError, match="'Z'"):
        saltus.plot(d, species="Z")
    if names == "kg":
        mesh = saltus.plot(d, species="X").axes[0].collections[0]
        assert (np.ravel(mesh.get_array()) == d["mean"][:, :, -1, 0].values.T.ravel()).all()


@pytest.mark.parametrize("names", ["k", "kg", "kgh"])
def test_values_in_any_order(gene, names):
    """Where values go up and down, the figure is that of the same values sorted."""
    lists = {"k": [20, 10, 30], "g": [4, 0.1, 1], "h": [2, 1]}
    d = gene.sweep({a: lists[a] for a in names}, **SWEEP)
    one, other = (saltus.plot(data, species="X") for data in (d, d.sortby(list(names))))
    assert len(one.axes) == len(other.axes)
    for a, b in zip(one.axes, other.axes):
        assert np.allclose([*a.get_xlim(), *a.get_ylim()], [*b.get_xlim(), *b.get_ylim()])
        for x, y in zip(a.lines, b.lines):
            assert (x.get_xydata() == y.get_xydata()).all() and (np.diff(x.get_xdata()) > 0).all()
        for x, y in zip(a.findobj(QuadMesh), b.findobj(QuadMesh)):
            assert (np.ravel(x.get_array()) == np.ravel(y.get_array())).all()
            assert (x.get_coordinates() == y.get_coordinates()).all()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_sweeps_with_long_names(n, tmp_path):
    names = ["rate_of_something_whose_name_" + c for c in "abc"]
    model = saltus.build("long", species={s: 0 for s in LONG}, parameters={p: 1e6 for p in names},
                         reactions={f"r{i}": f"0 -> {s} @ {names[i % 3]} * 1e-{i}"
                                    for i, s in enumerate(LONG)})
    d = model.sweep({p: saltus.lin(1e5, 1.2e6, 4) for p in names[:n]}, until=0.01, points=2, runs=3,
                    output=tmp_path / "sweep.h5")
    check(saltus.plot(saltus.open(tmp_path / "sweep.h5"), title=TITLE))
    check(saltus.plot(d, species=LONG[:3], log=True, size=(6, 4)))


@pytest.mark.parametrize("names", ["k", "kg", "kgh"])
def test_designs(gene, names):
    d = gene.sweep({a: AXES[a].rsplit(":", 1)[0] for a in names}, design="sobol:32", **SWEEP)
    check(saltus.plot(d))


@pytest.mark.parametrize("record, kind, species, said", [
    ("stats", "histogram", "X",
     'distributions\nrecord="all" or record="final" or record="histogram" keeps'),
    ("stats", "histogram", "c3", 'distributions\nrecord="all" or record="final" keeps'),
    ("stats", "histogram", "X,c3", 'distributions\nrecord="all" or record="final" keeps'),
    ("histogram", "histogram", "c3", 'distributions of c3\nrecord="all" or record="final" keeps'),
    ("stats", "heatmap", "X", 'distributions over time\nrecord="all" or record="histogram" keeps'),
    ("final", "heatmap", "X", 'distributions over time\nrecord="all" or record="histogram" keeps'),
    ("histogram", "heatmap", "c3", 'distributions over time of c3\nrecord="all" keeps')])
def test_missing_distributions_are_told_with_what_keeps_them(schlogl, record, kind, species, said):
    r = schlogl.run(until=1, points=3, runs=9, species="X,c3", record=record)
    with pytest.raises(saltus.InvalidError) as failure:
        r.plot(kind, species=species)
    assert str(failure.value) == f"this result has no {said} them"


@pytest.fixture
def main(monkeypatch):
    """What the command calls, in this process, whose signals and warnings stay as they are."""
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    return of_command.main


def test_the_commands_size_is_told_as_it_was_given(main, capsys, tmp_path):
    for size in ("3x", "x", "3x2x1", "large", "3x1000"):
        assert main(["plot", "none.h5", "output", str(tmp_path / "f.png"), "size", size]) == 2
        assert capsys.readouterr().err == (
            f"saltus: --size '{size}': width and height in inches, such as 3.5x2.5, are needed\n")


def test_missing_profiles_are_told_as_the_command_calls_them(main, capsys, tmp_path):
    r = saltus.read(LATTICE + SITES).run(until=1, points=3, runs=2, by_type=False,
                                         output=tmp_path / "o.h5")
    for name, said in (
            ("profile", 'profile="z" asks for it'),
            ("type_counts", "by_type=True asks for them, where sites are of several types")):
        with pytest.raises(saltus.InvalidError) as failure:
            getattr(r, name)
        assert str(failure.value) == f"this result has no {name}\n{said}"
    assert main(["plot", r.path, "output", str(tmp_path / "f.png"), "kind", "kymograph"]) == 2
    assert capsys.readouterr().err == (
        'saltus: this result has no profile\n  hint: --profile "z" asks for it\n')


def test_files(results, tmp_path):
    r = results["one"]
    for ending, start in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
        r.plot(path=tmp_path / f"figure.{ending}")
        assert (tmp_path / f"figure.{ending}").read_bytes().startswith(start)
    with pytest.raises(saltus.InvalidError, match="png, .svg or .pdf"):
        r.plot(path=tmp_path / "figure.gif")
    assert not (tmp_path / "figure.gif").exists()


def test_notebooks_and_threads(results):
    images = [None] * 4

    def draw(i):
        images[i] = results["wide"].plot("bands", species=f"S{i}")._repr_png_()
    threads = [threading.Thread(target=draw, args=(i,)) for i in range(len(images))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(image.startswith(b"\x89PNG") for image in images)


def test_errors(results, gene, monkeypatch):
    with pytest.raises(saltus.InvalidError, match="'bars'"):
        results["one"].plot("bars")
    with pytest.raises(saltus.InvalidError, match="'Z'"):
        results["one"].plot(species="Z")
    with pytest.raises(saltus.InvalidError, match="not Result"):
        saltus.plot(results["one"])
    with pytest.raises(saltus.InvalidError, match="one point"):
        saltus.plot(gene.sweep({"k": [1.0]}, **SWEEP))
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(saltus.UnavailableError, match="matplotlib"):
        results["one"].plot()


def test_texts_are_no_markup(results):
    check(results["one"].plot(title="a$_b$ and $c$"), "a$_b$ and $c$")
