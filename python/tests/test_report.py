"""Reports: what a page holds, and how it behaves in a browser (Chromium, driven by selenium)."""
import base64
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import time
import zlib

import numpy as np
import pytest

import saltus
from conftest import ARRIVE, EXAMPLES, LATTICE
from test_plot import LONG, TITLE, ladder

pytest.importorskip("plotly", reason="plotly is missing (tools/packages test)")
HOSTILE = "</script><script>document.title = 'hacked'</script><b>&{{data}}"


def data_of(path):
    """What a page's script is given."""
    packed = re.search(r'id="data">([^<]*)<', path.read_text(encoding="utf-8"))[1]
    return json.loads(zlib.decompress(base64.b64decode(packed)))


def figures_of(path):
    return {f["title"]: f for f in data_of(path)["figures"]}


# In a browser -----------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def browser():
    selenium = pytest.importorskip("selenium.webdriver", reason="selenium is missing")
    from selenium.webdriver.chrome.service import Service
    driver = shutil.which("chromedriver")
    if driver is None:
        pytest.skip("chromedriver is missing (tools/packages test)")
    version = subprocess.run([driver, "--version"], capture_output=True, text=True)
    if version.returncode != 0:  # Ubuntu's package brings none unless snaps run there
        pytest.skip("chromedriver does not run: " + " ".join(version.stderr.split())[:80])
    options = selenium.ChromeOptions()
    for argument in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage",
                     "hide-scrollbars"):
        options.add_argument("--" + argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = selenium.Chrome(service=Service(driver), options=options)
    yield chrome
    chrome.quit()


class Page:
    """A page as it is shown."""

    def __init__(self, browser, path, width=900):
        self.browser, self.path, self.width = browser, path, width
        self.resize(1000)
        browser.get(path.as_uri())
        end = time.time() + 60
        while self.run("return document.body.dataset.figures") is None:
            assert time.time() < end, browser.get_log("browser")
            time.sleep(0.05)

    def resize(self, height):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": self.width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def run(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def section(self, title):
        return next(s for s in self.browser.find_elements("css selector", "section")
                    if s.find_element("css selector", "h2").text == title)

    def traces(self, title):
        return self.run("return arguments[0].querySelector('.js-plotly-plot').data",
                        self.section(title))

    def set(self, title, index, value):
        """Give a control of a figure, in their order, a value as a user does."""
        self.run("""const c = arguments[0].querySelectorAll('.controls select, .controls input');
            const one = [...c].at(arguments[1]);
            if (one.type === 'checkbox') { one.click(); return; }
            one.value = arguments[2];
            one.dispatchEvent(new Event('input'));""", self.section(title), index, value)

    def press(self, name):
        next(b for b in self.browser.find_elements("css selector", "nav button")
             if b.get_attribute("title") == name).click()

    def check(self, n_figures):
        """Figures are drawn, no two texts of one overlap, none leaves it, nothing was complained of,
        nothing was loaded. A picture is left beside the page."""
        assert self.run("return document.querySelectorAll('.main-svg').length") >= n_figures
        assert self.run("return document.body.dataset.figures") == str(n_figures)
        self.resize(self.run("return document.documentElement.scrollHeight"))
        assert self.run("return document.documentElement.scrollWidth") <= self.width
        picture = self.path.with_name(f"{self.path.stem}-{self.width}.png")
        assert self.browser.save_screenshot(str(picture)) and picture.stat().st_size > 20_000
        for plot in self.run("""return [...document.querySelectorAll('.js-plotly-plot')].map(p =>
                [p, ...p.querySelectorAll('svg text')].filter(t => t === p || t.textContent).map(t =>
                [t.textContent.slice(0, 50), ...['left', 'right', 'top', 'bottom'].map(
                    side => t.getBoundingClientRect()[side])]))"""):
            (_, left, right, top, bottom), *texts = plot
            assert len(texts) >= 4
            for text, a, b, c, d in texts:
                assert left - 1 <= a and b <= right + 1 and top - 1 <= c and d <= bottom + 1, text
            for (one, a, b, c, d), (other, e, f, g, h) in itertools.combinations(texts, 2):
                assert min(b, f) - max(a, e) < 1 or min(d, h) - max(c, g) < 2, (one, other)
        assert self.browser.get_log("browser") == []
        assert self.run("return performance.getEntriesByType('resource').map(e => e.name)") == []
        return self


@pytest.fixture
def show(browser, tmp_path):
    """Write the report of a result and open it."""
    def open_page(data, width=900, **options):
        path = tmp_path / "page.html"
        saltus.report(data, path, **options)
        return Page(browser, path, width)
    return open_page


@pytest.fixture(scope="module")
def decay():
    """Two species whose samples are known, of very different sizes from a third."""
    m = saltus.build("decay", species={"A": 300, "B": 0, "C": 3}, parameters={},
                     reactions={"r": "A -> B @ 1", "s": "C -> 0 @ 1"}, rules={"half": "A/2"})
    return m.run(until=4, points=21, runs=200, derive="passage:B:150,mean:A")


@pytest.mark.parametrize("width", [900, 360])
def test_a_run_is_shown(show, decay, width):
    page = show(decay, width)
    page.check(3)
    lines = {t["name"]: t for t in page.traces("Means over time") if t.get("name")}
    assert set(lines) == {"A", "B", "half"}  # C is of another size
    np.testing.assert_allclose(lines["A"]["y"], decay.mean()[:, 0], rtol=1e-4)
    rows = {name: cells for name, *cells in page.run(
        """return [...document.querySelectorAll('.numbers tr')].map(
            row => [...row.children].map(cell => cell.textContent))""")}
    assert float(rows["A"][0]) == pytest.approx(decay.mean()[-1, 0], rel=1e-3)
    assert float(rows["A"][6]) == pytest.approx(np.median(decay["A"][:, -1]), abs=1)
    assert float(rows["mean:A"][6]) == pytest.approx(np.median(decay["mean:A"]), rel=1e-3)
    paths = next(t for t in page.traces("Trajectories") if t["name"] == "B")
    assert [v for v in paths["y"] if v is not None] == decay["B"][:10].ravel().tolist()


def test_sliders_and_switches_work(show, decay):
    page = show(decay)
    for point in (20, 5):
        page.set("Distributions", 0, point)
        bars = next(t for t in page.traces("Distributions") if t["name"] == "A")
        edges = np.append(np.subtract(bars["x"], np.divide(bars["width"], 2)),
                          bars["x"][-1] + bars["width"][-1] / 2)
        parts = np.histogram(decay["A"][:, point], edges)[0] / 200
        np.testing.assert_allclose(np.multiply(bars["y"], bars["width"]), parts, rtol=1e-3)
        assert page.section("Distributions").find_element("css selector", "output").text == (
            f"{decay.time[point]:g}")
    for name, names in (("A", {"B", "half"}), ("C", {"B", "half", "C"}), ("none", set()),
                        ("all", {"A", "B", "C", "half"})):
        page.press(name)
        for title in ("Means over time", "Distributions", "Trajectories"):
            assert {t["name"] for t in page.traces(title) if t.get("name")} == names
    for title in ("Means over time", "Distributions", "Trajectories"):
        page.set(title, -1, True)
        assert page.run("return arguments[0].querySelector('.js-plotly-plot').layout.yaxis.type",
                        page.section(title)) == "log"
    page.check(3)


def test_values_are_under_the_pointer(show, decay):
    from selenium.webdriver import ActionChains
    page = show(decay)
    for title, at, part in (("Means over time", ".nsewdrag", "A : "),
                            ("Distributions", ".point path", "% of the runs")):
        plot = page.section(title).find_element("css selector", at)
        page.run("arguments[0].scrollIntoView({block: 'center'})", plot)
        end, text, side = time.time() + 20, "", 0
        while part not in text and time.time() < end:  # where it listens late, it moves once more
            side = 1 - side
            ActionChains(page.browser).move_to_element_with_offset(plot, side, 0).perform()
            text = page.run("return arguments[0].querySelector('.hoverlayer').textContent",
                            page.section(title))
        assert part in text


@pytest.mark.parametrize("width", [900, 360])
def test_a_sweep_is_a_map(show, schlogl, width):
    pytest.importorskip("xarray")
    d = schlogl.sweep({"c3": saltus.lin(5e-4, 2e-3, 4), "X": saltus.log(50, 800, 3)}, until=4,
                      points=5, runs=50, derive="mean:X")
    page = show(d, width).check(1)
    over = page.traces("Over the values")[0]
    np.testing.assert_allclose(over["z"], d["mean"].sel(species="X")[:, :, 4].values.T, rtol=1e-3)
    for index, value in enumerate([0, 2, 1]):  # X, its Fano factor, at the second time
        page.set("Over the values", index, value)
    var, mean = (d[v].sel(species="X")[:, :, 1].values.T for v in ("variance", "mean"))
    np.testing.assert_allclose(page.traces("Over the values")[0]["z"], var / mean, rtol=1e-3)
    page.set("Over the values", 0, 1)  # the other species do not change
    page.set("Over the values", 1, 0)
    np.testing.assert_allclose(page.traces("Over the values")[0]["z"],
                               d["mean:X"].mean("run").values.T, rtol=1e-3)
    page.check(1)


@pytest.mark.parametrize("vary, design, title, n", [
    ({"k": saltus.lin(10, 30, 5)}, None, "Over the values", 5),
    ({"k": saltus.lin(10, 30)}, "lhs:20", "Over the points", 20),
    ({"k": saltus.lin(10, 30), "g": saltus.lin(0.1, 1)}, "sobol:32", "Over the points", 32),
    ({"k": saltus.lin(1, 9, 3), "g": saltus.lin(1, 2, 4), "X": [0, 9]}, None, "Over the values", 2),
    ({"k": [20]}, None, "Over the values", 1)])
def test_sweeps_of_other_shapes(show, arrive, vary, design, title, n):
    pytest.importorskip("xarray")
    d = arrive.sweep(vary, until=4, points=3, runs=20, design=design)
    page = show(d).check(1)
    trace = page.traces(title)[-1]
    assert len(trace.get("z") or trace["y"]) == n
    if len(vary) == 3:  # the first name has a slider
        page.set(title, -1, 2)
        z = d["mean"].sel(species="X").isel(k=2, time=2).values.T
        np.testing.assert_allclose(page.traces(title)[0]["z"], z, rtol=1e-3)


@pytest.mark.parametrize("width", [900, 360])
def test_a_lattice_is_shown(show, width):
    r = saltus.read(LATTICE).run(until=2, points=21, runs=10, frames=0.5, profile="x")
    page = show(r, width).check(5)
    z = page.traces("Along the lattice")[0]["z"]
    np.testing.assert_allclose(z, r.profile.mean(axis=0)[:, :, 0].T, rtol=1e-3)
    sites = r.frame_counts[0]  # [frame, z, y, x, species]; the shortest axis is z
    assert page.traces("Sites")[0]["z"] == sites[-1, ..., 0].sum(axis=0).tolist()
    for index, value in enumerate([1, 2]):  # B, the third frame
        page.set("Sites", index, value)
    assert page.traces("Sites")[0]["z"] == sites[2, ..., 1].sum(axis=0).tolist()
    page.check(5)


@pytest.mark.parametrize("width", [900, 360])
@pytest.mark.parametrize("case", ["one", "flat", "many", "wide", "long"])
def test_hard_cases(show, case, width):
    m = {"one": lambda: saltus.build("arrive", **ARRIVE), "many": lambda: ladder(30),
         "flat": lambda: saltus.build("flat", species={"X": 7}, parameters={},
                                      reactions={"r": "X -> 0 @ 0"}),
         "wide": lambda: ladder(7, lambda i: 10 ** i), "long": lambda: ladder(8, names=LONG)}[case]()
    page = show(m.run(until=5, points=21, runs=1 if case == "one" else 60), width, title=TITLE)
    page.check(1 if case == "one" else 3)
    if case in ("many", "wide"):  # not all are on at first
        page.press("all")
        page.check(3)


def test_names_are_no_html(show):
    r = ladder(2).run(until=1, points=5, runs=20)
    r.species = [HOSTILE, "B"]
    r.attrs.update(model=HOSTILE, device="<i>")
    page = show(r, title=HOSTILE).check(3)
    assert page.browser.title == " ".join(HOSTILE.split())
    assert page.browser.find_element("css selector", "h1").text == HOSTILE
    assert [b.get_attribute("title") for b in page.browser.find_elements(
        "css selector", ".name")] == [HOSTILE, "B"]
    assert page.run("return document.scripts.length") == 4  # ours and plotly's


# Without one ------------------------------------------------------------------------------------

@pytest.mark.parametrize("record, titles", [
    ("all", ["Means over time", "Distributions", "Trajectories"]), ("stats", ["Means over time"]),
    ("histogram", ["Means over time", "Distributions"]),
    ("final", ["Means over time", "Distributions"])])
def test_what_is_recorded_is_shown(command, tmp_path, record, titles):
    file, page = tmp_path / "o.h5", tmp_path / "page.html"
    command("run", EXAMPLES / "schlogl.yaml", "--until", 4, "--points", 11, "--runs", 200, "-q",
            "--record", record, "-o", file)
    r = saltus.open(file)
    r.report(page)
    assert list(figures_of(page)) == titles
    text = page.read_text(encoding="utf-8")
    assert "<td>200</td>" in text and "down: 3 X" in text  # the model is in the file
    rows = dict(re.findall(r"<tr><td>(\w+)</td><td>([\d.,]+)</td>", text))
    assert float(rows["X"]) == pytest.approx(r.mean()[-1, 0], rel=1e-3)


def test_quantiles_are_those_of_the_runs(schlogl, tmp_path):
    r = schlogl.run(until=4, points=5, runs=1000)
    r.report(tmp_path / "page.html")
    _, low, high = figures_of(tmp_path / "page.html")["Means over time"]["data"][0]
    np.testing.assert_allclose([low, high], r.quantile([0.05, 0.95])[:, :, 0], atol=2)


def test_few_are_told_beside_many(tmp_path):
    """Quantiles of what has become few, and of what is few at first, are those of these few."""
    m = saltus.build("few", species={"X": 100000, "Y": 5}, parameters={},
                     reactions={"out": "X -> 0 @ 1", "in": "Y -> 2 Y @ 1"})
    r = m.run(until=9, points=10, runs=200)
    r.report(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    (row,) = re.findall(r"<tr><t[dh][^>]*>X</t[dh]>(.*?)</tr>", text)
    ends = [float(x) for x in re.findall(r">([\d.]+)</td>", row)[-3:]]
    np.testing.assert_allclose(ends, r.quantile([0.05, 0.5, 0.95])[:, -1, 0], atol=1)
    page = data_of(tmp_path / "page.html")
    bands = next(f for f in page["figures"] if f["title"] == "Means over time")["data"]
    _, low, high = bands[page["names"].index("Y")]
    np.testing.assert_allclose([low[:3], high[:3]], r.quantile([0.05, 0.95])[:, :3, 1], atol=1)


def test_values_in_any_order(arrive, tmp_path):
    lists = {"k": [20, 10, 30], "g": [4, 0.1, 1]}
    d = arrive.sweep(lists, until=8, points=3, runs=5)
    pages = tmp_path / "listed.html", tmp_path / "sorted.html"
    for data, path in zip((d, d.sortby(list(lists))), pages):
        saltus.report(data, path)
    assert data_of(pages[0]) == data_of(pages[1])


def test_a_million_trajectories(arrive, tmp_path):
    r = arrive.run(until=4, points=5, runs=1_000_000, threads=2)
    r.report(tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size < 3_000_000
    parts = figures_of(tmp_path / "page.html")["Distributions"]["data"][-1][0]["parts"]
    assert sum(parts) == pytest.approx(1.0, abs=1e-3)


def test_files_that_are_not_whole(command, tmp_path):
    pytest.importorskip("h5py")
    model, file, page = tmp_path / "m.yaml", tmp_path / "o.h5", tmp_path / "page.html"
    model.write_text("species: {A: 2000, B: 0}\nreactions: {r: A -> B @ 1, s: B -> A @ 1}\n")
    run = subprocess.Popen([os.environ["SALTUS_COMMAND"], "run", model, "--until", "20", "--points",
                            "21", "--runs", "1000000", "--threads", "1", "-q", "-o", file])
    try:
        for ends in (False, True):  # while it is written, and when its writer was killed
            end, runs = time.time() + 300, 0  # a flush may wait for a busy disk
            while not runs and time.time() < end:
                time.sleep(0.1)
                runs = saltus.open(file).attrs["trajectories"] if file.exists() else 0
            assert runs, "no trajectory was flushed"
            if ends:
                run.send_signal(signal.SIGKILL)
                run.wait()
            command("report", file, "-o", page)
            text = page.read_text(encoding="utf-8")
            assert "Not complete: " in text and " of 1,000,000 trajectories are here" in text
            assert list(figures_of(page)) == ["Means over time", "Distributions", "Trajectories"]
    finally:
        run.kill()
        run.wait()


def test_profiles_without_samples(command, tmp_path):
    (tmp_path / "m.yaml").write_text(LATTICE)
    for record in ("stats", "all"):
        command("run", tmp_path / "m.yaml", "--until", 1, "--points", 6, "--runs", 9, "-q",
                "--profile", "x", "--record", record, "-o", tmp_path / f"{record}.h5")
        saltus.open(tmp_path / f"{record}.h5").report(tmp_path / f"{record}.html")
    some, every = (figures_of(tmp_path / f"{record}.html") for record in ("stats", "all"))
    assert list(some) == ["Means over time", "Along the lattice"]
    assert some["Along the lattice"]["data"] == every["Along the lattice"]["data"]


def test_what_is_no_result_is_refused(arrive, tmp_path):
    pytest.importorskip("xarray")
    with pytest.raises(saltus.InvalidError, match="not dict"):
        saltus.report({}, tmp_path / "page.html")
    with pytest.raises(saltus.InvalidError, match="no sweep"):
        saltus.report(arrive.run(until=1, runs=3).to_xarray(), tmp_path / "page.html")
    with pytest.raises(saltus.InvalidError, match="page.pdf: a page is .html or .htm"):
        arrive.run(until=1, runs=3).report(tmp_path / "page.pdf")
    for wrong, said in (({"path": 5}, "path=5 must be a path"),
                        ({"path": tmp_path / "page.html", "title": 5}, "title=5 must be a text")):
        with pytest.raises(saltus.InvalidError, match=said):
            arrive.run(until=1, runs=3).report(**wrong)


def test_without_columns_a_page_tells_what_was_run(tmp_path):
    pytest.importorskip("xarray")
    pytest.importorskip("matplotlib")
    nothing = saltus.build("nothing", parameters={"p": 3})
    page = tmp_path / "page.html"
    with pytest.warns(UserWarning, match="nothing is recorded"):
        run, swept = nothing.run(1, runs=2), nothing.sweep({"p": [1, 2]}, 1, runs=2)
    for r in run, swept:
        saltus.report(r, page)
        assert not data_of(page)["figures"] and "nothing" in page.read_text(encoding="utf-8")
        with pytest.raises(saltus.InvalidError, match="has nothing to draw"):
            r.plot() if r is run else saltus.plot(r)


@pytest.mark.parametrize("species, drawn", [("A,y,z", ["A"]), ("y,z", [])])
@pytest.mark.parametrize("record", ["all", "final", "stats"])
def test_what_is_too_large_is_left_out(tmp_path, record, species, drawn):
    m = saltus.build("large", species={"A": 5, "B": 0}, rules={"y": "A*7e307", "z": "-7e305*A"},
                     reactions={"r": "A -> B @ 1", "b": "B -> A @ 1"})
    page = tmp_path / "page.html"
    m.run(until=3, points=11, runs=60, species=species, record=record).report(page)
    text = page.read_text(encoding="utf-8")
    assert "Not drawn, as there are values of 1e+300 and more: y, z." in text
    assert data_of(page)["names"] == drawn and bool(data_of(page)["figures"]) == bool(drawn)
    assert "<td>y</td>" in text and max(map(len, re.findall("<td>(.*?)</td>", text))) < 200


def test_little_is_no_failure(arrive, tmp_path):
    page = tmp_path / "page.html"
    arrive.run(times=[1.0], runs=9).report(page)
    assert list(figures_of(page)) == ["Distributions"]
    arrive.run(times=[1.0]).report(page)
    assert not figures_of(page)
    pytest.importorskip("xarray")
    d = arrive.sweep({"k": [1, 2]}, until=1, points=3, runs=4)
    saltus.report(d.isel(k=slice(0)), page)  # before the first point has ended
    assert not figures_of(page)


def test_a_full_disk_leaves_the_old_page(arrive, tmp_path, monkeypatch):
    r, page = arrive.run(until=1, points=3, runs=5), tmp_path / "page.html"
    page.write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="page.html: cannot be written: No space left on device"):
        r.report(page)
    assert page.read_text() == "old" and list(tmp_path.iterdir()) == [page]


def test_plotly_is_asked_for(arrive, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "plotly.offline", None)
    with pytest.raises(saltus.UnavailableError, match=r"plotly.*\n.*saltus\[report\]"):
        arrive.run(until=1).report(tmp_path / "page.html")
