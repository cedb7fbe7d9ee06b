"""What is taken out of results and sweeps to be shown, by numpy alone. A result of a file is read a
part at a time."""
from __future__ import annotations

import html
import math
import re
import warnings
from typing import Any, Optional, Sequence, Union

import numpy as np

from ._errors import InvalidError, near, number, split

# Okabe & Ito, Color Universal Design (2008); yellow, the faintest on white, is the last.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
BAND = (0.05, 0.95)
FINE_BINS = 1000  # to find quantiles in,
MANY_SAMPLES = 2_000_000  # of so many at least, since files may be large
MOST_VALUE = 1e300  # beyond, matplotlib fails
RANGES_APART = 20.0  # from here on series are not shown together
NOT_XML = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
Names = Union[str, Sequence[str], None]


def one_line(text: object) -> str:
    """A text in one line, with blanks for what XML has no character for."""
    return " ".join(NOT_XML.sub(" ", str(text)).split())


def short(v: Any) -> str:
    """A number of four digits, or a whole one; a text as it is."""
    if isinstance(v, str):
        return v
    if not math.isfinite(v):
        return "none" if math.isnan(v) else "∞" if v > 0 else "−∞"
    size = math.floor(math.log10(abs(v))) if v else 0
    is_plain = -4 <= size < 9 or (v == int(v) and size < 21)
    text = f"{v:,.{max(0, 3 - size)}f}" if is_plain else f"{v:.4g}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


def table(rows: Sequence[Sequence[Any]], head: Sequence[str] = (), title: str = "", kind: str = "",
          most: int = 200) -> str:
    """HTML of rows of texts and numbers, the first ones of very many."""
    left = [[f"… and {len(rows) - most:,} more"]] * (len(rows) > most)
    lines = [("th", head)] * bool(head) + [("td", row) for row in [*rows[:most], *left]]
    cells = ("".join(f"<{tag}>{html.escape(short(c))}</{tag}>" for c in row) for tag, row in lines)
    return (f"<h2>{html.escape(title)}</h2>\n" * bool(title) + f'<div class="{kind}"><table>\n' +
            "".join(f"<tr>{line}</tr>\n" for line in cells) + "</table></div>\n")


def named(given: Names, names: Sequence[str], what: str) -> list[str]:
    chosen = split(given) if isinstance(given, str) and given else list(given or ())
    for name in chosen:
        if name not in names:
            raise near(what, name, names)
    return chosen


def first(names: list[str], most: int) -> tuple[list[str], str]:
    """As many names as can be shown, and what to say when these are not all."""
    return names[:most], f"{most} of {len(names)} shown" if len(names) > most else ""


def nearest(name: str, times: Sequence[float], time: Optional[float]) -> int:
    """The index of the time nearest to an argument's, or the last."""
    if time is None:
        return len(times) - 1
    if not np.isfinite(number(name, time)):
        raise InvalidError(f"{name}={time} is no time")
    return int(np.argmin(np.abs(np.asarray(times) - time)))


def spread(n: int, most: int) -> np.ndarray:
    """Up to so many of n indices, equally spaced, both ends among them."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(int))


def is_geometric(values: np.ndarray) -> bool:
    """Whether values rise in equal ratios, or lie more evenly on a logarithmic axis than on a linear
    one, as those of a design."""
    if len(values) < 3 or not (values > 0).all() or values.max() == values.min():
        return False

    def unevenness(x: np.ndarray) -> float:  # as Kolmogorov and Smirnov measure it
        x = np.sort(x)
        return float(np.abs((x - x[0]) / (x[-1] - x[0]) - np.linspace(0.0, 1.0, len(x))).max())
    linear, log = unevenness(values), unevenness(np.log(values))
    return log < linear and (log < 1e-6 or (len(values) > 4 and values.max() >= 3.0 * values.min()))


def edges_around(middles: np.ndarray, log: bool = False) -> np.ndarray:
    """The edges of cells around rising middles, which on a logarithmic axis may begin with 0."""
    if log and len(middles) > 1 and middles[0] == 0.0 < middles[1]:
        return np.append(0.0, edges_around(middles[1:], True))
    log = log and bool((middles > 0).all())
    m = np.log(middles) if log else np.asarray(middles, dtype=float)
    if len(m) == 1:
        e = np.array([m[0] - 0.5, m[0] + 0.5])
    else:
        e = np.concatenate([[1.5 * m[0] - 0.5 * m[1]], (m[1:] + m[:-1]) / 2,
                            [1.5 * m[-1] - 0.5 * m[-2]]])
    return np.exp(e) if log else e


def time_unit(data: Any) -> str:
    """That of a Result's or a sweep's times, a lattice's being s; empty where none is known."""
    unit = (data.attrs.get("time_unit") if isinstance(data.time, np.ndarray) else
            data["time"].attrs.get("units"))
    known = "" if unit in (None, "1") else unit
    return known or ("s" if "spacing" in data.attrs else "")


def partly(attrs: Any) -> str:
    """What a title says of a result or a sweep that is not whole."""
    parts = attrs.get("n_shards", 0)
    return (", incomplete" if not attrs.get("complete", True) else
            f", one part of {parts}" if parts else "")


def chosen(known: Sequence[str], first_ones: Sequence[str], most: int) -> tuple[list[str], str]:
    """So many names of those that come first, in their own order, and what to say when these are
    not all that are known."""
    shown = [n for n in known if n in set(first_ones[:most])]
    return shown, f"{len(shown)} of {len(known)} shown" if len(first_ones) > len(shown) else ""


def moving(r: Any) -> list[str]:
    """Columns that change, those that change most first, or all of them if none does."""
    low, high = (np.where(np.isfinite(x), x, np.nan) for x in (r.min(), r.max()))
    with warnings.catch_warnings():  # a column may have no finite value
        warnings.simplefilter("ignore", RuntimeWarning)
        low, high = np.nan_to_num(np.nanmin(low, axis=0)), np.nan_to_num(np.nanmax(high, axis=0))
    moves = np.flatnonzero(differ(low, high))
    order = np.argsort((low - high)[moves], kind="stable")
    return [r.columns[i] for i in moves[order]] or r.columns


def differ(low: Any, high: Any) -> Any:
    """Whether numbers differ by more than rounding, as those of a sum that is conserved may."""
    return high - low > np.maximum(1e-12 * np.maximum(np.abs(low), np.abs(high)), 1e-300)


def check_size(*values: Any) -> None:
    """Refuse what no axis can show."""
    if not all((np.abs(x) < MOST_VALUE).all() for x in values):
        raise InvalidError(f"values of {MOST_VALUE:g} and more cannot be drawn",
                           "other columns can be asked for by their names")


def are_whole(x: np.ndarray) -> bool:
    """Whether all finite numbers are whole ones, and exact."""
    x = x[np.isfinite(x)]
    return bool((x % 1.0 == 0.0).all() and (np.abs(x) < 2.0**53).all())


def even_edges(low: Any, high: Any, n: int) -> np.ndarray:
    """Edges of n equal bins for real numbers from low to high, which may be arrays: [..., bin + 1].
    """
    low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    check_size(low, high)
    wide = low + np.maximum(1.0, 1e-6 * np.abs(low))
    return np.linspace(low, np.where(differ(low, high), high, wide), n + 1, axis=-1)


def whole_edges(low: Any, high: Any, most: int) -> np.ndarray:
    """Edges, between counts, of at most so many bins for counts from low to high, which may be
    arrays: [..., bin + 1]."""
    low, high = np.asarray(low), np.asarray(high)
    step = np.maximum(1, np.ceil((high - low + 1) / most))[..., np.newaxis]
    n = int(np.max((high - low)[..., np.newaxis] // step)) + 1
    return low[..., np.newaxis] - 0.5 + step * np.arange(n + 1)


def _whole(r: Any, names: Sequence[str], points: Sequence[int]) -> set[str]:
    """Those columns that hold whole numbers alone, at some points."""
    ends = np.stack([r.min(), r.max()])[:, points]
    found = {n for n in names if n not in r.species and are_whole(ends[..., r.columns.index(n)])}
    for x in r.blocks("observables") if found else ():
        x = x[:, np.newaxis] if x.ndim == 2 else x[:, points]
        found = {n for n in found if are_whole(x[..., r.observables.index(n)])}
        if not found:
            break
    return found.union(n for n in names if n in r.species)


def _edges(r: Any, name: str, points: Sequence[int], most: int, is_whole: bool,
           each: bool = False) -> np.ndarray:
    """Edges of at most so many bins for every value of a column at some points, [bin + 1], or at
    each of them, [point][bin + 1]. is_whole: they are whole numbers."""
    ends = np.stack([r.min(), r.max()])[:, points, r.columns.index(name)]
    finite = np.isfinite(ends)
    low, high = (f(np.where(finite, ends, fill), axis=0 if each else None)
                 for f, fill in ((np.min, np.inf), (np.max, -np.inf)))
    known = low <= high  # else there is no finite value
    low, high = np.where(known, low, 0.0), np.where(known, high, 0.0)
    return (whole_edges if is_whole else even_edges)(low, high, most)


def distributions(r: Any, names: Sequence[str], points: Sequence[int],
                  most: int = 60) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Edges of bins, and the fraction of runs in each at some points, [point][bin], by names."""
    found = {}
    if r.attrs["record"] == "histogram":
        for name in [n for n in names if n in r.species]:
            edges, counts = r.histogram(name)
            edges, counts = edges - 0.5 * (edges % 1 == 0).all(), counts[points].astype(float)
            used = np.flatnonzero(counts.any(axis=0))
            if len(used):
                edges, counts = edges[used[0]:used[-1] + 2], counts[:, used[0]:used[-1] + 1]
            found[name] = edges, counts
    others = [n for n in names if n not in found]
    whole = _whole(r, others, points)
    every = {n: _edges(r, n, points, most, n in whole) for n in others}
    for name, counts in _counted(r, every, points).items():
        found[name] = every[name], counts
    runs = max(int(r.attrs["trajectories"]), 1)  # also those in no bin: outside of range=, NaN
    return {name: (edges, n / runs) for name, (edges, n) in found.items()}


def _counted(r: Any, edges: dict[str, np.ndarray], points: Sequence[int]) -> dict[str, np.ndarray]:
    """How many runs are in bins at some points, [point][bin], by names of columns; edges of equal
    bins: [bin + 1], or [point][bin + 1]."""
    found = {name: np.zeros((len(points), e.shape[-1] - 1)) for name, e in edges.items()}
    for array, columns in (("counts", r.species), ("observables", r.observables)):
        wanted = [n for n in edges if n in columns]
        for x in r.blocks(array) if wanted else ():
            x = x[:, np.newaxis] if x.ndim == 2 else x[:, points]
            for name in wanted:
                e, counts = edges[name], found[name]
                n, values = counts.shape[1], x[..., columns.index(name)]
                bins = np.floor((values - e[..., 0]) / (e[..., 1] - e[..., 0]))
                bins[values == e[..., -1]] = n - 1
                every = (bins + n * np.arange(len(points)))[(bins >= 0) & (bins < n)]
                counts += np.bincount(every.astype(np.intp), minlength=counts.size).reshape(-1, n)
    return found


def quantiles(r: Any, names: Sequence[str], points: Sequence[int],
              levels: Sequence[float]) -> dict[str, np.ndarray]:
    """Quantiles of columns over the runs at some points, [level][point], by names: those of
    Result.quantile and `saltus stats`, definition 7 of Hyndman & Fan. Of very many samples they are
    found in bins of each point's own, fine for the values there, and of a histogram in its bins:
    where one of them holds several counts, a value is the least of these. NaN is what the bins do
    not tell: a quantile outside of range=, or any with runs on both sides."""
    n, found = int(r.attrs["trajectories"]), {}
    if r.attrs["record"] == "histogram":
        for name, (e, parts) in distributions(r, names, points).items():
            low, high = (f()[points, r.columns.index(name)] for f in (r.min, r.max))
            counts = np.rint(parts * n)
            below = np.where(low < e[0], n - counts.sum(axis=1), 0.0)
            below[(low < e[0]) & (high > e[-1])] = np.nan
            found[name] = _quantile(n, levels,
                                    lambda k: _in_bins(e, counts, below, k, is_least=True))
    elif n * len(points) <= MANY_SAMPLES:
        for name, x in _samples(r, names, points).items():
            x = np.sort(x, axis=0)
            found[name] = np.where(np.isnan(x[-1]), np.nan, _quantile(n, levels, lambda k: x[k]))
    else:
        every = _whole(r, names, points)
        edges = {name: _edges(r, name, points, FINE_BINS, name in every, each=True)
                 for name in names}
        for name, counts in _counted(r, edges, points).items():
            e, whole = edges[name], name in every
            low, high = (f()[points, r.columns.index(name)] for f in (r.min, r.max))
            x = _quantile(n, levels, lambda k: _in_bins(e, counts, np.zeros(len(counts)), k, whole))
            found[name] = np.clip(x, low, high)
    return found


def _quantile(n: int, levels: Sequence[float], order: Any) -> np.ndarray:
    """Between the order statistics beside (n - 1) q, [level][point]; order gives the k-th values,
    from 0."""
    found = []
    for at in (n - 1) * np.asarray(levels, dtype=float):
        k, share = int(at), at - int(at)
        low, high = order(k), order(min(k + 1, n - 1))
        with np.errstate(invalid="ignore"):
            found.append(np.where((share > 0) & (high != low), low + share * (high - low), low))
    return np.array(found)


def _in_bins(edges: np.ndarray, counts: np.ndarray, below: np.ndarray, k: int,
             is_whole: bool = False, is_least: bool = False) -> np.ndarray:
    """The k-th values, from 0, of numbers in bins, [point]; NaN outside of these. Several in one bin
    lie at equal distances, as whole numbers, or all at the least whole one."""
    x = np.full(len(counts), np.nan)
    for i, row in enumerate(counts):
        upto = below[i] + np.cumsum(row)
        b = int(np.searchsorted(upto, k, side="right"))
        if k >= below[i] and b < len(row):
            low, high = (edges[i] if edges.ndim == 2 else edges)[b:b + 2]
            x[i] = low + (k - upto[b] + row[b] + 0.5) / row[b] * (high - low)
            x[i] = np.ceil(low) if is_least else np.rint(x[i]) if is_whole else x[i]
    return x + 0.0  # no -0


def _samples(r: Any, names: Sequence[str], points: Sequence[int]) -> dict[str, np.ndarray]:
    """Values of columns, [run][point], by names."""
    found = {}
    for array, columns in (("counts", r.species), ("observables", r.observables)):
        wanted = [n for n in names if n in columns]
        parts = [(x[:, np.newaxis] if x.ndim == 2 else x[:, points])[
            ..., [columns.index(n) for n in wanted]] for x in (r.blocks(array) if wanted else ())]
        found.update({n: np.concatenate([x[..., i] for x in parts]).astype(float)
                      for i, n in enumerate(wanted) if parts})
    return found


def _with_axes(data: Any) -> Any:
    """A sweep, of which one species, observable or time may have been taken out, with these axes."""
    for dim, names in (("species", ("mean", "variance", "counts")),
                       ("observable", ("observable_mean", "observable_variance")),
                       ("time", ("mean", "variance", "counts", "observable_mean",
                                 "observable_variance"))):
        if dim in data.coords and dim not in data.dims:
            taken = {n: data[n].expand_dims(dim) for n in names if n in data}
            data = data.drop_vars([dim, *taken]).assign(taken)
    return data


class Sweep:
    """Means over the runs at the points of a sweep, and what spans them."""

    def __init__(self, data: Any, time: Optional[float], statistic: str = "mean") -> None:
        if statistic not in ("mean", "sd"):
            raise near("a sweep's figure", statistic, ("mean", "sd"))
        data = _with_axes(data)
        self.at, self.statistic = nearest("time", data["time"].values, time), statistic
        self.species = data["species"].values.tolist() if "species" in data.coords else []
        self.observables = data["observable"].values.tolist() if "observable" in data.coords else []
        inner = {"time", "species", "observable", "run"}
        self.derived = [name for name, v in data.data_vars.items()
                        if "run" in v.dims and not inner & (set(v.dims) - {"run"})]
        mean = "mean" if self.species else "observable_mean"
        variance = mean.replace("mean", "variance")
        self.is_empty = mean not in data or variance not in data  # nothing was recorded, or kept
        self.every = [] if self.is_empty else [a for a in data[mean].dims if a not in inner]
        self.axes = [a for a in self.every if data.sizes[a] > 1]
        falling = [a for a in self.axes if a in data.coords and (np.diff(data[a].values) < 0).any()]
        self.data = data.sortby(falling) if falling else data  # lists may go up and down
        self.parameters = [c for c, v in data.coords.items()
                           if v.dims == ("point",) and c != "point"]

    def __call__(self, name: str, at: Optional[int] = None) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation, [axis …], at a sample time if not that of the sweep."""
        if name in self.derived:
            v = self.data[name]
            mean = v.mean("run")
            n = v.notnull().sum("run")  # a quantity that nearly no run has has no deviation
            sd = np.sqrt(((v - mean) ** 2).sum("run") / (n - 1).where(n > 1))
            return mean.squeeze().values, sd.where(n > 1, 0.0 * mean).squeeze().values
        prefix, dim = ("", "species") if name in self.species else ("observable_", "observable")
        mean, var = (self.data[prefix + s].sel({dim: name}).isel(
            time=self.at if at is None else at).squeeze().values for s in ("mean", "variance"))
        return mean, np.sqrt(np.maximum(var, 0.0))

    def shown(self, name: str) -> np.ndarray:
        """The statistic that is asked for."""
        return self(name)[self.statistic == "sd"]

    def distributions(self, name: str) -> Optional[tuple[np.ndarray, np.ndarray]]:
        """Edges of bins, and numbers of runs in them along one axis, [value][bin]; None where no
        samples of this species are kept."""
        if name not in self.species or "counts" not in self.data:
            return None
        x = self.data["counts"].sel(species=name)
        runs = (x.isel(time=self.at) if "time" in x.dims else x).squeeze().values
        edges = whole_edges(runs.min(), runs.max(), 60)
        return edges, np.array([np.histogram(row, edges)[0] for row in runs])

    def varied(self) -> list[str]:
        """Species, or else observables, whose means (or what else is shown) vary, those that vary
        most first, or all of them if none does."""
        means = {name: self.shown(name) for name in self.species or self.observables}
        ends = {name: (np.nanmin(x), np.nanmax(x)) for name, x in means.items()
                if not np.isnan(x).all()}
        spans = {name: high - low for name, (low, high) in ends.items() if differ(low, high)}
        return sorted(spans, key=lambda name: -spans[name]) or list(means)

    def shown_label(self, name: str) -> str:
        return self.statistic + (" molecules" if name in self.species else f" of {name}")

    def title(self, names: Sequence[str]) -> str:
        about = str(self.data.attrs.get("model", "sweep"))
        if not set(names) <= set(self.derived):
            about = (f"{about} at time {self.data['time'].values[self.at]:g} "
                     f"{time_unit(self.data)}").strip()
        return about + partly(self.data.attrs)
