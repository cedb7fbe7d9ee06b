"""How figures look, by matplotlib's objects alone: no window and no global state, so that
notebooks, threads and machines without a screen draw alike. What they show is in _plot.py."""
from __future__ import annotations

import io
import math
import os
import re
from typing import Any, NamedTuple, Optional, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure as _Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, Formatter, LogLocator, MaxNLocator, NullFormatter

from ._errors import InvalidError, number
from ._files import Path, any_path, publish
from ._series import COLOURS, check_size, one_line

SMALL = 8  # points
DRAWN_BY = "drawn by Saltus"
COLOUR_BAR = "<colorbar>"
LEAST_DPI, MOST_PIXELS = 5, 2**16  # of letters, and along an edge
LEAST_VALUE = 1e-280  # of logarithmic colours: below, matplotlib fails
BESIDE = (1.03, 0.0, 0.2, 1.0)  # of a panel: left, bottom, width, height


class Figure(_Figure):
    """A figure that shows itself in notebooks without pyplot."""

    def _repr_png_(self) -> bytes:
        return self._bytes("png")

    def _bytes(self, kind: str) -> bytes:
        out = io.BytesIO()
        about = {"png": {"Software": DRAWN_BY}, "svg": {"Creator": DRAWN_BY, "Date": None},
                 "pdf": {"Creator": DRAWN_BY, "CreationDate": None}}[kind]
        self.savefig(out, format=kind, dpi=self.dpi, metadata=about)
        return out.getvalue()


class Page(NamedTuple):
    """How a figure looks, whatever it shows."""
    title: Optional[str]
    path: Optional[Path]
    size: Optional[tuple[float, float]]
    dpi: Optional[float]

    def check(self) -> None:
        if self.path is not None:
            any_path("path", self.path)
            if self._ending() not in ("png", "svg", "pdf"):
                raise InvalidError(f"{os.fspath(self.path)}: a figure is .png, .svg or .pdf")
        if self.title is not None and not isinstance(self.title, str):
            raise InvalidError(f"title={self.title!r} must be a text")
        if self.size is not None:
            try:
                width, height = (number("size", side) for side in self.size)
            except (TypeError, ValueError) as failure:
                raise InvalidError(f"size={self.size!r} must be two numbers, inches") from failure
            if not (0.0 < width < math.inf and 0.0 < height < math.inf):
                raise InvalidError(f"size={self.size!r} must be above 0")

    def _ending(self) -> str:
        return os.path.splitext(os.fspath(self.path or ""))[1][1:].lower()

    def begin(self, rows: int, columns: int, size: tuple[float, float],
              **ratios: Any) -> tuple[Figure, np.ndarray]:
        """A figure and its axes [row][column]; size: in inches, unless another is wanted; ratios:
        of rows and columns."""
        size, dpi = self.size or size, 150.0 if self.dpi is None else number("dpi", self.dpi)
        pixels = [side * dpi for side in size]
        most = math.ceil(MOST_PIXELS / max(size)) - 1
        if most < LEAST_DPI:
            raise InvalidError(f"size=({size[0]:g}, {size[1]:g}) is larger than a figure can be")
        if not (LEAST_DPI <= dpi and max(pixels) < MOST_PIXELS):
            raise InvalidError(f"dpi={dpi:g}: the figure is {size[0]:g} by {size[1]:g} inches; "
                               f"{LEAST_DPI} to {most} are possible")
        figure = Figure(figsize=size, dpi=dpi, layout="constrained")
        FigureCanvasAgg(figure)
        return figure, figure.subplots(rows, columns, squeeze=False, gridspec_kw=ratios)

    def end(self, figure: Figure, title: str, more: str = "") -> Figure:
        """The figure with its title, at whose end stands what it leaves out."""
        title = self.title if self.title is not None else title
        figure.suptitle(one_line(", ".join(t for t in (title, more) if t)), fontsize=11)
        for axes in figure.axes:  # those of colours too
            for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
                if axis.get_scale() == "log" and not np.isfinite(axis.get_minpos()):
                    axes.autoscale(False, axis=name)  # which would warn: there is nothing on it
            for axis in (axes.xaxis, axes.yaxis):
                ends = axis.get_view_interval()
                check_size(ends)
                if axis.get_scale() == "log" and min(ends) <= 0:  # there is nothing on it
                    axis.set_view_interval(0.1, 1.0, ignore=True)
        _fit(figure, len(more))
        if self.path is not None:
            publish(self.path, figure._bytes(self._ending()))
        return figure


# Texts and ticks --------------------------------------------------------------------------------

class Numbers(Formatter):
    """Ticks as short as they can be told apart: 0.5, 20000, 2.5e6."""

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        steps = np.abs(np.diff(values))
        if len(values) == 1 and self.axis is not None:  # beside the ends of the axis
            steps = np.abs(np.diff(self.axis.get_view_interval()))
        close = 1e-3 * min(steps[steps > 0], default=abs(values[0]) if len(values) else 0.0)
        for digits in range(1, 17):
            texts = [re.sub(r"e([+-])0*", lambda m: "e" + m[1].strip("+"), f"{v:.{digits}g}")
                     if abs(v) >= 1e5 or 0 < abs(v) < 1e-3 else f"{float(f'{v:.{digits}g}'):.10g}"
                     for v in values]
            if all(abs(float(t) - v) <= close for t, v in zip(texts, values)):
                break
        return [t.replace("-", "\N{MINUS SIGN}") for t in texts]

    def __call__(self, value: float, position: Optional[int] = None) -> str:
        return self.format_ticks([value])[0]


def _shorten(text: Text, room: float, renderer: Any, upright: bool = False, end: int = 0) -> None:
    """Leave out the middle of a text until it fits: names often differ at their ends. So many
    characters at the end stay as long as they can."""
    full = text.get_text()
    kept = len(full)
    while kept > 2:
        extent = text.get_window_extent(renderer)
        length = extent.height if upright else extent.width
        if length <= room:
            return
        kept = max(2, min(kept - 1, int(kept * room / length)))
        behind = min(kept, max(kept // 3, end))
        text.set_text(full[:kept - behind] + "…" + full[len(full) - behind:])


def _fit_ticks(axis: Any, room: float, each: float, renderer: Any) -> None:
    """As many ticks as there is room for, whose labels do not touch; one where there is little."""
    low, high = sorted(axis.get_view_interval())
    with np.errstate(over="ignore"):  # it is infinite where an axis goes down to 1e-320
        ratio = high / low if axis.get_scale() == "log" and low > 0 else 1.0
    axis.set_major_formatter(Numbers())
    axis.set_minor_formatter(NullFormatter())
    for n in range(max(1, min(6, int(room / each))), 0, -1):
        axis.set_major_locator(
            LogLocator(numticks=n + 1) if ratio >= 100 else
            LogLocator(subs=(1, 2, 5) if n > 2 else (1,)) if ratio >= 5 else
            MaxNLocator(n, steps=[1, 2, 2.5, 5, 10]))
        shown = [(at, text.get_window_extent(renderer).padded(1.0)) for at, text in
                 zip(axis.get_majorticklocs(), axis.get_majorticklabels())
                 if text.get_visible() and low <= at <= high]
        if not any(a.overlaps(b) for (_, a), (_, b) in zip(shown, shown[1:])):
            return
    axis.set_major_locator(FixedLocator([at for at, _ in shown[:1]]))


def _fit(figure: Figure, end_of_title: int) -> None:
    """Shorten texts and thin ticks until nothing overlaps or leaves the figure."""
    for text in figure.findobj(Text):
        text.set_parse_math(False)  # a name may hold a $
    renderer = figure.canvas.get_renderer()
    width, height = figure.bbox.width, figure.bbox.height
    _shorten(figure._suptitle, 0.96 * width, renderer, end=end_of_title)
    every = figure.axes + [inset for axes in figure.axes for inset in axes.child_axes]
    for axes in every:
        legend = axes.get_legend()
        for text in legend.get_texts() if legend else ():
            _shorten(text, 0.24 * width, renderer)
        axes.set_title("", y=1.0)  # titles move up for numbers at the top, and seek them long
    titles = [(axes, axes._left_title, axes.get_title("left")) for axes in every]

    def fit_titles() -> None:
        for axes, title, full in titles:
            title.set_text(full)
            _shorten(title, axes.get_window_extent(renderer).width, renderer)

    for _ in range(2):  # titles and ticks take room, and have what the others leave
        fit_titles()
        figure.get_layout_engine().execute(figure)  # without drawing all
        for axes in every:
            axes.apply_aspect()
            box = axes.get_window_extent(renderer)
            if axes.get_label() != COLOUR_BAR:
                _fit_ticks(axes.xaxis, box.width, 0.55 * figure.dpi, renderer)
            _fit_ticks(axes.yaxis, box.height, 0.3 * figure.dpi, renderer)
    fit_titles()
    for axes in every:
        box = axes.get_window_extent(renderer)
        _shorten(axes.xaxis.label, box.width, renderer)
        _shorten(axes.yaxis.label, box.height, renderer, upright=True)
    for text, room in ((figure._supxlabel, width), (figure._supylabel, height)):
        if text is not None:
            _shorten(text, 0.9 * room, renderer, upright=text is figure._supylabel)


def add_legend(axes: Sequence[Any], entries: Sequence[tuple[Any, str]]) -> None:
    """A legend in the grid's last place if that is free, else beside the first row."""
    if not entries:
        return
    grid = axes[0].get_subplotspec().get_gridspec()
    if len(set(axes)) < grid.nrows * grid.ncols:
        host, left = axes[0].figure.add_subplot(grid[-1, -1]), 0.0
        host.set_axis_off()
    else:
        host = [a for a in axes if a.get_subplotspec().is_first_row()][-1]
        left = BESIDE[0] + BESIDE[2] + 0.02 if host.child_axes else 1.0
    host.legend([h for h, _ in entries], [one_line(t) for _, t in entries], loc="upper left",
                bbox_to_anchor=(left, 1.0), fontsize=SMALL, frameon=False, handlelength=1.4,
                borderaxespad=0.2)


def make_panels(page: Page, names: Sequence[str], x: str, y: str, together: bool = False,
                panel: tuple[float, float] = (2.6, 1.8), shared: bool = True
                ) -> tuple[Figure, list[Any]]:
    """Axes for each name: the same, or one for each in a grid, with labels where they are needed.
    panel: width and height of one of several, in inches; shared: all have the same axis of x, whose
    numbers stand below the last ones alone."""
    n = 1 if together else len(names)
    columns = min(4, math.ceil(math.sqrt(n)))
    rows = math.ceil(n / columns)
    figure, grid = page.begin(rows, columns, (7.0, 4.2) if n == 1 else (
        max(1.0 + panel[0] * columns, 5.0), 1.4 + panel[1] * rows))
    if n == 1:
        grid[0, 0].set_xlabel(one_line(x))
        grid[0, 0].set_ylabel(one_line(y))
    else:
        figure.supxlabel(one_line(x), fontsize=10)
        figure.supylabel(one_line(y), fontsize=10)
    for axes in grid.flat[n:]:
        axes.remove()
    for i, axes in enumerate(grid.flat[:n]):
        axes.tick_params(labelsize=SMALL if n > 1 else 9)
        if shared and i + columns < n:
            axes.tick_params(labelbottom=False)
        if not together:
            axes.set_title(one_line(names[i]), loc="left", fontsize=9)
    return figure, list(grid.flat[:n]) * (len(names) if together else 1)


def beside(axes: Any) -> Any:
    """Axes on the right of a panel, with its axis of values: the same for all that ask."""
    if not axes.child_axes:
        inset = axes.inset_axes(BESIDE, sharey=axes)
        inset.tick_params(labelleft=False, bottom=False, labelbottom=False)
        inset.spines[["top", "right", "bottom"]].set_visible(False)
    return axes.child_axes[0]


def set_scale(axes: Any, log: bool, logx: bool) -> None:
    if log:
        axes.set_yscale("log", nonpositive="clip")
    if logx:
        axes.set_xscale("log", nonpositive="clip")


def _above_zero(edges: np.ndarray) -> np.ndarray:
    """Edges for a logarithmic axis: cells that begin at 0 or below begin where it does."""
    low = edges.min(where=edges > 0, initial=np.inf)
    return np.maximum(edges, min(0.5 * low, 0.5)) if low < np.inf else edges


def draw_map(axes: Any, x: np.ndarray, y: np.ndarray, z: np.ndarray, norm: Any,
             colours: str = "viridis") -> Any:
    """A map z[y][x] between edges, on axes that have their scales; cells that are masked stay
    white."""
    x, y = (_above_zero(edges) if scale == "log" else edges
            for edges, scale in ((x, axes.get_xscale()), (y, axes.get_yscale())))
    return axes.pcolormesh(x, y, z, norm=norm, cmap=colours, rasterized=True)


def add_colour_bar(figure: Figure, mesh: Any, axes: Any, label: str, **options: Any) -> None:
    """A colour bar as high as its panel, or beside several."""
    where = ({"cax": axes.inset_axes([1.03, 0.0, 0.04, 1.0])} if isinstance(axes, Axes) else
             {"ax": axes, "pad": 0.02})
    bar = figure.colorbar(mesh, **where, **options)
    bar.ax.set_label(COLOUR_BAR)
    bar.ax.tick_params(labelsize=SMALL)
    bar.set_label(one_line(label), fontsize=SMALL + 1)


def colours_for(values: Any, log: bool = False) -> Any:
    """Colours for values, from 0 on where they allow it."""
    finite = np.ma.compressed(np.ma.masked_invalid(values))
    check_size(finite)
    if log and (finite > LEAST_VALUE).any():
        low, high = finite[finite > LEAST_VALUE].min(), finite.max()
        return LogNorm(low, high if high > low else 10 * low)
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
    low = 0.0 if 0 <= low < 0.5 * high else low
    return Normalize(low, high if high > low else low + 1.0)


def line_entries(names: Sequence[str], together: bool, marker: Optional[str] = None) -> list[Any]:
    """What a legend says of lines in one panel; panels of their own have titles."""
    return [(Line2D([], [], color=COLOURS[k], marker=marker, markersize=3.5), name)
            for k, name in enumerate(names)] if together else []
