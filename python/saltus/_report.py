"""A result or a sweep as one page for a browser: what report.html says and shows."""
from __future__ import annotations

import base64
import contextlib
import html
import importlib.resources
import json
import math
import os
import re
import zlib
from typing import Any, Iterator, Optional, Sequence, Union

import numpy as np

from ._errors import Error, FileError, InvalidError, need
from ._result import Result, sources
from ._series import (BAND, COLOURS, Sweep, distributions, edges_around, first, is_geometric,
                      mean_profile, moving, spread)

# What a page holds at most, so that it stays small whatever the size of a file.
MOST_NAMES, MOST_TIMES, MOST_STEPS, MOST_RUNS, MOST_ROWS = 30, 301, 61, 10, 200
FINE_BINS, MOST_BINS = 1000, 60  # to find quantiles in; shown
RANGES_APART = 20.0  # names of too different sizes are not shown together at first
MOST_CELLS, MOST_NUMBERS = 16_000, 500_000  # of a map; of all maps of a sweep
FACTS = ("trajectories", "first_trajectory", "runs_per_point", "method", "device", "layout", "rng",
         "seed", "record", "volumes", "events", "seconds", "started", "options", "saltus_version",
         "model_sha256")


def report(data: Any, path: Union[str, os.PathLike], *, title: Optional[str] = None) -> None:
    """Write a page of a Result, or of a sweep's xarray.Dataset. It takes the place of an existing
    file when it is whole."""
    offline = need("plotly.offline", "report", "pip install 'saltus[report]'")
    if not isinstance(data, Result) and not hasattr(data, "data_vars"):
        raise InvalidError(f"report shows a Result or a Dataset, not {type(data).__name__}")
    with np.errstate(all="ignore"):  # observables may be infinite
        parts = {**_parts(data, title), "plotly": _pack(offline.get_plotlyjs())}
    template = importlib.resources.files("saltus").joinpath("report.html").read_text("utf-8")
    text = re.sub(r"\{\{(\w+)\}\}", lambda m: parts[m[1]], template)
    path = os.path.realpath(os.fspath(path))
    temporary = os.path.join(os.path.dirname(path), f".saltus-report-{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            file.write(text.encode("utf-8", "replace"))
        os.replace(temporary, path)
    except BaseException as failure:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if not isinstance(failure, OSError):
            raise
        raise FileError(f"{path}: cannot be written: {failure.strerror}") from failure


# Texts and numbers ------------------------------------------------------------------------------

def _pack(text: str) -> str:
    return base64.b64encode(zlib.compress(text.encode("utf-8", "replace"), 9)).decode()


def _numbers(a: Any, digits: int = 4) -> Any:
    """Lists, short to write; None where there is no finite number."""
    a = np.asarray(a, dtype=float)
    if a.ndim > 1:
        return [_numbers(row, digits) for row in a]
    return [None if not math.isfinite(v) else int(v) if v.is_integer() and abs(v) < 1e15
            else float(f"{v:.{digits}g}") for v in a.tolist()]


def _short(v: Any) -> str:
    """A number of four digits, or a whole one; a text as it is."""
    if isinstance(v, str):
        return v
    if not math.isfinite(v):
        return "none" if math.isnan(v) else "∞" if v > 0 else "−∞"
    size = math.floor(math.log10(abs(v))) if v else 0
    text = f"{v:,.{max(0, 3 - size)}f}" if -4 <= size < 9 or v == int(v) else f"{v:.4g}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]], kind: str, title: str = "") -> str:
    left = [f"… and {len(rows) - MOST_ROWS:,} more"] if len(rows) > MOST_ROWS else []
    lines = [("th", head)] * bool(head) + [("td", r) for r in [*rows[:MOST_ROWS], left] if r]
    return (f"<h2>{html.escape(title)}</h2>\n" if title else "") + (
        f'<div class="{kind}"><table>\n' + "".join(
            "<tr>" + "".join(f"<{tag}>{html.escape(_short(c))}</{tag}>" for c in cells) + "</tr>\n"
            for tag, cells in lines) + "</table></div>\n")


def _parts(data: Any, title: Optional[str]) -> dict[str, str]:
    """Of the template, by their names."""
    is_run, a = isinstance(data, Result), data.attrs
    unit = a.get("time_unit") if is_run else data["time"].attrs.get("units")
    unit = ("s" if "spacing" in a else "") if unit in (None, "", "1") else unit
    times = data.time if is_run else data["time"].values
    names, on, figures, table = (_of_result if is_run else _of_sweep)(data, unit)
    runs, warnings, model, about = a.get("trajectories", 0), [], _model_of(data), ""
    if not a.get("complete", True):
        warnings.append(f"Not complete: {runs:,} of {a['requested']:,} trajectories are here." +
                        " Those that take long may be missing more often." * is_run)
    if a.get("n_shards"):
        warnings.append(f"One part of {a['n_shards']}: the others are not in here.")
    if model is not None:
        warnings += model.warnings
        about = (f"<details><summary>The model as it was read</summary>\n<pre>"
                 f"{html.escape(model.info())}</pre></details>\n")
    facts = [["command" if key == "options" else key.replace("_", " "), str(a[key]) if key == "seed" else a[key]]
             for key in FACTS if a.get(key, "") != ""]
    name, span = str(a.get("model", "sweep")), f"{_short(times[0])} to {_short(times[-1])} {unit}"
    what = f"{runs:,} trajector{'y' if runs == 1 else 'ies'}" if is_run else "a sweep"
    return {"title": html.escape(name if title is None else title), "model": about, "table": table,
            "about": html.escape(("" if title is None else name + ": ") + what +
                                 f", {len(times):,} times from {span}"),
            "warnings": "".join(f'<p class="warning">{html.escape(w)}</p>\n' for w in warnings),
            "run": _table([], facts, "pairs"),
            "data": _pack(json.dumps({"names": names, "on": on, "colours": COLOURS,
                                      "figures": figures}, separators=(",", ":"), default=np.generic.item))}


def _model_of(data: Any) -> Any:
    """The model that was simulated, if it is known and can be read here."""
    from ._model import read
    if isinstance(data, Result) and data._origin is not None:
        return data._origin.model
    path = data.path if isinstance(data, Result) else data.encoding.get("source")
    with contextlib.suppress(Error, OSError, LookupError):  # a file need not hold it
        return read(sources(path)[0]) if path else None
    return None


# What figures show ------------------------------------------------------------------------------
# A figure has a kind, which report.html draws, and data, nested in the order of its controls.

def _figure(title: str, kind: str, x: str, y: str, data: Any, *controls: Any, **more: Any) -> Any:
    return {"title": title, "kind": kind, "x": x, "y": y, "data": data, "controls": controls,
            "height": 380, **more}


def _select(options: Sequence[str]) -> dict[str, Any]:
    return {"label": "", "type": "select", "options": list(options), "value": 0}


def _slider(label: str, values: Any, unit: str, at: int = -1) -> dict[str, Any]:
    return {"label": label, "type": "range", "value": at % len(values),
            "options": [f"{_short(v)} {unit}".strip() for v in values]}


def _of_result(r: Any, unit: str) -> tuple[list[str], list[int], list[Any], str]:
    """Names that can be switched, which are on at first, figures, and a table."""
    runs, kept, figures = r.attrs["trajectories"], r.attrs["record"], []
    if not runs:
        return [], [], [], ""
    names, more = first(moving(r), MOST_NAMES)
    at, t = [r.columns.index(name) for name in names], spread(len(r.time), MOST_TIMES)
    points, time = t[-1:] if kept == "final" else t, _numbers(r.time[t], 7)
    fine = distributions(r, [n for n in names if n in r.species or kept != "histogram"], points,
                         FINE_BINS) if kept != "stats" and runs > 1 else {}
    value = "molecules" if set(names) <= set(r.species) else "value"
    tops = np.nan_to_num(r.max()[:, at].max(axis=0), posinf=0.0)
    time_label = f"time ({unit})" if unit else "time"
    if len(t) > 1 and runs > 1:
        mean, sd = r.mean()[t][:, at].T, np.sqrt(r.var())[t][:, at].T
        bands = [[_quantile(*fine[n], q) for q in BAND] if kept == "all" else [m - s, m + s]
                 for n, m, s in zip(names, mean, sd)]
        figures.append(_figure(
            "Means over time", "lines", time_label, value, [
                _numbers([m, *b], 5) for m, b in zip(mean, bands)], at=time, note="Bands hold " + (
                "5 % to 95 % of the runs. " if kept == "all" else "mean ± sd. ") + more))
    if fine:
        steps = spread(len(points), MOST_STEPS)
        coarse = {n: _coarse(*d) for n, d in fine.items()}
        figures.append(_figure(
            "Distributions", "bars", value, "fraction of runs per " +
            ("molecule" if value == "molecules" else "unit"),
            [[{**c, "parts": c["parts"][i]} if (c := coarse.get(n)) else None for n in names]
             for i in steps], _slider("time", r.time[points[steps]], unit)))
    if kept == "all" and len(t) > 1:
        rows = [r._source.row(a, slice(MOST_RUNS)) for a in ("counts", "observables")]
        x = np.concatenate([a for a in rows if a is not None and a.size], axis=-1)[:, t][..., at]
        x = np.pad(x.astype(float), ((0, 0), (0, 1), (0, 0)), constant_values=np.nan)
        figures.append(_figure(  # one after the other, with a gap behind each
            "Trajectories" if len(x) > 1 else "Trajectory", "lines", time_label, value,
            [[_numbers(x[..., k].ravel())] for k in range(len(names))], at=[*time, None] * len(x),
            note=more if runs == 1 else f"The first {len(x)}. {more}", thin=len(x) > 3,
            texts=[f"trajectory {i}: " for i in r._source.row("trajectories", slice(MOST_RUNS))
                   for _ in range(len(t) + 1)]))
    if r.derived_names:
        figures.append(_figure(
            "Quantities of each trajectory", "bars", "value", "fraction of runs per unit",
            [[_histogram(x[np.isfinite(x)])] for x in r.derived.values()], _select(r.derived_names), free=True))
    figures += _of_lattice(r, unit, time_label)
    last = {"mean": r.mean(), "sd": np.sqrt(r.var()), "Fano": r.fano(), "least": r.min(),
            "greatest": r.max()} if runs > 1 else {"value": r.mean()}
    levels = {"5 %": 0.05, "median": 0.5, "95 %": 0.95} if fine else {}
    rows = [[name, *[v[-1, i] for v in last.values()],
             *[_quantile(fine[name][0], fine[name][1][-1:], q)[0] if name in fine else ""
               for q in levels.values()]] for i, name in enumerate(r.columns)]
    on = [k for k, top in enumerate(tops) if top * RANGES_APART >= tops.max()][:len(COLOURS)]
    return names, on, figures, _table(["", *last, *levels], rows, "numbers",
                                      f"At time {_short(r.time[-1])} {unit}")


def _quantile(edges: np.ndarray, parts: np.ndarray, q: float) -> np.ndarray:
    """Of each row of fractions in bins, whose edges lie between counts or are any numbers."""
    below, rows = np.cumsum(parts, axis=1), np.arange(len(parts))
    i = np.minimum((below < q - 1e-9).sum(axis=1), parts.shape[1] - 1)
    width, part = edges[i + 1] - edges[i], parts[rows, i]
    x = edges[i] + width * np.clip((q - below[rows, i] + part) / np.maximum(part, 1e-300), 0, 1)
    is_count = (abs(edges % 1) == 0.5).all()
    return np.clip(np.round(x), edges[i] + 0.5, edges[i + 1] - 0.5) if is_count else x


def _coarse(edges: np.ndarray, parts: np.ndarray) -> dict[str, Any]:
    """Fewer bins."""
    step = math.ceil(parts.shape[1] / MOST_BINS)
    parts = np.pad(parts, ((0, 0), (0, -parts.shape[1] % step))).reshape(len(parts), -1, step)
    edges = edges[0] + step * (edges[1] - edges[0]) * np.arange(parts.shape[1] + 1)
    return {"edges": _numbers(edges, 7), "parts": _numbers(parts.sum(axis=2))}


def _histogram(x: np.ndarray) -> dict[str, Any]:
    n, edges = np.histogram(x, min(MOST_BINS, max(5, int(math.sqrt(len(x))))))
    return {"edges": _numbers(edges, 5), "parts": _numbers(n / max(len(x), 1))}


def _of_lattice(r: Any, unit: str, time_label: str) -> Iterator[Any]:
    """Profiles over time, the mean of all runs, and sites of the first."""
    spacing, profile = 1e6 * r.attrs.get("spacing", 0.0), np.zeros(0)
    with contextlib.suppress(InvalidError):
        profile = mean_profile(r)
    if profile.ndim == 3 and len(profile) > 1:
        t, planes = spread(len(profile), 121), spread(profile.shape[1], 128)
        yield _figure("Along the lattice", "map", time_label, "position (µm)",
                      _numbers(profile[t][:, planes].transpose(2, 1, 0)), _select(r.species),
                      at=_numbers(edges_around(r.time[t]), 6), zs={"zmin": 0},
                      up=_numbers(spacing * edges_around(planes + 0.5), 6),
                      note="Molecules in a plane, the mean of all runs.")
    there = r._source.row("there", 0) if len(r.frame_times) else np.zeros(0)
    shown = spread(len(r.frame_times), 21) if there is None else np.flatnonzero(there)
    shown = shown[spread(len(shown), 21)]
    frames = [r._source.row("frames", (0, i)) for i in shown]
    if not frames:
        return
    axes = np.argsort(frames[0].shape[:3], kind="stable")  # seen along the shortest
    along, up, across = ("zyx"[i] for i in axes)
    middle, rows, columns = (n if i else n // 2 for i, n in enumerate(frames[0][..., 0].transpose(
        axes).shape))
    step = math.ceil(columns / 128)
    views = {f"summed along {along}": lambda x: x.sum(axis=0, dtype=int),
             f"plane {along} = {middle}": lambda x: x[middle]}
    yield _figure("Sites", "map", f"{across} (µm)", f"{up} (µm)",
                  [[[_numbers(_squares(view(f[..., k].transpose(axes)), step)) for f in frames]
                    for view in views.values()] for k in range(frames[0].shape[3])],
                  _select(r._frame_species()), _select(list(views)),
                  _slider("time", np.asarray(r.frame_times)[shown], unit), zs={"zmin": 0},
                  at=_numbers(spacing * step * np.arange(math.ceil(columns / step) + 1), 6),
                  up=_numbers(spacing * step * np.arange(math.ceil(rows / step) + 1), 6),
                  equal=rows > 0.1 * columns,
                  height=int(max(110 + 560 * rows / columns, 240)),
                  note="Molecules in the sites of the first trajectory.")


def _squares(a: np.ndarray, step: int) -> np.ndarray:
    """Sums over squares of sites."""
    a = np.pad(a, [(0, -n % step) for n in a.shape])
    return a.reshape(len(a) // step, step, -1, step).sum(axis=(1, 3))


def _of_sweep(data: Any, unit: str) -> tuple[list[str], list[int], list[Any], str]:
    """Means and more at the points, of fewer where there are too many."""
    s, inner = Sweep(data, None), ("time", "species", "observable", "run")
    axes = s.axes or [a for a in data.dims if a not in inner][:1]
    at = {a: spread(data.sizes[a], max(2, int(MOST_CELLS ** (1 / len(axes))))) for a in axes}
    thin = data.isel({**{d: 0 for d in data.dims if d not in inner}, **at})
    most = MOST_NUMBERS // (3 * math.prod(map(len, at.values())))
    names, more = first(s.species + s.observables, max(1, min(MOST_NAMES, most)))
    n = data.sizes["time"]
    times = n - 1 - spread(n, max(1, min(MOST_STEPS, most // len(names))))[::-1]  # with the last
    behind = axes[:-2] + axes[:-3:-1]  # a map's x is its last index
    values = {}  # mean and variance, [time, axis …]
    for name in names + s.derived:
        v, prefix = thin.get(name), "" if name in s.species else "observable_"
        dim = "species" if name in s.species else "observable"
        pair = ([v.mean("run"), v.var("run", ddof=min(1, v.sizes["run"] - 1))] if name in s.derived
                else [thin[prefix + what].sel({dim: name}).isel(time=times).transpose("time", ...)
                      for what in ("mean", "variance")])
        values[name] = [a.transpose(..., *behind).values.reshape(-1, *(len(at[b]) for b in behind))
                        for a in pair]
    measures = {"mean": lambda m, v: m, "standard deviation": lambda m, v: np.sqrt(v),
                "Fano factor": lambda m, v: v / m}
    is_design = "point" in axes
    title = "Over the points" if is_design else "Over the values"
    over = {a: thin[a].values for a in (s.parameters if is_design else axes)}
    logs = {a: bool(is_geometric(v)) for a, v in over.items()}
    controls = [_select(list(measures)), _slider("time", data["time"].values[times], unit)]
    more += " Fewer points are shown than there are." * (math.prod(
        len(i) for i in at.values()) < math.prod(data.sizes[a] for a in axes))
    table = _table(["", "from", "to", "values"], [
        [a, v.min(), v.max(), len(np.unique(v))] for a, v in over.items()], "numbers", "What varied")
    if len(over) == 1:
        (x, v), = over.items()
        lines = [[[[f(m, w)] + [m - np.sqrt(w), m + np.sqrt(w)] * (how == "mean")
                   for m, w in values.values()]] for how, f in measures.items()]
        return list(values), list(range(min(len(names), 8))), [_figure(
            title, "lines", x, "molecules" if list(values) == s.species else "value",
            [[[_numbers([row[min(i, len(row) - 1)] for row in rows]) for rows in each]
              for i in range(len(times))] for each, in lines], *controls, at=_numbers(v, 6),
            logx=logs[x], mode="markers" if is_design else "lines+markers",
            note="Bands are mean ± sd. " + more)], table
    *others, y, x = list(over)[1::-1] if is_design else behind
    edges = (lambda v, log: v) if is_design else edges_around
    return [], [], [_figure(
        title, "dots" if is_design else "map", x, y,
        [[_numbers(f(m, v)) for f in measures.values()] for m, v in values.values()],
        _select(list(values)), *controls, *(_slider(a, over[a], "", 0) for a in others), note=more,
        at=_numbers(edges(over[x], logs[x]), 7), logx=logs[x],
        up=_numbers(edges(over[y], logs[y]), 7), logy=logs[y])], table
