"""What figures of results and of sweeps show; how they look is in _figure.py."""
from __future__ import annotations

import math
import re
from typing import Any, NamedTuple, Optional, Sequence

import numpy as np
from matplotlib.colors import ListedColormap, Normalize, PowerNorm
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ._errors import InvalidError, flag, near, whole
from ._figure import (SMALL, Figure, Numbers, Page, add_colour_bar, add_legend, beside, colours_for,
                      draw_map, line_entries, make_panels, set_scale)
from ._series import (BAND, COLOURS, RANGES_APART, Names, Sweep, are_whole, chosen, distributions,
                      edges_around, even_edges, first, is_geometric, moving, named, nearest,
                      one_line, partly, quantiles, spread, time_unit, whole_edges)

# Of a lattice's types of sites; the first is what is outside, as a rule.
TYPE_COLOURS = ("#f4f4f2", "#c6dbef", "#3b6ea5", "#e8a33d", "#5aa469", "#b04a5a", "#8e6bb0",
                "#6b6b6b", "#d7c9a7", "#84c5c9")
KINDS = ("auto", "bands", "trajectories", "histogram", "heatmap", "kymograph", "slice")
MOST_PANELS = 12      # asked for by name
MOST_CHOSEN = 8       # of themselves: those that change most
MOST_RUNS = 20        # as lines, if nothing is said
MOST_COLUMNS = 300    # of a heat map
ENOUGH_RUNS = 50      # for a distribution whose peaks mean something


def type_colour(i: int) -> str:
    return TYPE_COLOURS[i if i < len(TYPE_COLOURS) else 1 + (i - 1) % (len(TYPE_COLOURS) - 1)]


# Results ----------------------------------------------------------------------------------------

class Drawing(NamedTuple):
    """What is drawn of a result or a Sweep, and of which names."""
    of: Any
    page: Page
    names: list[str]
    more: str
    log: bool
    logx: Optional[bool]
    kind: str = "auto"

    def end(self, figure: Figure, title: str) -> Figure:
        return self.page.end(figure, title, self.more)

    def panels(self, x: str, y: str, **how: Any) -> tuple[Figure, list[Any]]:
        return make_panels(self.page, self.names, x, y, **how)

    def fit_together(self, values: Sequence[np.ndarray]) -> bool:
        """Whether a series for each name is of a size for one axis."""
        tops = [np.abs(x[np.isfinite(x)]).max(initial=0.0) for x in values]
        tops = [top for top in tops if top > 0] or [1.0]
        return len(self.names) <= len(COLOURS) and (
            self.log or max(tops) <= RANGES_APART * min(tops))

    @property
    def value_label(self) -> str:
        return "molecules" if set(self.names) <= set(self.of.species) else "value"

    @property
    def sd_label(self) -> str:
        return "sd of " + (self.names[0] if len(self.names) == 1 else
                           "molecules" if self.value_label == "molecules" else "values")

    # ---- of a result

    @property
    def time_label(self) -> str:
        unit = time_unit(self.of)
        return f"time ({unit})" if unit else "time"

    def time_of(self, time: float) -> str:
        return f"time {time:g} {time_unit(self.of)}".strip()

    @property
    def has_ends(self) -> bool:
        """Whether there are distributions of all names at the end, of enough runs."""
        kept = self.of.attrs["record"]
        return self.runs >= ENOUGH_RUNS and (kept in ("all", "final") or (
            kept == "histogram" and set(self.names) <= set(self.of.species)))

    @property
    def has_distributions(self) -> bool:
        """The same at all times."""
        return self.has_ends and self.of.attrs["record"] != "final"

    @property
    def runs(self) -> int:
        return int(self.of.attrs["trajectories"])

    def samples(self, name: str) -> np.ndarray:
        """[run, point]"""
        x = self.of[name]
        if x.ndim != 2:
            raise InvalidError("this result has final states alone", 'record="all" keeps samples')
        return x

    def over_time(self, values: Sequence[np.ndarray]) -> tuple[Figure, list[Any], bool]:
        """Axes over time for each name's values, and whether these are the same for all."""
        together = self.fit_together(values)
        figure, axes = self.panels(self.time_label, self.value_label, together=together)
        for a in axes:
            set_scale(a, self.log, self.logx)
            if len(self.of.time) > 1 and not self.logx:
                a.set_xlim(self.of.time[0], self.of.time[-1])
        return figure, axes, together

    def title(self, what: str = "") -> str:
        a, n = self.of.attrs, self.runs
        return f"{a['model']}, {what or (f'{n} runs' if n != 1 else '1 run')}{partly(a)}"


def _show_end(d: Drawing, axes: Sequence[Any], together: bool = False) -> None:
    """The distribution at the end beside each panel, on its axis of values, if there is one."""
    last = len(d.of.time) - 1
    if d.kind != "auto" or not d.has_ends or not last:
        return
    counted = distributions(d.of, d.names, [last])
    for k, (name, a) in enumerate(zip(d.names, axes)):
        edges, parts = counted[name]
        colour, side = COLOURS[k if together else 0], beside(a)
        side.stairs(parts[0], edges, orientation="horizontal", fill=True, color=colour, alpha=0.35)
        side.stairs(parts[0], edges, orientation="horizontal", color=colour, linewidth=1.0)
        side.set_xlim(left=0.0)
    beside(axes[0]).set_title("end", loc="left", fontsize=SMALL)


def _draw_means(d: Drawing, axes: Sequence[Any], together: bool, x: np.ndarray, means: Any,
                bands: Sequence[Any], about: str, marker: Optional[str] = None) -> None:
    """Lines, each with a band around it if there are any, and a legend that says what they are."""
    for k, (a, mean) in enumerate(zip(axes, means)):
        colour = COLOURS[k if together else 0]
        a.plot(x, mean, color=colour, marker=marker or ("o" if len(x) == 1 else None),
               markersize=3.5 if marker else None)
        if bands and len(x) > 1:
            a.fill_between(x, *bands[k], color=colour, alpha=0.25, linewidth=0)
        elif bands:
            a.vlines(x, *bands[k], color=colour, alpha=0.25, linewidth=12)
    entries = line_entries(d.names if together else ["mean"], together or bool(bands), marker)
    if bands:
        colour = "#808080" if len(entries) > 1 else COLOURS[0]
        entries.append((Patch(color=colour, alpha=0.25, linewidth=0), about))
    add_legend(axes, entries)


def _bands(d: Drawing) -> Figure:
    r, at = d.of, [d.of.columns.index(name) for name in d.names]
    mean, sd = r.mean()[:, at].T, np.sqrt(np.maximum(r.var()[:, at].T, 0.0))
    figure, axes, together = d.over_time(mean)
    sampled, bands = r.attrs["record"] == "all", []
    if d.runs > 1:
        found = quantiles(r, d.names, range(len(r.time)), BAND) if sampled else {}
        bands = [found[name] for name in d.names] if sampled else list(zip(mean - sd, mean + sd))
    _show_end(d, axes, together)
    _draw_means(d, axes, together, r.time, mean, bands,
                "5 % to 95 % of runs" if sampled else "mean ± sd")
    return d.end(figure, d.title())


def _trajectories(d: Drawing, n: int) -> Figure:
    samples = [d.samples(name)[:n] for name in d.names]
    figure, axes, together = d.over_time(samples)
    for k, (a, x) in enumerate(zip(axes, samples)):
        a.plot(d.of.time, x.T, color=COLOURS[k if together else 0],
               linewidth=1.2 if len(x) == 1 else 0.7, alpha=1.0 if len(x) < 4 else 0.6,
               marker="o" if len(d.of.time) == 1 else None)
    add_legend(axes, line_entries(d.names, together))
    shown = len(samples[0])
    return d.end(figure, d.title(f"{shown} of {d.runs} runs" if shown < d.runs else ""))


def _check_kept(d: Drawing, what: str, records: Sequence[str]) -> None:
    """Refuse what is not there of all names. records: those that keep it, of species; of others
    there are no histograms."""
    kept, others = d.of.attrs["record"], [n for n in d.names if n not in d.of.species]
    fit = [record for record in records if record != "histogram" or not others]
    if kept not in fit:
        of = f" of {others[0]}" if kept in records else ""
        raise InvalidError(f"this result has no {what}{of}",
                           " or ".join(f'record="{record}"' for record in fit) + " keeps them")


def _histogram(d: Drawing, time: Optional[float]) -> Figure:
    _check_kept(d, "distributions", ("all", "final", "histogram"))
    point = nearest("time", d.of.time, time)
    if d.of.attrs["record"] == "final" and point != len(d.of.time) - 1:
        raise InvalidError("this result has final states alone", 'record="all" keeps samples')
    figure, axes = d.panels(d.value_label, "fraction of runs per bin",
                               shared=False)
    most = min(60, max(10, int(2 * math.sqrt(d.runs))))
    counted = distributions(d.of, d.names, [point], most)
    for name, a in zip(d.names, axes):
        edges, parts = counted[name]
        a.stairs(parts[0], edges, fill=True, color=COLOURS[0], alpha=0.35)
        a.stairs(parts[0], edges, color=COLOURS[0], linewidth=1.0)
        set_scale(a, d.log, d.logx)
        if not d.log:
            a.set_ylim(bottom=0)
    return d.end(figure, f"{d.title()}, at {d.time_of(d.of.time[point])}")


def _heatmap(d: Drawing) -> Figure:
    _check_kept(d, "distributions over time", ("all", "histogram"))
    points = spread(len(d.of.time), MOST_COLUMNS)
    counted = distributions(d.of, d.names, points)
    # The scale ends where one cell in a hundred passes it, or a start in one state would fill it.
    used = np.concatenate([p[p > 0] for _, p in counted.values()])
    top = float(np.quantile(used, 0.99)) if len(used) else 1.0
    figure, axes = d.panels(d.time_label, d.value_label)
    mesh = _draw_spread(d, axes, edges_around(d.of.time[points], bool(d.logx)), counted, top)
    for a in axes if len(d.of.time) > 1 else ():  # without the half cells at both ends
        a.set_xlim(d.of.time[0] if not d.logx else None, d.of.time[-1])
    _show_end(d, axes)
    add_colour_bar(figure, mesh, axes, "fraction of runs per bin", extend="max", aspect=30)
    return d.end(figure, d.title())


def _draw_spread(d: Drawing, axes: Sequence[Any], x: np.ndarray, counted: dict[str, Any],
                 top: float) -> Any:
    """Maps of distributions along x, in colours up to a fraction."""
    norm = PowerNorm(0.5, 0.0, top)
    for name, a in zip(d.names, axes):
        edges, parts = counted[name]
        set_scale(a, d.log, d.logx)
        mesh = draw_map(a, x, edges, np.ma.masked_equal(parts.T, 0.0), norm)
    return mesh


def _has_two_peaks(h: np.ndarray) -> bool:
    """Whether many runs, as they are counted in bins, lie around two values, with a valley of half
    the lower one between them."""
    used = np.flatnonzero(h)
    if h.sum() < ENOUGH_RUNS or len(used) < 3:
        return False
    h = h[used[0]:used[-1] + 1]
    step = math.ceil(len(h) / 20)
    h = np.pad(h, (0, -len(h) % step)).reshape(-1, step).sum(axis=1)
    h = np.convolve(h, [0.25, 0.5, 0.25])
    top = int(np.argmax(h))
    valley = np.concatenate([np.minimum.accumulate(h[top::-1])[::-1],  # the least towards the top
                             np.minimum.accumulate(h[top:])[1:]])
    return bool(((valley < 0.5 * h) & (h - valley > 3 * np.sqrt(h)) & (h > 0.1 * h[top])).any())


def _kymograph(d: Drawing) -> Figure:
    mean = d.of.mean("profile")  # [point, plane, species]
    positions = 1e6 * d.of.attrs["spacing"] * np.arange(mean.shape[1] + 1)
    figure, axes = d.panels(d.time_label, "position (µm)", panel=(3.4, 1.8))
    for name, a in zip(d.names, axes):
        z = mean[:, :, d.of.species.index(name)].T
        set_scale(a, False, d.logx)
        mesh = draw_map(a, edges_around(d.of.time, bool(d.logx)), positions, z,
                        colours_for(z, d.log), "cividis")
        if len(d.of.time) > 1:
            a.set_xlim(d.of.time[0] if not d.logx else None, d.of.time[-1])
        add_colour_bar(figure, mesh, a, "molecules in a plane" if len(axes) == 1 else "per plane")
    return d.end(figure, d.title())


def _slice(d: Drawing, frame: Optional[float], spec: Optional[str]) -> Figure:
    match = re.fullmatch(r"(?:(max|sum) )?([xyz])(?:=(\d+))?", spec or "z")
    if not match or (match[1] and match[3]):
        raise InvalidError(f"slice={spec!r} is no plane",
                           '"z=5", "z", "max z" or "sum z", of x, y and z')
    species = d.of._frame_species()
    there = d.of._frames_there()
    if not len(there):
        raise InvalidError("this result has no frames, or none was made before the run ended",
                           "frames=DT asks for them, of a model with a lattice")
    times = np.asarray(d.of.frame_times)[there]
    axis, at = "zyx".index(match[2]), nearest("frame", times, frame)
    sites = d.of._source.part("frames", (0, there[at]))  # [z, y, x, species]
    n = sites.shape[axis]
    if match[1]:
        plane, what = getattr(sites, match[1])(axis=axis), f"{match[1]} along {match[2]}"
    else:
        where = int(match[3]) if match[3] else n // 2
        if where >= n:
            raise InvalidError(f"slice={spec!r}: {match[2]} goes from 0 to {n - 1}")
        plane, what = sites.take(where, axis=axis), f"{match[2]} = {where}"
    up, across = [a for a in "zyx" if a != match[2]]
    spacing = 1e6 * d.of.attrs["spacing"]
    y, x = (spacing * np.arange(m + 1) for m in plane.shape[:2])
    panel = (2.8, float(np.clip(0.3 + 2.0 * len(y) / len(x), 1.2, 3.6)))
    figure, axes = d.panels(f"{across} (µm)", f"{up} (µm)", panel=panel)
    for name, a in zip(d.names, axes):
        z = plane[..., species.index(name)]
        mesh = draw_map(a, x, y, z, colours_for(z, d.log), "cividis")
        if 1 / 6 < len(y) / len(x) < 6:  # thinner ones could not be made out
            a.set_aspect("equal")
        add_colour_bar(figure, mesh, a, "molecules")
    title = f"{d.title('one run')}, {what}, at {d.time_of(times[at])}"
    return d.end(figure, title)


@np.errstate(all="ignore")
def result(r: Any, kind: str, page: Page, species: Names, time: Optional[float],
           trajectories: Optional[int], frame: Optional[float], slice: Optional[str], log: bool,
           logx: bool, derived: Names) -> Figure:
    """Result.plot."""
    if kind not in KINDS:
        raise near("a figure", kind, KINDS)
    page.check()
    if trajectories is not None and not whole("trajectories", trajectories) >= 1:
        raise InvalidError(f"trajectories={trajectories} are none to draw")
    log, logx = flag("log", log), flag("logx", logx)
    for name, value, of in (("time", time, "histogram"), ("frame", frame, "slice"),
                            ("slice", slice, "slice"),
                            ("trajectories", trajectories, "trajectories")):
        if value is not None:
            if kind not in ("auto", of) or derived is not None:
                what = "derived" if derived is not None else f"kind={kind!r}"
                raise InvalidError(f"{name}={value!r} is for kind={of!r}: {what} has none")
            kind = of
    if derived is not None:
        names = named(derived, r.derived_names, "this result")
        return _derived(Drawing(r, page, *first(names, MOST_PANELS), log, logx))
    spatial, counted = kind in ("kymograph", "slice"), kind in ("histogram", "heatmap")
    known = r._frame_species() if kind == "slice" else r.species if spatial else r.columns
    names, more = first(named(species, known, "this result"), MOST_PANELS)
    if not known or not (r.attrs["trajectories"] or kind == "slice"):
        raise InvalidError("this result has nothing to draw")
    if not names:
        fit = r.species if counted and r.attrs["record"] == "histogram" else known
        moves = [n for n in moving(r) if n in fit] or list(fit)
        if spatial:  # a number that stays can be elsewhere
            tops = dict(zip(r.columns, r.max().max(axis=0)))
            moves += [n for n in fit if n not in moves and tops.get(n, 1.0) > 0]
        names, more = chosen(fit, moves, MOST_CHOSEN)
    d = Drawing(r, page, names, more, log, logx, kind)
    if kind == "auto":
        kind = "trajectories" if r.attrs["record"] == "all" and d.runs == 1 else "bands"
        if d.has_distributions:
            last = distributions(r, names, [len(r.time) - 1])
            if any(_has_two_peaks(np.rint(d.runs * p[0])) for _, p in last.values()):
                kind = "heatmap"
    shown = MOST_RUNS if trajectories is None else int(trajectories)
    draw, how = {"bands": (_bands, ()), "trajectories": (_trajectories, (shown,)),
                 "histogram": (_histogram, (time,)), "heatmap": (_heatmap, ()),
                 "kymograph": (_kymograph, ()), "slice": (_slice, (frame, slice))}[kind]
    return draw(d, *how)


def lattice(m: Any, page: Page) -> Figure:
    """Model.plot: the types of sites in planes through the middle."""
    page.check()
    if m.lattice is None:
        raise InvalidError(f"model '{m.name}' has no lattice to draw",
                           "of a model without one, results are drawn: run it first")
    size, spacing = m.lattice, 1e6 * m.spacing
    planes = [(normal, *sorted((i for i in range(3) if i != normal), key=lambda i: -size[i]))
              for normal in (1, 0, 2)]  # their axes, with the longer one across
    wide, high = [size[p[1]] for p in planes], [size[p[2]] for p in planes]
    in_row = min(6.4 / sum(wide), 2.4 / max(high))  # inches per site, and above each other
    above = min(4.4 / max(wide), 5.4 / sum(high))
    if in_row >= above:
        inches, shape, ratios = (8.4, 1.4 + in_row * max(high)), (1, 3), {"width_ratios": wide}
    else:
        inches, shape, ratios = (6.4, 2.8 + above * sum(high)), (3, 1), {"height_ratios": high}
    figure, grid = page.begin(*shape, inches, **ratios)
    axes = list(grid.flat)
    norm = Normalize(-0.5, len(m.site_types) - 0.5)
    colours = ListedColormap([type_colour(i) for i in range(len(m.site_types))])
    for (normal, across, up), a in zip(planes, axes):
        at = [slice(None)] * 3
        middle = at[normal] = size[normal] // 2
        z = m.sites(*at)  # [z][y][x] without the normal
        z = z if across < up else z.T
        x, y = (spacing * np.arange(n + 1) for n in z.shape[::-1])
        draw_map(a, x, y, z, norm, colours)
        a.set_aspect("equal")
        a.set_xlabel(f"{'xyz'[across]} (µm)")
        a.set_ylabel(f"{'xyz'[up]} (µm)")
        a.set_title(f"{'xyz'[normal]} = {(middle + 0.5) * spacing:.4g} µm", loc="left", fontsize=9)
    add_legend(axes, [(Patch(facecolor=type_colour(i), edgecolor="#909090", linewidth=0.5),
                       f"{name}: {n}") for i, (name, n) in enumerate(m.site_types.items())])
    sites = f"{' × '.join(map(str, size))} sites of {1e9 * m.spacing:.4g} nm"
    return page.end(figure, f"{m.name}, {sites}")


def _derived(d: Drawing) -> Figure:
    """Histograms of quantities of each trajectory."""
    figure, axes = d.panels("value", "runs", shared=False)
    for name, a in zip(d.names, axes):
        every = d.of.derived[name]
        x, n = every[np.isfinite(every)], d.runs
        edges = whole_edges if are_whole(x) else even_edges
        edges = edges(*(x.min(), x.max()) if len(x) else (0.0, 1.0),
                      min(40, max(5, int(math.sqrt(len(x))))))
        a.stairs(np.histogram(x, edges)[0], edges, color=COLOURS[0], alpha=0.6, fill=True)
        if len(x) < n:
            a.set_title(one_line(f"{name}, {len(x)} of {n} runs"), loc="left", fontsize=9)
        set_scale(a, d.log, d.logx)
        if not d.log:
            a.set_ylim(bottom=0)
    return d.end(figure, d.title())


# Sweeps -----------------------------------------------------------------------------------------

@np.errstate(all="ignore")
def sweep(data: Any, species: Names, time: Optional[float], derived: Names, statistic: str,
          page: Page, log: bool, logx: Optional[bool]) -> Figure:
    """saltus.plot of a sweep."""
    if not hasattr(data, "data_vars"):
        raise InvalidError(f"a sweep is an xarray.Dataset, not {type(data).__name__}",
                           "a Result has a method plot")
    page.check()
    s = Sweep(data, time, statistic)
    if s.is_empty or not all(data.sizes[a] for a in s.every):
        raise InvalidError("this sweep has nothing to draw")
    draw = {1: _along, 2: _maps, 3: _multiples}.get(len(s.axes))
    if "point" in s.axes:
        draw = {0: None, 1: _along, 2: _maps}.get(len(s.parameters), _design)
    if draw is None:
        raise InvalidError(f"a sweep of {len(s.axes)} axes is no figure" if s.axes else
                           "a sweep of one point is no figure",
                           "in Python, data.sel(…) takes values of some axes" if s.axes else "")
    names = (named(species, s.species + s.observables, "this sweep") +
             named(derived, s.derived, "this sweep"))
    most = {_multiples: 3, _design: 1}.get(draw)
    shown = (first(names, most or MOST_PANELS) if names else
             chosen(s.species or s.observables, s.varied(), most or MOST_CHOSEN))
    return draw(Drawing(s, page, *shown, log, logx))


def _along(d: Drawing) -> Figure:
    """Means along one parameter with standard deviations, or with distributions where these have
    two peaks: means alone would hide two states. Or standard deviations alone, if these are asked
    for."""
    s = d.of
    label = s.parameters[0] if "point" in s.axes else s.axes[0]
    s.data = s.data.sortby(label)
    x = s.data[label].values
    d = d._replace(logx=is_geometric(x) if d.logx is None else d.logx)
    if s.statistic == "sd":
        return _draw_along(d, label, x, [s.shown(name) for name in d.names], [])
    values = [s(name) for name in d.names]
    counted = {n: c for n in d.names if (c := s.distributions(n)) is not None}
    if len(counted) == len(d.names) and any(_has_two_peaks(h) for _, c in counted.values()
                                            for h in c):
        figure, axes = d.panels(label, d.value_label)
        parts = {n: (e, c / c.sum(axis=1, keepdims=True)) for n, (e, c) in counted.items()}
        mesh = _draw_spread(d, axes, edges_around(x, bool(d.logx)), parts,
                            max(float(p.max()) for _, p in parts.values()))
        for (mean, _), a in zip(values, axes):
            a.plot(x, mean, color=COLOURS[1], marker="o", markersize=3.5, linewidth=1.2)
        add_legend(axes, [(Line2D([], [], color=COLOURS[1], marker="o", markersize=3.5), "mean")])
        add_colour_bar(figure, mesh, axes, "fraction of runs per bin", aspect=30)
        return d.end(figure, s.title(d.names))
    return _draw_along(d, label, x, [mean for mean, _ in values],
                       [(mean - sd, mean + sd) for mean, sd in values])


def _draw_along(d: Drawing, label: str, x: np.ndarray, lines: Sequence[np.ndarray],
                bands: Sequence[Any]) -> Figure:
    together = d.fit_together(lines)
    figure, axes = d.panels(label, d.value_label if bands else d.sd_label, together=together)
    _draw_means(d, axes, together, x, lines, bands, "mean ± sd", "o")
    for a in axes:
        set_scale(a, d.log, d.logx)
    return d.end(figure, d.of.title(d.names))


def _map(axes: Any, d: Drawing, x: str, y: str, z: np.ndarray, norm: Any) -> Any:
    """A map z[x][y] over two parameters, whose axes are as their values are spaced, or a design's
    points in colours."""
    values = [d.of.data[name].values for name in (x, y)]
    if "point" in d.of.axes:
        logs = [is_geometric(v) for v in values]
        set_scale(axes, logs[1], logs[0] if d.logx is None else d.logx)
        return axes.scatter(*values, c=z, norm=norm, cmap="viridis", s=18)
    logs = [is_geometric(values[0]) if d.logx is None else d.logx, is_geometric(values[1])]
    set_scale(axes, logs[1], logs[0])
    return draw_map(axes, *map(edges_around, values, logs), np.ma.masked_invalid(z.T), norm)


def _maps(d: Drawing) -> Figure:
    s = d.of
    x, y = s.parameters if "point" in s.axes else s.axes
    figure, axes = d.panels(x, y, panel=(3.4, 2.3))
    for name, a in zip(d.names, axes):
        z = s.shown(name)
        mesh = _map(a, d, x, y, z, colours_for(z, d.log))
        add_colour_bar(figure, mesh, a, s.shown_label(name))
    return d.end(figure, s.title(d.names))


def _multiples(d: Drawing) -> Figure:
    """Maps of the last two axes, a row for each name, a column for each value of the first."""
    s, (third, *plane) = d.of, d.of.axes
    names, values = d.names, s.data[third].values
    shown = spread(len(values), 5)
    is_short = len(third) <= 10  # beside its value above a panel; else the title names it once
    notes = [d.more, "" if is_short else f"columns: {third}",
             f"{len(shown)} of {len(values)} {third}" if len(shown) < len(values) else ""]
    above = Numbers().format_ticks(values)
    figure, grid = d.page.begin(len(names), len(shown),
                                (1.6 + 1.9 * len(shown), 1.4 + 1.8 * len(names)))
    for name, row in zip(names, grid):
        z = s.shown(name)
        norm = colours_for(z, d.log)
        for a, i in zip(row, shown):
            mesh = _map(a, d, *plane, z[i], norm)
            a.tick_params(labelsize=SMALL, labelbottom=name == names[-1], labelleft=i == 0)
            if name == names[0]:
                a.set_title(one_line(f"{third} = {above[i]}" if is_short else above[i]), loc="left",
                            fontsize=9)
        label = s.shown_label(name)
        add_colour_bar(figure, mesh, row, f"{name}: {label}" if name in s.species else label)
    figure.supxlabel(one_line(plane[0]), fontsize=10)
    figure.supylabel(one_line(plane[1]), fontsize=10)
    return d.page.end(figure, s.title(names), ", ".join(n for n in notes if n))


def _design(d: Drawing) -> Figure:
    """The points of a design, over each of its parameters."""
    s, (name,) = d.of, d.names
    shown, _ = first(s.parameters, MOST_PANELS)
    one = len(shown) == 1
    is_sd = s.statistic == "sd"
    figure, axes = make_panels(d.page, [""] if one else shown, shown[0] if one else "parameter",
                               d.sd_label if is_sd else f"mean ± sd of {name}", shared=False)
    points = (s.shown(name),) if is_sd else s(name)
    for p, a in zip(shown, axes):
        a.errorbar(s.data[p].values, *points, fmt="o", markersize=3, elinewidth=0.7,
                   color=COLOURS[0])
        set_scale(a, d.log, is_geometric(s.data[p].values) if d.logx is None else d.logx)
    return d.end(figure, s.title([name]))
