"""Figures of results and of sweeps, by matplotlib's objects alone: no window, no global state, so
that notebooks, threads and machines without a screen draw alike."""
from __future__ import annotations

import io
import math
import os
import re
from typing import Any, Callable, NamedTuple, Optional, Sequence, Union

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LogNorm, Normalize, PowerNorm
from matplotlib.figure import Figure as _Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import Formatter, LogLocator, MaxNLocator, NullFormatter

from ._errors import InvalidError, near

KINDS = ("auto", "bands", "trajectories", "histogram", "heatmap", "kymograph", "slice")
# Okabe & Ito, Color Universal Design (2008); yellow, the faintest on white, is the last.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
MOST_PANELS = 12
MOST_COLUMNS = 300     # of a heat map
RANGES_APART = 20.0    # from here on species have panels of their own
ENOUGH_RUNS = 50       # for a distribution whose peaks mean something
BAND = (0.05, 0.95)
SMALL = 8              # points
COLOUR_BAR = "<colorbar>"
Names = Union[str, Sequence[str], None]


class Figure(_Figure):
    """A figure that shows itself in notebooks without pyplot."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        FigureCanvasAgg(self)

    def _repr_png_(self) -> bytes:
        return self._bytes("png")

    def _bytes(self, kind: str) -> bytes:
        out = io.BytesIO()
        self.savefig(out, format=kind, dpi=self.dpi)
        return out.getvalue()


class Page(NamedTuple):
    """How a figure looks, whatever it shows."""
    title: Optional[str]
    path: Union[str, os.PathLike, None]
    size: Optional[tuple[float, float]]
    dpi: Optional[float]

    def check(self) -> "Page":
        if self.path is not None and self._ending() not in ("png", "svg", "pdf"):
            raise InvalidError(f"{os.fspath(self.path)}: a figure is .png, .svg or .pdf")
        return self

    def _ending(self) -> str:
        return os.path.splitext(os.fspath(self.path or ""))[1][1:].lower()

    def begin(self, rows: int = 1, columns: int = 1,
              panel: tuple[float, float] = (2.6, 1.8)) -> tuple[Figure, np.ndarray]:
        """A figure and its axes [row][column]; panel: width and height of one of several, inches."""
        size = self.size or ((7.0, 4.2) if rows == columns == 1 else
                             (max(1.0 + panel[0] * columns, 5.0), 1.4 + panel[1] * rows))
        figure = Figure(figsize=size, dpi=self.dpi or 150, layout="constrained")
        return figure, figure.subplots(rows, columns, squeeze=False)

    def end(self, figure: Figure, title: str, more: str = "") -> Figure:
        """The figure with its title, at whose end stands what it leaves out."""
        title = self.title if self.title is not None else title
        figure.suptitle(_line(", ".join(t for t in (title, more) if t)), fontsize=11)
        _fit(figure)
        if self.path is not None:
            drawn = figure._bytes(self._ending())  # a figure that fails leaves no file
            with open(self.path, "wb") as file:
                file.write(drawn)
        return figure


# Texts and ticks --------------------------------------------------------------------------------

class Numbers(Formatter):
    """Ticks as short as they can be told apart: 0.5, 20000, 2.5e6."""

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        steps = np.abs(np.diff(values))
        close = 1e-3 * min(steps[steps > 0], default=abs(values[0]) if len(values) else 0.0)
        for digits in range(1, 17):
            texts = [re.sub(r"e([+-])0*", lambda m: "e" + m[1].strip("+"), f"{v:.{digits}g}")
                     if abs(v) >= 1e5 or 0 < abs(v) < 1e-3 else f"{float(f'{v:.{digits}g}'):g}"
                     for v in values]
            if all(abs(float(t) - v) <= close for t, v in zip(texts, values)):
                break
        return [t.replace("-", "\N{MINUS SIGN}") for t in texts]

    def __call__(self, value: float, position: Optional[int] = None) -> str:
        return self.format_ticks([value])[0]


def _line(text: object) -> str:
    return " ".join(str(text).split())


def _shorten(text: Text, room: float, renderer: Any, upright: bool = False) -> None:
    """Leave out the middle of a text until it fits: names often differ at their ends."""
    full = text.get_text()
    kept = len(full)
    while kept > 2:
        extent = text.get_window_extent(renderer)
        length = extent.height if upright else extent.width
        if length <= room:
            return
        kept = max(2, min(kept - 1, int(kept * room / length)))
        text.set_text(full[:kept - kept // 3] + "…" + full[len(full) - kept // 3:])


def _fit_ticks(axis: Any, room: float, each: float, renderer: Any) -> None:
    """As many ticks as there is room for, whose labels do not touch."""
    low, high = sorted(axis.get_view_interval())
    ratio = high / low if axis.get_scale() == "log" and low > 0 else 1.0
    axis.set_major_formatter(Numbers())
    axis.set_minor_formatter(NullFormatter())
    for n in range(max(1, min(6, int(room / each))), 0, -1):
        axis.set_major_locator(
            LogLocator(numticks=n + 1) if ratio >= 100 else
            LogLocator(subs=(1, 2, 5) if n > 2 else (1,)) if ratio >= 5 else
            MaxNLocator(n, steps=[1, 2, 5, 10]))
        extents = [text.get_window_extent(renderer).padded(1.0) for at, text in
                   zip(axis.get_majorticklocs(), axis.get_majorticklabels())
                   if text.get_visible() and low <= at <= high]
        if not any(a.overlaps(b) for a, b in zip(extents, extents[1:])):
            return


def _fit(figure: Figure) -> None:
    """Shorten texts and thin ticks until nothing overlaps or leaves the figure."""
    for text in figure.findobj(Text):
        text.set_parse_math(False)  # a name may hold a $
    renderer = figure.canvas.get_renderer()
    width, height = figure.bbox.width, figure.bbox.height
    _shorten(figure._suptitle, 0.96 * width, renderer)
    every = figure.axes + [bar for axes in figure.axes for bar in axes.child_axes]
    for axes in every:
        legend = axes.get_legend()
        for text in legend.get_texts() if legend else ():
            _shorten(text, 0.24 * width, renderer)
    for _ in range(2):  # ticks take room of their own
        figure.draw_without_rendering()
        for axes in every:
            box = axes.get_window_extent(renderer)
            if axes.get_label() != COLOUR_BAR:
                _fit_ticks(axes.xaxis, box.width, 0.55 * figure.dpi, renderer)
            _fit_ticks(axes.yaxis, box.height, 0.3 * figure.dpi, renderer)
    for axes in every:
        box = axes.get_window_extent(renderer)
        for title in (axes.title, axes._left_title):
            _shorten(title, box.width, renderer)
        _shorten(axes.xaxis.label, box.width, renderer)
        _shorten(axes.yaxis.label, box.height, renderer, upright=True)
    for text, room in ((figure._supxlabel, width), (figure._supylabel, height)):
        if text is not None:
            _shorten(text, 0.9 * room, renderer, upright=text is figure._supylabel)


def _legend(axes: Sequence[Any], entries: Sequence[tuple[Any, str]]) -> None:
    """A legend beside the last panel of the first row."""
    corner = [a for a in axes if a.get_subplotspec().is_first_row()][-1]
    if entries:
        corner.legend([h for h, _ in entries], [_line(t) for _, t in entries], loc="upper left",
                      bbox_to_anchor=(1.0, 1.0), fontsize=SMALL, frameon=False, handlelength=1.4,
                      borderaxespad=0.2)


def _panels(page: Page, names: Sequence[str], x: str, y: str, together: bool = False,
            panel: tuple[float, float] = (2.6, 1.8), shared: bool = True
            ) -> tuple[Figure, list[Any]]:
    """Axes for each name: the same, or one for each in a grid, with labels where they are needed.
    shared: all have the same axis of x, whose numbers stand below the last ones alone."""
    n = 1 if together else len(names)
    columns = min(4, math.ceil(math.sqrt(n)))
    rows = math.ceil(n / columns)
    figure, grid = page.begin(rows, columns, panel)
    if n == 1:
        grid[0, 0].set_xlabel(_line(x))
        grid[0, 0].set_ylabel(_line(y))
    else:
        figure.supxlabel(_line(x), fontsize=10)
        figure.supylabel(_line(y), fontsize=10)
    for axes in grid.flat[n:]:
        axes.remove()
    for i, axes in enumerate(grid.flat[:n]):
        axes.tick_params(labelsize=SMALL if n > 1 else 9)
        if shared and i + columns < n:
            axes.tick_params(labelbottom=False)
        if not together:
            axes.set_title(_line(names[i]), loc="left", fontsize=9)
    return figure, list(grid.flat[:n]) * (len(names) if together else 1)


def _scale(axes: Any, log: bool, logx: bool) -> None:
    if log:
        axes.set_yscale("log", nonpositive="clip")
    if logx:
        axes.set_xscale("log", nonpositive="clip")


def _mesh(axes: Any, x: np.ndarray, y: np.ndarray, z: np.ndarray, norm: Any,
          colours: str = "viridis") -> Any:
    """A map z[y][x] between edges; cells that are masked stay white."""
    return axes.pcolormesh(x, y, z, norm=norm, cmap=colours, rasterized=True)


def _bar(figure: Figure, mesh: Any, axes: Any, label: str, **options: Any) -> None:
    """A colour bar as high as its panel, or beside several."""
    where = ({"cax": axes.inset_axes([1.03, 0.0, 0.04, 1.0])} if isinstance(axes, Axes) else
             {"ax": axes, "pad": 0.02})
    bar = figure.colorbar(mesh, **where, **options)
    bar.ax.set_label(COLOUR_BAR)
    bar.ax.tick_params(labelsize=SMALL)
    bar.set_label(_line(label), fontsize=SMALL + 1)


def _edges(middles: np.ndarray, log: bool = False) -> np.ndarray:
    """The edges of cells around rising middles."""
    m = np.log(middles) if log else np.asarray(middles, dtype=float)
    if len(m) == 1:
        e = np.array([m[0] - 0.5, m[0] + 0.5])
    else:
        e = np.concatenate([[1.5 * m[0] - 0.5 * m[1]], (m[1:] + m[:-1]) / 2,
                            [1.5 * m[-1] - 0.5 * m[-2]]])
    return np.exp(e) if log else e


def _norm(values: Any, log: bool = False) -> Any:
    """Colours for values, from 0 on where they allow it."""
    finite = np.ma.compressed(np.ma.masked_invalid(values))
    if log and (finite > 0).any():
        low, high = finite[finite > 0].min(), finite.max()
        return LogNorm(low, high if high > low else 10 * low)
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
    low = 0.0 if 0 <= low < 0.5 * high else low
    return Normalize(low, high if high > low else low + 1.0)


def _apart(tops: Sequence[float]) -> bool:
    """Whether series are of too different sizes for one axis."""
    positive = [t for t in tops if np.isfinite(t) and t > 0]
    return bool(positive) and max(positive) > RANGES_APART * min(positive)


def _top(values: np.ndarray) -> float:
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max()) if finite.size else 0.0


def _named(given: Names, names: Sequence[str], what: str) -> list[str]:
    chosen = given.split(",") if isinstance(given, str) else list(given or ())
    for name in chosen:
        if name not in names:
            raise near(what, name, names)
    return chosen


def _first(names: list[str], most: int = MOST_PANELS) -> tuple[list[str], str]:
    """As many names as can be shown, and what to say when these are not all."""
    return names[:most], f"{most} of {len(names)} shown" if len(names) > most else ""


def _nearest(times: Sequence[float], time: Optional[float]) -> int:
    return len(times) - 1 if time is None else int(np.argmin(np.abs(np.asarray(times) - time)))


# Results ----------------------------------------------------------------------------------------

class Drawing(NamedTuple):
    """What is drawn of a result."""
    r: Any
    page: Page
    names: list[str]
    more: str
    time: Optional[float]
    log: bool
    logx: bool

    @property
    def time_label(self) -> str:
        unit = self.r.attrs.get("time_unit")
        return f"time ({unit})" if unit else "time"

    def time_of(self, time: float) -> str:
        return f"time {time:g} {self.r.attrs.get('time_unit', '')}".strip()

    @property
    def value_label(self) -> str:
        return "molecules" if set(self.names) <= set(self.r.species) else "value"

    def runs(self) -> int:
        return int(self.r.attrs["trajectories"])

    def samples(self, name: str) -> np.ndarray:
        """[run, point]"""
        x = self.r[name]
        if x.ndim != 2:
            raise InvalidError("this result has final states alone", 'record="all" keeps samples')
        return x

    def series(self, tops: Sequence[float]) -> tuple[Figure, list[Any], bool]:
        """Axes over time for each name."""
        together = len(self.names) <= len(COLOURS) and (self.log or not _apart(tops))
        figure, axes = _panels(self.page, self.names, self.time_label, self.value_label, together)
        for a in axes:
            _scale(a, self.log, self.logx)
            if len(self.r.time) > 1 and not self.logx:
                a.set_xlim(self.r.time[0], self.r.time[-1])
        return figure, axes, together

    def title(self, what: str = "") -> str:
        n = self.runs()
        return f"{self.r.attrs['model']}, {what or (f'{n} runs' if n != 1 else '1 run')}"

    def colour(self, i: int, together: bool) -> str:
        return COLOURS[i if together else 0]


def _bands(d: Drawing) -> Figure:
    r = d.r
    mean, sd = r.mean(), np.sqrt(np.maximum(r.var(), 0.0))
    at = [r.columns.index(name) for name in d.names]
    figure, axes, together = d.series([_top(mean[:, i]) for i in at])
    sampled = r.attrs["record"] == "all"
    for k, (name, a, i) in enumerate(zip(d.names, axes, at)):
        colour = d.colour(k, together)
        a.plot(r.time, mean[:, i], color=colour, marker="o" if len(r.time) == 1 else None)
        if d.runs() > 1:
            low, high = (np.quantile(d.samples(name), BAND, axis=0) if sampled
                         else (mean[:, i] - sd[:, i], mean[:, i] + sd[:, i]))
            a.fill_between(r.time, low, high, color=colour, alpha=0.25, linewidth=0)
    entries = _lines(d.names, together)
    if d.runs() > 1:
        band = "5 % to 95 % of runs" if sampled else "mean ± sd"
        entries = (entries or [(Line2D([], [], color=COLOURS[0]), "mean")]) + [_band(entries, band)]
    _legend(axes, entries)
    return d.page.end(figure, d.title(), d.more)


def _lines(names: Sequence[str], together: bool, marker: Optional[str] = None) -> list[Any]:
    """What a legend says of lines in one panel; panels of their own have titles."""
    return [(Line2D([], [], color=COLOURS[k], marker=marker, markersize=3.5), name)
            for k, name in enumerate(names)] if together else []


def _band(lines: Sequence[Any], text: str) -> tuple[Any, str]:
    """What a legend says of bands around such lines."""
    return Patch(color="#808080" if len(lines) > 1 else COLOURS[0], alpha=0.25, linewidth=0), text


def _trajectories(d: Drawing, n: int) -> Figure:
    samples = [d.samples(name)[:max(n, 1)] for name in d.names]
    figure, axes, together = d.series([_top(x) for x in samples])
    for k, (a, x) in enumerate(zip(axes, samples)):
        a.plot(d.r.time, x.T, color=d.colour(k, together), linewidth=1.2 if len(x) == 1 else 0.7,
               alpha=1.0 if len(x) < 4 else 0.6, marker="o" if len(d.r.time) == 1 else None)
    _legend(axes, _lines(d.names, together))
    shown = len(samples[0])
    return d.page.end(figure, d.title(f"{shown} of {d.runs()} runs" if shown < d.runs() else ""),
                      d.more)


def _distribution(d: Drawing, name: str, points: Sequence[int],
                  most: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Edges of bins, and the fraction of runs in each at some points, [point][bin]."""
    if d.r.attrs["record"] == "histogram" and name in d.r.species:
        edges, counts = d.r.histogram(name)
        counts = counts[points].astype(float)
        used = np.flatnonzero(counts.any(axis=0))
        if len(used):
            edges, counts = edges[used[0]:used[-1] + 2], counts[:, used[0]:used[-1] + 1]
    else:
        x = d.r[name]
        x = x[:, np.newaxis] if x.ndim == 1 else x[:, points]
        x = np.where(np.isfinite(x), x, np.nan) if x.dtype.kind == "f" else x
        low, high = np.nanmin(x), np.nanmax(x)
        if name in d.r.species:
            step = max(1, math.ceil((high - low + 1) / most))
            edges = np.arange(low, high + step + 1, step) - 0.5
        else:
            edges = np.linspace(low, high if high > low else low + 1, most + 1)
        counts = np.array([np.histogram(x[:, i], edges)[0] for i in range(x.shape[1])], float)
    return edges, counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)


def _histogram(d: Drawing) -> Figure:
    point = _nearest(d.r.time, d.time)
    if d.r.attrs["record"] == "final" and point != len(d.r.time) - 1:
        raise InvalidError("this result has final states alone", 'record="all" keeps samples')
    figure, axes = _panels(d.page, d.names, d.value_label, "fraction of runs per bin", shared=False)
    most = min(60, max(10, int(2 * math.sqrt(d.runs()))))
    for name, a in zip(d.names, axes):
        edges, parts = _distribution(d, name, [point], most)
        a.stairs(parts[0], edges, fill=True, color=COLOURS[0], alpha=0.35)
        a.stairs(parts[0], edges, color=COLOURS[0], linewidth=1.0)
        _scale(a, d.log, d.logx)
        if not d.log:
            a.set_ylim(bottom=0)
    return d.page.end(figure, f"{d.title()}, at {d.time_of(d.r.time[point])}", d.more)


def _heatmap(d: Drawing) -> Figure:
    if d.r.attrs["record"] not in ("all", "histogram"):
        raise InvalidError("this result has no distributions over time",
                           'record="all" or record="histogram" keeps them')
    n = len(d.r.time)
    points = np.unique(np.linspace(0, n - 1, min(n, MOST_COLUMNS)).astype(int))
    parts = [_distribution(d, name, points) for name in d.names]
    # The scale ends where one cell in a hundred passes it, or a start in one state would fill it.
    used = np.concatenate([p[p > 0] for _, p in parts])
    norm = PowerNorm(0.5, 0.0, float(np.quantile(used, 0.99)) if len(used) else 1.0)
    figure, axes = _panels(d.page, d.names, d.time_label, d.value_label)
    times = _edges(d.r.time[points])
    for a, (edges, p) in zip(axes, parts):
        mesh = _mesh(a, times, edges, np.ma.masked_equal(p.T, 0.0), norm)
        _scale(a, d.log, d.logx)
        a.set_xlim(times[0] if n == 1 or d.logx else d.r.time[0], d.r.time[-1] if n > 1 else times[1])
    _bar(figure, mesh, axes, "fraction of runs per bin", extend="max", aspect=30)
    return d.page.end(figure, d.title(), d.more)


def _has_two_peaks(x: np.ndarray) -> bool:
    """Whether counts of many runs lie around two values, with a valley of half the lower one."""
    if len(x) < ENOUGH_RUNS or x.min() == x.max():
        return False
    step = max(1, math.ceil((x.max() - x.min() + 1) / 20))
    h = np.histogram(x, np.arange(x.min(), x.max() + step + 1, step))[0]
    h = np.convolve(h, [0.25, 0.5, 0.25])
    top = int(np.argmax(h))
    for i in range(len(h)):
        valley = h[min(i, top):max(i, top) + 1].min()
        if valley < 0.5 * h[i] and h[i] - valley > 3 * math.sqrt(h[i]) and h[i] > 0.1 * h[top]:
            return True
    return False


def _kymograph(d: Drawing) -> Figure:
    profile = d.r.profile
    if profile.ndim != 4:
        raise InvalidError("this result has final profiles alone", 'record="all" keeps samples')
    mean = profile.mean(axis=0)  # [point, plane, species]
    positions = 1e6 * d.r.attrs["spacing"] * np.arange(mean.shape[1] + 1)
    figure, axes = _panels(d.page, d.names, d.time_label, "position (µm)", panel=(3.4, 1.8))
    for name, a in zip(d.names, axes):
        z = mean[:, :, d.r.species.index(name)].T
        mesh = _mesh(a, _edges(d.r.time), positions, z, _norm(z, d.log), "cividis")
        _bar(figure, mesh, a, "molecules in a plane" if len(axes) == 1 else "per plane")
    return d.page.end(figure, d.title(), d.more)


def _slice(d: Drawing, frame: Optional[float], spec: Optional[str]) -> Figure:
    match = re.fullmatch(r"(?:(max|sum) )?([xyz])(?:=(\d+))?", spec or "z")
    if not match or (match[1] and match[3]):
        raise InvalidError(f"slice={spec!r} is no plane", '"z=5", "z", "max z" or "sum z", of x, y, z')
    species, frames = d.r._frame_species(), d.r.frame_counts
    axis, at = "zyx".index(match[2]), _nearest(d.r.frame_times, frame)
    sites = frames[0, at]  # [z, y, x, species]
    n = sites.shape[axis]
    if match[1]:
        plane, what = getattr(sites, match[1])(axis=axis), f"{match[1]} along {match[2]}"
    else:
        where = int(match[3]) if match[3] else n // 2
        if where >= n:
            raise InvalidError(f"slice={spec!r}: {match[2]} goes from 0 to {n - 1}")
        plane, what = sites.take(where, axis=axis), f"{match[2]} = {where}"
    up, across = [a for a in "zyx" if a != match[2]]
    spacing = 1e6 * d.r.attrs["spacing"]
    y, x = (spacing * np.arange(m + 1) for m in plane.shape[:2])
    panel = (2.8, float(np.clip(0.3 + 2.0 * len(y) / len(x), 1.2, 3.6)))
    figure, axes = _panels(d.page, d.names, f"{across} (µm)", f"{up} (µm)", panel=panel)
    for name, a in zip(d.names, axes):
        z = plane[..., species.index(name)]
        mesh = _mesh(a, x, y, z, _norm(z, d.log), "cividis")
        a.set_aspect("equal")
        _bar(figure, mesh, a, "molecules")
    title = f"{d.title('one run')}, {what}, at {d.time_of(d.r.frame_times[at])}"
    return d.page.end(figure, title, d.more)


def _moving(r: Any) -> list[str]:
    """Columns that change, or all of them if none does."""
    low, high = r.min(), r.max()
    with np.errstate(invalid="ignore"):
        moves = np.nanmax(high, axis=0) > np.nanmin(low, axis=0)
    return [name for name, m in zip(r.columns, moves) if m] or r.columns


def result(r: Any, kind: str, page: Page, species: Names, time: Optional[float], trajectories: int,
           frame: Optional[float], slice: Optional[str], log: bool, logx: bool,
           derived: Names) -> Figure:
    """Result.plot."""
    if kind not in KINDS:
        raise near("a figure", kind, KINDS)
    page.check()
    if derived is not None:
        return _derived(r, page, _named(derived, r.derived_names, "this result"), log, logx)
    spatial, counted = kind in ("kymograph", "slice"), kind in ("histogram", "heatmap")
    known = r._frame_species() if kind == "slice" else r.species if spatial else r.columns
    names = _named(species, known, "this result")
    if not names:
        names = [n for n in _moving(r) if n in (r.species if counted and r.species else known)]
    if spatial and species is None:
        names = names or list(known)
    if not names:
        raise InvalidError("this result has nothing to draw")
    d = Drawing(r, page, *_first(names), time, log, logx)
    if kind == "auto":
        kind = "bands"
        if r.attrs["record"] == "all":
            kind = "trajectories" if d.runs() == 1 else kind
            if any(n in r.species and _has_two_peaks(r[n][:, -1]) for n in d.names):
                kind = "heatmap"
    if kind == "trajectories":
        return _trajectories(d, trajectories)
    if kind == "slice":
        return _slice(d, frame, slice)
    draw: dict[str, Callable[[Drawing], Figure]] = {
        "bands": _bands, "histogram": _histogram, "heatmap": _heatmap, "kymograph": _kymograph}
    return draw[kind](d)


def _derived(r: Any, page: Page, names: list[str], log: bool, logx: bool) -> Figure:
    """Histograms of quantities of each trajectory."""
    names, more = _first(names)
    figure, axes = _panels(page, names, "value", "runs", shared=False)
    for name, a in zip(names, axes):
        x = r.derived[name]
        x = x[np.isfinite(x)]
        a.hist(x, bins=min(40, max(5, int(math.sqrt(len(x))))), color=COLOURS[0], alpha=0.6)
        _scale(a, log, logx)
    return page.end(figure, f"{r.attrs['model']}, {r.attrs['trajectories']} runs", more)


# Sweeps -----------------------------------------------------------------------------------------

class Sweep:
    """Means over the runs at the points of a sweep, and what spans them."""

    def __init__(self, data: Any, time: Optional[float]) -> None:
        self.data, self.at = data, _nearest(data["time"].values, time)
        self.species = data["species"].values.tolist() if "species" in data.coords else []
        self.observables = data["observable"].values.tolist() if "observable" in data.coords else []
        inner = {"time", "species", "observable", "run"}
        self.derived = [name for name, v in data.data_vars.items()
                        if "run" in v.dims and not inner & (set(v.dims) - {"run"})]
        first = data["mean" if self.species else "observable_mean"]
        self.axes = [a for a in first.dims if a not in inner and first.sizes[a] > 1]
        self.parameters = [c for c, v in data.coords.items() if v.dims == ("point",) and c != "point"]

    def __call__(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation, [axis …]."""
        if name in self.derived:
            v = self.data[name].squeeze()
            return v.mean("run").values, v.std("run", ddof=1).values
        prefix, dim = ("", "species") if name in self.species else ("observable_", "observable")
        mean, var = (self.data[prefix + s].sel({dim: name}).isel(time=self.at).squeeze().values
                     for s in ("mean", "variance"))
        return mean, np.sqrt(np.maximum(var, 0.0))

    def label(self, names: Sequence[str]) -> str:
        return "molecules" if set(names) <= set(self.species) else "value"

    def title(self, names: Sequence[str]) -> str:
        model = str(self.data.attrs.get("model", "sweep"))
        if set(names) <= set(self.derived):
            return model
        unit = self.data["time"].attrs.get("units", "1")
        return (f"{model} at time {self.data['time'].values[self.at]:g}" +
                (f" {unit}" if unit != "1" else ""))


def _is_geometric(values: np.ndarray) -> bool:
    """Whether values rise in equal ratios."""
    return (len(values) > 2 and bool((values > 0).all())
            and np.allclose(np.diff(np.log(values)), np.log(values[1] / values[0]))
            and not np.allclose(np.diff(values), values[1] - values[0]))


def sweep(data: Any, species: Names, time: Optional[float], derived: Names, page: Page, log: bool,
          logx: Optional[bool]) -> Figure:
    """saltus.plot of a sweep."""
    page.check()
    s = Sweep(data, time)
    names = (_named(species, s.species + s.observables, "this sweep") +
             _named(derived, s.derived, "this sweep"))
    names, more = _first(names or _varied(s))
    if "point" in s.axes:
        return _design(s, page, names, more, log, logx)
    draw = {1: _along, 2: _maps, 3: _multiples}.get(len(s.axes))
    if draw is None:
        raise InvalidError(f"a sweep of {len(s.axes)} axes is no figure" if s.axes else
                           "a sweep of one point is no figure",
                           "data.sel(…) takes values of some axes" if s.axes else "")
    return draw(s, page, names, more, log, logx)


def _varied(s: Sweep) -> list[str]:
    """Species, or else observables, whose means vary."""
    names = s.species or s.observables
    means = {name: s(name)[0] for name in names}
    return [name for name in names if np.ptp(means[name]) > 0] or names


def _along(s: Sweep, page: Page, names: list[str], more: str, log: bool,
           logx: Optional[bool]) -> Figure:
    x = s.data[s.axes[0]].values
    values = [s(name) for name in names]
    together = len(names) <= len(COLOURS) and (log or not _apart([_top(m) for m, _ in values]))
    figure, axes = _panels(page, names, s.axes[0], s.label(names), together)
    for k, (a, (mean, sd)) in enumerate(zip(axes, values)):
        colour = COLOURS[k if together else 0]
        a.plot(x, mean, color=colour, marker="o", markersize=3.5)
        a.fill_between(x, mean - sd, mean + sd, color=colour, alpha=0.25, linewidth=0)
        _scale(a, log, _is_geometric(x) if logx is None else logx)
    entries = _lines(names, together, "o")
    _legend(axes, [*entries, _band(entries, "mean ± sd")])
    return page.end(figure, s.title(names), more)


def _map(axes: Any, data: Any, x: str, y: str, z: np.ndarray, norm: Any,
         logx: Optional[bool]) -> Any:
    """A map z[x][y] over two parameters, whose axes are as their values are spaced."""
    edges = []
    for name, asked, scale in ((x, logx, axes.set_xscale), (y, None, axes.set_yscale)):
        values = data[name].values
        log = _is_geometric(values) if asked is None else asked
        edges.append(_edges(values, log))
        if log:
            scale("log")
    return _mesh(axes, *edges, np.ma.masked_invalid(z.T), norm)


def _maps(s: Sweep, page: Page, names: list[str], more: str, log: bool,
          logx: Optional[bool]) -> Figure:
    figure, axes = _panels(page, names, s.axes[0], s.axes[1], panel=(3.4, 2.3))
    for name, a in zip(names, axes):
        z = s(name)[0]
        mesh = _map(a, s.data, *s.axes, z, _norm(z, log), logx)
        _bar(figure, mesh, a, f"mean {s.label([name])}")
    return page.end(figure, s.title(names), more)


def _multiples(s: Sweep, page: Page, names: list[str], more: str, log: bool,
               logx: Optional[bool]) -> Figure:
    """Maps of the last two axes, a row for each name, a column for each value of the first."""
    third, *plane = s.axes
    names, more = _first(names, 3)
    values = s.data[third].values
    shown = np.unique(np.linspace(0, len(values) - 1, min(len(values), 5)).astype(int))
    size = page.size or (1.6 + 1.9 * len(shown), 1.4 + 1.8 * len(names))
    figure, grid = page._replace(size=size).begin(len(names), len(shown))
    for name, row in zip(names, grid):
        z = s(name)[0]
        norm = _norm(z, log)
        for a, i in zip(row, shown):
            mesh = _map(a, s.data, *plane, z[i], norm, logx)
            a.tick_params(labelsize=SMALL, labelbottom=row is grid[-1] or name == names[-1],
                          labelleft=i == 0)
            if name == names[0]:
                a.set_title(_line(f"{third} = {values[i]:.4g}"), loc="left", fontsize=9)
        _bar(figure, mesh, row, f"mean of {name}")
    figure.supxlabel(_line(plane[0]), fontsize=10)
    figure.supylabel(_line(plane[1]), fontsize=10)
    return page.end(figure, s.title(names), more)


def _design(s: Sweep, page: Page, names: list[str], more: str, log: bool,
            logx: Optional[bool]) -> Figure:
    """The points of a design: over two parameters in colours, else over each of them."""
    points = {p: s.data[p].values for p in s.parameters}
    if len(points) == 2:
        x, y = points
        figure, axes = _panels(page, names, x, y, panel=(3.4, 2.3))
        for name, a in zip(names, axes):
            z = s(name)[0]
            dots = a.scatter(points[x], points[y], c=z, norm=_norm(z, log), cmap="viridis", s=18)
            _scale(a, False, bool(logx))
            _bar(figure, dots, a, f"mean {s.label([name])}")
        return page.end(figure, s.title(names), more)
    name, (shown, more) = names[0], _first(list(points))
    figure, axes = _panels(page, shown, "value of the parameter", f"mean ± sd of {name}",
                           shared=False)
    mean, sd = s(name)
    for p, a in zip(shown, axes):
        a.errorbar(points[p], mean, sd, fmt="o", markersize=3, elinewidth=0.7, color=COLOURS[0])
        _scale(a, log, bool(logx))
    return page.end(figure, s.title([name]), more)
