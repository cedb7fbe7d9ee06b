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
from typing import Any, Iterator, Optional

import numpy as np

from ._arrays import sources
from ._errors import Error, InvalidError, need, text
from ._files import Path, any_path, publish
from ._result import Result
from ._series import (BAND, COLOURS, FINE_BINS, MOST_VALUE, RANGES_APART, Sweep, distributions,
                      edges_around, first, is_geometric, moving, quantiles, short, spread, table,
                      time_unit)

# What a page holds at most, so that it stays small whatever the size of a file.
MOST_NAMES, MOST_TIMES, MOST_STEPS, MOST_RUNS = 30, 301, 61, 10
MOST_BINS = 60  # shown
MOST_CELLS, MOST_NUMBERS = 16_000, 500_000  # of a map; of all maps of a sweep
LEVELS = (BAND[0], 0.5, BAND[1])
NOTHING = {"names": [], "on": [], "figures": [], "table": ""}
FACTS = ("model", "trajectories", "first_trajectory", "runs_per_point", "method", "device",
         "layout", "rng", "seed", "record", "volumes", "events", "seconds", "started", "options",
         "saltus_version", "model_sha256")


def report(data: Any, path: Path, *, title: Optional[str] = None) -> None:
    """Write a page of a Result, or of a sweep's xarray.Dataset. It takes the place of an existing
    file when it is whole."""
    offline = need("plotly.offline", "report", "pip install 'saltus[report]'")
    name = any_path("path", path)
    if title is not None:
        text("title", title)
    if os.path.splitext(name)[1].lower() not in (".html", ".htm"):
        raise InvalidError(f"{name}: a page is .html or .htm")
    if not isinstance(data, Result) and not (
            hasattr(data, "data_vars") and ("mean" in data or "observable_mean" in data or
                                            "runs_per_point" in data.attrs)):
        raise InvalidError(f"report shows a Result or a sweep's Dataset, not {type(data).__name__}")
    with np.errstate(all="ignore"):  # observables may be infinite
        parts = {**_parts(data, title), "plotly": _pack(offline.get_plotlyjs())}
    template = importlib.resources.files("saltus").joinpath("report.html").read_text("utf-8")
    page = re.sub(r"\{\{(\w+)\}\}", lambda m: parts[m[1]], template)
    publish(path, page.encode("utf-8", "replace"))


def _pack(text: str) -> str:
    return base64.b64encode(zlib.compress(text.encode("utf-8", "replace"))).decode()


def _numbers(a: Any, digits: int = 4) -> Any:
    """Lists, short to write; None where there is no finite number."""
    a = np.asarray(a, dtype=float)
    if a.ndim > 1:
        return [_numbers(row, digits) for row in a]
    return [None if not math.isfinite(v) else int(v) if v.is_integer() and abs(v) < 1e15
            else float(f"{v:.{digits}g}") for v in a.tolist()]


def _parts(data: Any, title: Optional[str]) -> dict[str, str]:
    """Of the template, by their names."""
    is_run, a = isinstance(data, Result), data.attrs
    times = data.time if is_run else np.atleast_1d(data["time"].values)
    unit = time_unit(data)
    shown = dict(_of_result(data, unit) if is_run else _of_sweep(data, unit))
    runs, warnings, model = a.get("trajectories", 0), [], _model_of(data)
    if not a.get("complete", True):
        warnings.append(f"Not complete: {runs:,} of {a['requested']:,} trajectories are here." +
                        " Those that take long may be missing more often." * is_run)
    if a.get("n_shards"):
        warnings.append(f"One part of {a['n_shards']}: the others are not in here.")
    warnings += shown.pop("not_drawn", [])
    warnings += model.warnings if model else []
    facts = [["command" if key == "options" else key.replace("_", " "),
              str(a[key]) if key == "seed" else a[key]] for key in FACTS if a.get(key, "") != ""]
    what = f"{runs:,} trajector{'y' if runs == 1 else 'ies'}, " if runs else ""
    name, span = str(a.get("model", "sweep")), f"{short(times[0])} to {short(times[-1])} {unit}"
    return {"title": html.escape(name if title is None else title), "table": shown.pop("table"),
            "about": html.escape(f"{what}{len(times):,} times from {span}"),
            "warnings": "".join(f'<p class="warning">{html.escape(w)}</p>\n' for w in warnings),
            "run": table(facts, kind="pairs"), "data": _pack(json.dumps(
                {**shown, "colours": COLOURS}, separators=(",", ":"), default=np.generic.item)),
            "model": f"<details><summary>The model as it was read</summary>\n<pre>"
                     f"{html.escape(model.info())}</pre></details>\n" if model else ""}


def _model_of(data: Any) -> Any:
    """The model that was simulated, if it is known and can be read here."""
    from ._read import load
    if isinstance(data, Result) and data._origin is not None:
        return data._origin.model
    path = data.path if isinstance(data, Result) else data.encoding.get("source")
    with contextlib.suppress(Error, OSError, LookupError):  # a file need not hold it
        return load(sources(path)[0]) if path else None
    return None


def _figure(title: str, kind: str, x: str, y: str, data: Any, *controls: Any, **more: Any) -> Any:
    """Of a kind that report.html draws; data are nested in the order of the controls."""
    return {"title": title, "kind": kind, "x": x, "y": y, "data": data, "controls": controls,
            "height": 380, **more}


def _control(options: Any, label: str = "", unit: str = "", at: int = 0) -> dict[str, Any]:
    """A slider, or without a label a list to choose from."""
    texts = [f"{short(v)} {unit}".strip() for v in options]
    return {"type": "range" if label else "select", "label": label, "options": texts,
            "value": at % len(texts)}


def _of_result(r: Any, unit: str) -> dict[str, Any]:
    """Names that can be switched, those that are on at first, figures, and a table."""
    runs, kept, figures = r.attrs["trajectories"], r.attrs["record"], []
    if not runs:
        return _nothing_yet("none of its trajectories has ended")
    if not r.columns:
        return NOTHING
    large = _too_large(r)
    names, more = first([name for name in moving(r) if name not in large], MOST_NAMES)
    at, t = [r.columns.index(name) for name in names], spread(len(r.time), MOST_TIMES)
    points, time = t[-1:] if kept == "final" else t, _numbers(r.time[t], 7)
    fine = distributions(r, [n for n in names if n in r.species or kept != "histogram"], points,
                         FINE_BINS) if kept != "stats" and runs > 1 and names else {}
    spans = quantiles(r, list(fine), points, LEVELS)
    label = f"time ({unit})" if unit else "time"
    value, each = [("value", "unit"), ("molecules", "molecule")][set(names) <= set(r.species)]
    if names and len(t) > 1 and runs > 1:
        mean, sd = r.mean()[t][:, at].T, np.sqrt(r.var())[t][:, at].T
        bands = [spans[n][[0, -1]] if kept == "all" else [m - s, m + s]
                 for n, m, s in zip(names, mean, sd)]
        figures.append(_figure(
            "Means over time", "lines", label, value, [
                _numbers([m, *b], 5) for m, b in zip(mean, bands)], at=time, note="Bands hold " + (
                "5 % to 95 % of the runs. " if kept == "all" else "mean ± sd. ") + more))
    if fine:
        steps, bars = spread(len(points), MOST_STEPS), {n: _coarse(*d) for n, d in fine.items()}
        figures.append(_figure(
            "Distributions", "bars", value, f"fraction of runs per {each}",
            [[{**bars[n], "parts": bars[n]["parts"][i]} if n in bars else None for n in names]
             for i in steps], _control(r.time[points[steps]], "time", unit, -1)))
    if names and kept == "all" and len(t) > 1:
        rows = [r._source.part(a, slice(MOST_RUNS)) for a in ("counts", "observables")]
        x = np.concatenate([a for a in rows if a is not None], axis=-1)[:, t][..., at]
        x = np.pad(x.astype(float), ((0, 0), (0, 1), (0, 0)), constant_values=np.nan)
        figures.append(_figure(  # one after the other, with a gap behind each
            "Trajectories" if runs > 1 else "Trajectory", "lines", label, value,
            [[_numbers(x[..., k].ravel())] for k in range(len(names))], at=[*time, None] * len(x),
            note=more if runs == 1 else f"The first {len(x)}. {more}", thin=len(x) > 3,
            texts=[f"trajectory {i}: " for i in r.trajectories[:MOST_RUNS] for _ in [*t, None]]))
    last = zip(*(v[-1] for v in (r.mean(), np.sqrt(r.var()), r.fano(), r.min(), r.max())))
    ends = {n: x[:, -1] for n, x in spans.items()}
    rows = [[name, *v, *ends.get(name, [v[0]] * (3 if ends and v[3] == v[4] else 0))]
            for name, v in zip(r.columns, last)]
    rows += [[name if len(x) == runs else f"{name}, {len(x):,} runs",
              x.mean(), x.std(ddof=1), "", x.min(), x.max(), *np.quantile(x, LEVELS)]
             for name, x in ((n, x[np.isfinite(x)]) for n, x in r.derived.items()) if len(x) > 1]
    head = ["", "mean", "sd", "Fano", "least", "greatest", "5 %", "median", "95 %"]
    if runs == 1:
        head[1], rows = "value", [row[:2] for row in rows]
    sizes = np.maximum(np.abs(r.min()), np.abs(r.max()))[:, at]
    tops = np.nan_to_num(sizes.max(axis=0), posinf=0.0)
    is_on = tops * RANGES_APART >= tops.max(initial=0.0)
    return {"names": names, "figures": [*figures, *_of_lattice(r, unit, label)],
            "not_drawn": [f"Not drawn, as there are values of {MOST_VALUE:g} and more: "
                          f"{', '.join(large)}."] * bool(large),
            "on": np.flatnonzero(is_on)[:len(COLOURS)].tolist(),
            "table": table(rows, head[:max(map(len, rows))],
                           f"At time {short(r.time[-1])} {unit}", "numbers")}


def _nothing_yet(why: str) -> dict[str, Any]:
    return {**NOTHING, "table": f'<p class="warning">It holds no statistics yet: {why}.</p>\n'}


def _too_large(r: Any) -> list[str]:
    """Columns with values that no axis can show."""
    ends = np.abs([r.min(), r.max()])
    return [r.columns[i] for i in np.flatnonzero(
        (np.isfinite(ends) & (ends >= MOST_VALUE)).any(axis=(0, 1)))]


def _coarse(edges: np.ndarray, parts: np.ndarray) -> dict[str, Any]:
    """Fewer bins."""
    step = math.ceil(parts.shape[1] / MOST_BINS)
    parts = np.pad(parts, ((0, 0), (0, -parts.shape[1] % step))).reshape(len(parts), -1, step)
    edges = edges[0] + step * (edges[1] - edges[0]) * np.arange(parts.shape[1] + 1)
    return {"edges": _numbers(edges, 7), "parts": _numbers(parts.sum(axis=2))}


def _of_lattice(r: Any, unit: str, label: str) -> Iterator[Any]:
    """Profiles over time, the mean of all runs, and sites of the first."""
    spacing, profile = 1e6 * r.attrs.get("spacing", 0.0), np.zeros(0)
    with contextlib.suppress(InvalidError):
        profile = r.mean("profile")
    if profile.ndim == 3 and len(profile) > 1:
        t, planes = spread(len(profile), 121), spread(profile.shape[1], 128)
        yield _figure("Along the lattice", "map", label, "position (µm)",
                      _numbers(profile[t][:, planes].transpose(2, 1, 0)), _control(r.species),
                      at=_numbers(edges_around(r.time[t]), 6), zs={"zmin": 0},
                      up=_numbers(spacing * edges_around(planes + 0.5), 6),
                      note="Molecules in a plane, the mean of all runs.")
    shown = r._frames_there()
    shown, frames = shown[spread(len(shown), 21)], []
    for i in shown:
        x = r._source.part("frames", (0, i))  # [z, y, x, species]
        axes = np.argsort(x.shape[:3], kind="stable")  # seen along the shortest
        x = x.transpose(3, *axes).sum(axis=1, dtype=np.int64)
        rows, columns = (np.arange(0, n, math.ceil(x.shape[2] / 128)) for n in x.shape[1:])
        frames.append(np.add.reduceat(np.add.reduceat(x, rows, axis=1), columns, axis=2))
    if frames:
        along, up, across = ("zyx"[i] for i in axes)
        ratio = x.shape[1] / x.shape[2]
        yield _figure(
            "Sites", "map", f"{across} (µm)", f"{up} (µm)", _numbers(np.stack(frames, axis=1)),
            _control(r._frame_species()),
            _control(np.asarray(r.frame_times)[shown], "time", unit, -1),
            at=_numbers(spacing * np.append(columns, x.shape[2]), 6), zs={"zmin": 0},
            up=_numbers(spacing * np.append(rows, x.shape[1]), 6), equal=ratio > 0.1,
            height=int(max(110 + 560 * ratio, 240)),
            note=f"Molecules of the first trajectory, summed along {along}.")


MEASURES = {"mean": lambda mean, sd: [mean, mean - sd, mean + sd],  # with its band
            "standard deviation": lambda mean, sd: [sd], "Fano factor": lambda m, sd: [sd**2 / m]}


def _of_sweep(data: Any, unit: str) -> dict[str, Any]:
    """The same of a sweep, at fewer points where there are too many."""
    s = Sweep(data, None)
    data = s.data  # with all axes
    if s.is_empty:
        return NOTHING
    axes = s.axes or s.every[:1]
    if not axes:
        raise InvalidError("this Dataset is no sweep", "a Result has a method report")
    if not all(data.sizes[a] for a in axes):
        return _nothing_yet("no point has ended")
    at = {a: spread(data.sizes[a], max(2, int(MOST_CELLS ** (1 / len(axes))))) for a in axes}
    kept = [v for v in data.data_vars if v in s.derived or v.endswith(("mean", "variance"))]
    s.data = s.data[kept].isel(at)
    shape, n = [len(i) for i in at.values()], data.sizes["time"]
    most = MOST_NUMBERS // (3 * math.prod(shape))
    names = [name for name in s.species + s.observables if np.ptp(s(name)[0]) != 0]
    names, more = first(names or s.species + s.observables, max(1, min(MOST_NAMES, most)))
    times = n - 1 - spread(n, max(1, min(MOST_STEPS, most // len(names))))[::-1]  # with the last
    order = [*range(len(axes) - 2), *range(len(axes))[:-3:-1]]  # a map's x is its last index
    values = {}  # mean and standard deviation, each [time, axis …]
    for name in names + s.derived:
        pairs = [s(name, at) for at in (times if name not in s.derived else times[:1])]
        pairs = np.reshape(np.swapaxes(pairs, 0, 1), (2, len(pairs), *shape))
        values[name] = pairs.transpose(0, 1, *(2 + i for i in order))
    is_design = "point" in axes
    title = "Over the points" if is_design else "Over the values"
    over = {a: s.data[a].values for a in (s.parameters if is_design else axes)}
    logs = {a: is_geometric(v) for a, v in over.items()}
    more += " Fewer points are shown than there are." * any(
        n < data.sizes[a] for a, n in zip(axes, shape))
    rows = [[a, v.min(), v.max(), len(np.unique(v))] for a, v in over.items()]
    found = {**NOTHING, "table": table(rows, ["", "from", "to", "values"], "What varied", "numbers")}
    controls = [_control(MEASURES), _control(data["time"].values[times], "time", unit, -1)]
    if len(over) == 1:
        (x, v), = over.items()
        found.update(names=list(values), on=list(range(min(len(names), len(COLOURS)))))
        return {**found, "figures": [_figure(
            title, "lines", x, "molecules" if set(values) <= set(s.species) else "value",
            [[[_numbers([a[min(i, len(a) - 1)] for a in f(*pair)]) for pair in values.values()]
              for i in range(len(times))] for f in MEASURES.values()], *controls, logx=logs[x],
            at=_numbers(v, 6), mode="markers" if is_design else "lines+markers",
            note="Bands are mean ± sd. " + more)]}
    *others, y, x = list(over)[1::-1] if is_design else [axes[i] for i in order]
    edges = (lambda v, log: v) if is_design else edges_around
    return {**found, "figures": [_figure(
        title, "map", x, y,
        [[_numbers(f(*pair)[0]) for f in MEASURES.values()] for pair in values.values()],
        _control(values), *controls, *(_control(over[a], a) for a in others), note=more,
        at=_numbers(edges(over[x], logs[x]), 7), logx=logs[x], dots=is_design,
        up=_numbers(edges(over[y], logs[y]), 7), logy=logs[y])]}
