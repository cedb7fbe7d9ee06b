"""Results of a run: arrays in the library's memory, or a file that is read when asked."""
from __future__ import annotations

import html
import os
from typing import Any, Iterator, Optional, Sequence, Union

import numpy as np

from ._errors import (FileError, InvalidError, check, hdf5, near, need, number, record, text,
                      unreadable, whole)
from ._files import Path, any_path, result_path
from ._native import ffi, lib
from ._series import Names, table

STATISTICS = ("mean", "variance", "min", "max")
SPLITS = ("type_counts", "profile")
_OF_RUNS = ("counts", "observables", "trajectories", "derived", *SPLITS)  # in their order
_SAMPLES = ("counts", "observables", "trajectories", "frames", *SPLITS)
# What a sweep's Dataset may have beside the names that were varied: variables, axes.
_OWN = frozenset((*_SAMPLES, *STATISTICS, *(f"observable_{s}" for s in STATISTICS), "histogram",
                  *(f"{of}_{s}" for of in SPLITS for s in STATISTICS[:2]), "edges",
                  "trajectory", "point", "run", "time", "species", "observable", "site_type", "plane", "bin", "edge"))
_IN_BLOCKS = ("counts", "observables", *SPLITS)
_BLOCK = 1 << 20  # numbers that are read at a time
_HOW_SPLITS = 'with every sample; with another record there are mean("profile"), var("profile") …'
# Arrays of a saltus_memory: their types and axes, whose lengths are in its view or made of them.
_AXES = {
    **{name: ("<f8", "times", "columns") for name in STATISTICS},
    **{name: ("<i8", "samples", "parts", "counts") for name in SPLITS},
    **{f"{of}_{name}": ("<f8", "times", "parts", "counts") for of in SPLITS
       for name in STATISTICS[:2]},
    "counts": ("<i8", "samples", "counts"), "observables": ("<f8", "samples", "observables"),
    "trajectories": ("<i8", "runs"), "derived": ("<f8", "runs", "derived"),
    "frames": ("<i4", "runs", "frames", "sites", "counts"), "edges": ("<f8", "counts", "edges"),
    "histogram": ("<u8", "counts", "times", "bins")}


class _Held:
    """Memory of the library's as numpy sees it; whoever has the array keeps the owner."""

    def __init__(self, owner: Any, pointer: Any, shape: Sequence[int], kind: str) -> None:
        self.owner = owner
        self.__array_interface__ = {"version": 3, "shape": tuple(shape), "typestr": kind,
                                    "data": (int(ffi.cast("uintptr_t", pointer)), False)}


class Memory:
    """Arrays of a saltus_memory by their names, none of them copied. Of a sweep with `lead`, the
    lengths of its axes, in front."""

    def __init__(self, owner: Any, is_final: bool, lead: Sequence[int] = ()) -> None:
        self.owner, self.view = owner, lib.saltus_memory_get(owner)
        self.is_final, self.lead = is_final, tuple(lead)

    def __call__(self, name: str) -> Optional[np.ndarray]:
        if name not in _AXES:
            return None
        v, (kind, *axes) = self.view, _AXES[name]
        of = next((s for s in SPLITS if name.startswith(s)), None)  # mean and variance of parts too
        i = None if of is None else SPLITS.index(of)
        pointer = (getattr(v, name) if of is None else
                   getattr(v, "splits" if name == of else f"split_{name[len(of) + 1:]}")[i])
        if pointer == ffi.NULL:
            return None
        lengths = {"samples": (v.n_runs,) if self.is_final else (v.n_runs, v.n_times),
                   "columns": (v.n_counts + v.n_observables,), "edges": (v.n_bins + 1,),
                   "sites": tuple(v.size)[::-1], "parts": () if i is None else (v.n_parts[i],)}
        shape = [n for a in axes for n in lengths.get(a) or (getattr(v, "n_" + a),)]
        return np.asarray(_Held(self.owner, pointer, (*self.lead, *shape), kind))

    def part(self, name: str, where: Any) -> Optional[np.ndarray]:
        array = self(name)
        return None if array is None else array[where]


class _Arrays(dict):
    """Arrays by their names, of a result that was pickled."""

    def __call__(self, name: str) -> Optional[np.ndarray]:
        return self.get(name)

    part = Memory.part


class _File:
    """Data sets of a result file; it is open while one is read. Of a run that is being written they
    have as many trajectories as it had at first."""

    def __init__(self, path: str, derived: Sequence[str], species: Sequence[str],
                 identity: list[Any], n_runs: Optional[int]) -> None:
        self.path, self.derived, self.species = path, derived, species
        self.identity, self.n_runs = identity, n_runs

    def __call__(self, name: str) -> Optional[np.ndarray]:
        return self.part(name, Ellipsis)

    def part(self, name: str, where: Any) -> Optional[np.ndarray]:
        with hdf5, open_h5(self.path) as file:
            if _identity(file) != self.identity:
                raise FileError(f"{self.path}: holds another result than when it was opened",
                                "saltus.open opens that one")
            array = self._get(file, name, where)
        is_whole = where is Ellipsis or isinstance(where, tuple) and where[0] is Ellipsis
        return array[:self.n_runs] if name in _OF_RUNS and array is not None and is_whole else array

    def _get(self, f: Any, name: str, where: Any) -> Optional[np.ndarray]:
        paths = {"counts": ("counts", "final"), "observables": ("observables", "final_observables"),
                 "trajectories": ("run", "trajectories"), "there": ("space/frames/there",),
                 **{s: (f"space/{s}",) for s in SPLITS},
                 **{f"{of}_{s}": (f"space/{kind}_stats/{s}",) for s in STATISTICS[:2]
                    for of, kind in zip(SPLITS, ("type", "profile"))}}
        if name in STATISTICS:
            parts = [f[p][where] for p in (f"stats/{name}", f"stats/observables/{name}") if p in f]
            return np.concatenate(parts, axis=-1) if parts else None
        if name == "derived":
            parts = [f[f"derived/{escape(q)}"][...] for q in self.derived]
            return np.stack(parts, axis=-1)[where] if parts else None
        if name in ("edges", "histogram"):  # of all species, or of that whose number is given
            inner = "edges" if name == "edges" else "counts"
            parts = [f[f"histogram/{escape(s)}/{inner}"][...]
                     for s in (self.species if where is Ellipsis else self.species[where:where + 1])
                     if "histogram" in f]
            most = max((a.shape[-1] for a in parts), default=0)
            parts = [np.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, most - a.shape[-1])],
                            constant_values=np.nan if name == "edges" else 0) for a in parts]
            return None if not parts else (
                np.stack(parts, -2 if name == "edges" else -3) if where is Ellipsis else parts[0])
        if name == "frames":
            parts = [f[p][where] for p in (f"space/frames/{escape(s, True)}" for s in self.species)
                     if p in f]
            return np.stack(parts, axis=-1) if parts else None
        return next((f[p][where] for p in paths.get(name, ()) if p in f), None)


def _identity(f: Any) -> list[Any]:
    """What the trajectories of a file are functions of; older ones say less."""
    where = "restart/identity"
    return [f.attrs.get("first_trajectory"), f.attrs.get("seed"),
            *(f[where].asstr()[...].tolist() if where in f else ())]


def escape(name: str, is_frame: bool = False) -> str:
    """The name of a data set for a name of a model, as docs/file-format.md says."""
    if is_frame and name in ("time", "there"):
        return f"%{ord(name[0]):02X}{name[1:]}"
    text = name.replace("%", "%25").replace("/", "%2F")
    return "%2E" + text[1:] if text.startswith(".") else text


def open_h5(path: str) -> Any:
    h5py = need("h5py", "reading a result file")
    try:
        return h5py.File(path, "r")
    except OSError:  # it is being written
        try:
            return h5py.File(path, "r", swmr=True)
        except OSError as failure:
            raise unreadable(path, failure) from failure


def sources(path: str) -> list[bytes]:
    """Files of a model that a result file holds, beginning with the one that was read."""
    with hdf5, open_h5(path) as f:
        data, texts = bytes(f["restart/sources"][...]), []
    while data:
        n, size = (int.from_bytes(data[i:i + 8], "little") for i in (0, 8))
        texts += [data[16 + n:16 + n + size]] * (data[16:16 + n] != b"saltus:arguments")
        data = data[16 + n + size:]
    return texts


class Result:
    """What a run has left.

    `time` float64[point] in the model's unit; `species` and `observables`, the names of what was
    recorded; `derived_names`, quantities of each trajectory; `attrs`, what the run was and did:
    model, method, device, layout, seed, first_trajectory, requested, trajectories, events, seconds,
    complete, time_unit, record; `frame_times`, of a lattice's frames; `path`, that of its file or
    None. Statistics have a column for each of `columns`: species, then observables. `r["X"]` is one
    of them; a result is a mapping of what it keeps of each trajectory.
    """

    def __init__(self, source: Any, time: np.ndarray, species: list[str], observables: list[str],
                 derived: list[str], attrs: dict[str, Any], *, frame_times: Any = (),
                 path: Optional[str] = None, origin: Any = None) -> None:
        self._source, self._origin = source, origin
        self.time, self.species, self.observables = time, species, observables
        self.derived_names, self.attrs, self.path = derived, attrs, path
        self.frame_times = frame_times

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__, _origin=None)
        if isinstance(self._source, Memory):
            arrays = {name: self._source(name) for name in _AXES}
            state["_source"] = _Arrays({k: a for k, a in arrays.items() if a is not None})
        return state

    @property
    def columns(self) -> list[str]:
        """Names of the columns of statistics: species, then observables."""
        return self.species + self.observables

    @property
    def is_complete(self) -> bool:
        """Whether every trajectory that was asked for is there."""
        return bool(self.attrs["complete"])

    def _need(self, name: str, how: str = 'record="all" keeps it',
              where: Any = Ellipsis) -> np.ndarray:
        array = self._source.part(name, where)
        if array is None:
            raise InvalidError(f"this result has no {name}", how)
        return array

    @property
    def counts(self) -> np.ndarray:
        """Molecules, int64[run, point, species], or with record="final" int64[run, species]; in the
        library's memory, not copied. From a file they may be int32."""
        return self._need("counts", 'record="all" keeps it' if self.species else
                          "no species is counted: what is recorded is in observable_values")

    @property
    def observable_values(self) -> np.ndarray:
        """Values of rules, parameters and concentrations, float64[run, point, observable]."""
        return self._need("observables", 'record="all" keeps it' if self.observables else
                          "name some in species=")

    @property
    def frame_counts(self) -> np.ndarray:
        """Molecules in the sites of a lattice, int32[run, frame, z, y, x, species]. The first row is
        trajectory first_trajectory, and so on, also where an interrupted run has gaps."""
        return self._need("frames", "frames=DT asks for them, of a model with a lattice")

    @property
    def type_counts(self) -> np.ndarray:
        """Molecules in sites of each type, int64[run, point, type, species]."""
        return self._need("type_counts", "by_type=True asks for them, " + _HOW_SPLITS)

    @property
    def profile(self) -> np.ndarray:
        """Molecules in each plane of a lattice, int64[run, point, plane, species]."""
        return self._need("profile", 'profile="z" asks for it, ' + _HOW_SPLITS)

    @property
    def trajectories(self) -> np.ndarray:
        """Numbers of the trajectories, int64[run]."""
        return self._need("trajectories")

    def blocks(self, name: str) -> Iterator[np.ndarray]:
        """Rows of "counts", "observables", "type_counts" or "profile", some at a time: a file's
        arrays may be larger than memory."""
        if text("name", name) not in _IN_BLOCKS:
            raise near("what blocks gives", name, _IN_BLOCKS)
        row = self._source.part(name, slice(1))
        if row is None:  # says what is missing
            row = getattr(self, "observable_values" if name == "observables" else name)
        n, step = int(self.attrs["trajectories"]), max(1, _BLOCK // max(row.size, 1))
        for i in range(0, n, step):
            yield self._source.part(name, slice(i, min(i + step, n)))

    @property
    def derived(self) -> dict[str, np.ndarray]:
        """Quantities of each trajectory, float64[run] by their names; NaN where there is none."""
        if not self.derived_names:
            return {}
        array = self._need("derived", "derive= names quantities")
        return {name: array[..., i] for i, name in enumerate(self.derived_names)}

    def __getitem__(self, name: str) -> np.ndarray:
        """One column: molecules or values [run, point], with record="final" [run]; or a derived
        quantity [run]."""
        for names, array in ((self.species, "counts"), (self.observables, "observables"),
                             (self.derived_names, "derived")):
            if name in names:
                return self._need(array, where=(Ellipsis, names.index(name)))
        raise near("this result", name, self.columns + self.derived_names)

    def keys(self) -> list[str]:
        """Names of what `r[name]` gives: columns where samples or final states are kept, and
        quantities of each trajectory."""
        keeps = self.attrs["record"] in ("all", "final")
        return (self.columns if keeps else []) + self.derived_names

    def items(self) -> list[tuple[str, np.ndarray]]:
        """Those names, each with its array."""
        return [(name, self[name]) for name in self.keys()]

    def __contains__(self, name: object) -> bool:
        return name in self.keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise InvalidError("a result is no array", "r.counts is that of all samples, r['X'] of a "
                           "column, r.mean() of means")

    def __bool__(self) -> bool:
        return True  # whatever it keeps

    def mean(self, of: Optional[str] = None) -> np.ndarray:
        """Means over the runs, float64[point, column], correctly rounded; of a lattice's "profile"
        float64[point, plane, species], of "type_counts" float64[point, type, species]."""
        return self._need("mean") if of is None else self._of_parts("mean", of)

    def var(self, of: Optional[str] = None) -> np.ndarray:
        """Sample variances (n - 1) over the runs, likewise."""
        return self._need("variance") if of is None else self._of_parts("variance", of)

    def _of_parts(self, statistic: str, of: str) -> np.ndarray:
        """What is kept where samples are not, or made of these."""
        if of not in SPLITS:
            raise near(f"the {statistic} of a result", of, SPLITS)
        kept = self._source(f"{of}_{statistic}")
        if kept is not None:
            return kept
        n, zero = int(self.attrs["trajectories"]), np.zeros((), np.int64)
        with np.errstate(invalid="ignore"):  # without any run they are NaN
            mean = sum((x.sum(axis=0) for x in self.blocks(of)), zero) / np.float64(n)
            if statistic == "mean":
                return mean
            squares = sum((np.square(x - mean).sum(axis=0) for x in self.blocks(of)), zero * 1.0)
            return squares / np.float64(n - 1 if n > 1 else n)

    def min(self) -> np.ndarray:
        """Least values over the runs, float64[point, column]."""
        return self._need("min")

    def max(self) -> np.ndarray:
        """Greatest values over the runs, float64[point, column]."""
        return self._need("max")

    def fano(self) -> np.ndarray:
        """Fano factors, variance over mean, float64[point, column]; NaN where the mean is 0."""
        mean = self.mean()
        return np.divide(self.var(), mean, out=np.full_like(mean, np.nan), where=mean != 0.0)

    def quantile(self, q: Union[float, Sequence[float]]) -> np.ndarray:
        """Quantiles of counts over the runs, float64[point, species], with a leading axis if q has
        one; definition 7 of Hyndman & Fan, Am. Stat. 50 (1996) 361."""
        try:
            return np.quantile(self.counts, np.asarray(q, dtype=float), axis=0)
        except (TypeError, ValueError, OverflowError) as failure:
            raise InvalidError(f"q={q!r} must be one number from 0 to 1, or a row of them") from failure

    def histogram(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Edges float64[bin + 1] and numbers of runs uint64[point, bin] of a species, with
        record="histogram"; a bin holds edges[b] <= x < edges[b + 1]."""
        if name not in self.species:
            raise near("this result", name, self.species)
        i = self.species.index(name)
        counts = self._need("histogram", 'record="histogram" keeps it', i)
        edges = self._need("edges", where=i)
        n = np.count_nonzero(~np.isnan(edges)) - 1
        return edges[:n + 1], counts[:, :n]

    def autocorrelation(self, name: str, burn_in: float = 0.0) -> np.ndarray:
        """Autocorrelation of a column at lags 0, 1, … sample times, float64[lag], from `burn_in`
        on: of deviations from the mean over all runs and those times, as if they were stationary.
        Sample times have to be equally spaced."""
        if not number("burn_in", burn_in) >= 0.0:
            raise InvalidError(f"burn_in={burn_in!r} must be a time from 0 on")
        first = int(np.searchsorted(self.time, float(burn_in)))
        steps = np.diff(self.time[first:])
        if len(steps) < 1 or not np.allclose(steps, steps[0]):
            raise InvalidError("autocorrelation needs equally spaced sample times, two at least")
        x = self[name]
        if x.ndim != 2:
            raise InvalidError("autocorrelation needs every sample", 'record="all" keeps them')
        x = x[:, first:] - x[:, first:].mean()
        n = x.shape[1]
        spectrum = np.fft.rfft(x, 2 * n, axis=1)
        sums = np.fft.irfft((np.abs(spectrum) ** 2).mean(axis=0), 2 * n)[:n]
        products = sums / np.arange(n, 0, -1)
        return products / products[0] if products[0] > 0.0 else np.full(n, np.nan)

    def frames(self, run: int = 0) -> Any:
        """Frames of a lattice as an xarray.DataArray, molecules [frame, z, y, x, species], with the
        times of frames and the middles of sites in m."""
        run = whole("run", run)
        xarray, array = need("xarray", "frames"), self.frame_sites(run)
        middles = {axis: (np.arange(n) + 0.5) * self.attrs["spacing"]
                   for axis, n in zip("zyx", array.shape[1:4])}
        return xarray.DataArray(array, dims=("frame", "z", "y", "x", "species"), name="frames",
                                coords={"frame": np.asarray(self.frame_times)[
                                            self._frames_there(run)], **middles,
                                        "species": self._frame_species()},
                                attrs={"units": "count"})

    def frame_sites(self, run: int = 0) -> np.ndarray:
        """The same as an array, int32[frame, z, y, x, species]."""
        run = whole("run", run)
        try:
            array = self._source.part("frames", (run, self._frames_there(run)))
        except (IndexError, OverflowError, ValueError) as failure:
            raise InvalidError(f"there is no run {run} with frames") from failure
        return self.frame_counts[run] if array is None else array

    def _frames_there(self, run: int = 0) -> np.ndarray:
        """Which frames of a run are there: of one that was interrupted, the first ones."""
        there = self._source.part("there", run) if len(self.frame_times) else None
        return np.arange(len(self.frame_times)) if there is None else np.flatnonzero(there)

    def _frame_species(self) -> list[str]:
        return self.attrs.get("frame_species", self.species)

    def to_xarray(self) -> Any:
        """All that is there as an xarray.Dataset with named axes."""
        return dataset(self._source, self, (), {})

    def to_pandas(self) -> Any:
        """A DataFrame: of every sample a row per run and time, of final states a row per run, else
        a row per time with mean and variance of each column."""
        pandas = need("pandas", "to_pandas")
        parts = [(self.species, self._source("counts")),
                 (self.observables, self._source("observables"))]
        parts = [(names, a) for names, a in parts if names and a is not None]
        if not parts:
            both = np.concatenate([self.mean(), self.var()], axis=1)
            names = pandas.MultiIndex.from_product([["mean", "variance"], self.columns])
            return pandas.DataFrame(both, columns=names,
                                    index=pandas.Index(self.time, name="time"))
        runs = pandas.Index(self.trajectories, name="run")
        if self.attrs["record"] != "final":
            runs = pandas.MultiIndex.from_product([runs, self.time], names=["run", "time"])
        frames = [pandas.DataFrame(a.reshape(len(runs), len(names)), columns=names, index=runs)
                  for names, a in parts]
        return frames[0] if len(frames) == 1 else pandas.concat(frames, axis=1)

    def plot(self, kind: str = "auto", *, species: Names = None, time: Optional[float] = None,
             trajectories: Optional[int] = None, frame: Optional[float] = None,
             slice: Optional[str] = None, title: Optional[str] = None, path: Optional[Path] = None,
             size: Optional[tuple[float, float]] = None, dpi: Optional[float] = None,
             log: bool = False, logx: bool = False, derived: Names = None) -> Any:
        """A figure, of matplotlib; written to path too (.png, .svg, .pdf) if one is given.

        kind: "bands", "trajectories" (so many of them, 20), "histogram" (at the sample nearest to
        `time`, the last), "heatmap", of a lattice "kymograph" and "slice": of the first run's
        frame nearest to the time `frame`, at slice="z=5", "z" (in the middle), "max z" or
        "sum z". "auto" takes trajectories of one run, heat maps where a distribution has two
        peaks, else bands. species: those that change most, 8 at most. size in inches; log, logx:
        axes (of kymographs and slices, log: colours); derived: histograms of these quantities.
        """
        need("matplotlib", "plot")
        from . import _plot
        return _plot.result(self, kind, _plot.Page(title, path, size, dpi), species, time,
                            trajectories, frame, slice, log, logx, derived)

    def report(self, path: Path, *, title: Optional[str] = None) -> None:
        """Write one page for a browser, which needs nothing else: what was run, and figures whose
        species can be chosen. It takes the place of an existing file."""
        from ._report import report
        report(self, path, title=title)

    def save(self, path: Path, *, overwrite: bool = False) -> "Result":
        """Write the result file that the run would have written with output=path, and give it as a
        result that is read when asked."""
        if self._origin is None:
            raise InvalidError("only a result of Model.run can be saved, in the process that ran it",
                               "run with output=, or use to_xarray().to_netcdf()")
        self._origin.save(result_path("path", path), overwrite)
        return open(path)

    def __repr__(self) -> str:
        a = self.attrs
        return (f"<saltus.Result: {a['model']}, {a['trajectories']} of {a['requested']} "
                f"trajectories, {len(self.time)} times to {self.time[-1]:g}, "
                f"{len(self.columns)} columns, {a['method']} on {a['device']}>")

    def _repr_html_(self) -> str:
        rows = [[n, f"{m:.6g}", f"{s:.4g}"] for n, m, s in
                zip(self.columns, self.mean()[-1], np.sqrt(self.var()[-1]))]
        return (f"<p>{html.escape(repr(self)[1:-1])}</p>" +
                table(rows, ["", f"mean at {self.time[-1]:g}", "sd"], most=20))


def dataset(source: Any, r: Result, lead: Sequence[str], coords: dict[str, Any]) -> Any:
    """An xarray.Dataset of a result, or of a sweep whose axes `lead` stand in front."""
    xarray = need("xarray", "to_xarray")
    lead, n = tuple(lead), len(r.species)
    samples = ("run",) if r.attrs["record"] == "final" else ("run", "time")
    arrays = [(name, source(name), dims, unit) for name, dims, unit in (
        ("counts", (*samples, "species"), "count"),
        ("observables", (*samples, "observable"), "1"),
        ("type_counts", (*samples, "site_type", "species"), "count"),
        ("profile", (*samples, "plane", "species"), "count"),
        ("edges", ("species", "edge"), "count"), ("histogram", ("species", "time", "bin"), "1"))]
    for name in STATISTICS:
        array = source(name)
        if array is not None:
            unit = "count2" if name == "variance" else "count"
            arrays += [(name, array[..., :n], ("time", "species"), unit),
                       (f"observable_{name}", array[..., n:], ("time", "observable"), "1")]
    arrays += [(f"{of}_{name}", source(f"{of}_{name}"), ("time", part, "species"), unit)
               for of, part in zip(SPLITS, ("site_type", "plane"))
               for name, unit in zip(STATISTICS, ("count", "count2"))]
    arrays = [each for each in arrays if each[1] is not None and each[1].shape[-1]]
    derived = source("derived")
    arrays += [(name, derived[..., i], ("run",), "1") for i, name in enumerate(r.derived_names)]
    coords = dict(coords, time=r.time)
    for dim, names in (("species", r.species), ("observable", r.observables)):
        if names:
            coords[dim] = names
    trajectories = source("trajectories")
    if trajectories is not None:
        coords["trajectory"] = ((*lead, "run"), trajectories)
    frames = source("frames") if len(r.frame_times) else None
    if frames is not None and r._frame_species() == r.species:
        coords["frame"] = np.asarray(r.frame_times)
        arrays.append(("frames", frames, ("row", "frame", "z", "y", "x", "species"), "count"))
    variables = {name: ((*lead, *dims), a, {"units": unit}) for name, a, dims, unit in arrays}
    attrs = {k: int(v) if isinstance(v, bool) else v for k, v in r.attrs.items()
             if isinstance(v, (str, int, float))}
    data = xarray.Dataset(variables, coords, attrs)
    data["time"].attrs["units"] = r.attrs.get("time_unit") or "1"
    return data


def plot(data: Any, *, species: Names = None, time: Optional[float] = None, derived: Names = None,
         statistic: str = "mean", title: Optional[str] = None, path: Optional[Path] = None,
         size: Optional[tuple[float, float]] = None, dpi: Optional[float] = None, log: bool = False,
         logx: Optional[bool] = None) -> Any:
    """A figure of a sweep, of matplotlib; written to path too (.png, .svg, .pdf) if one is given.

    Means at the sample nearest to `time`, the last, of species or of derived quantities: against
    one parameter with standard deviations, or the distributions where one of them has two peaks and
    samples were kept; as maps over two, of means or statistic="sd"; as rows of maps over three.
    log: of values or colours; logx: without it as the parameter's values are spaced."""
    need("matplotlib", "plot")
    from . import _plot
    return _plot.sweep(data, species, time, derived, statistic,
                       _plot.Page(title, path, size, dpi), log, logx)


def open(path: Path, *, samples: bool = True) -> Any:
    """Open a result file: of a run a Result whose arrays are read when they are asked for, of a
    sweep an xarray.Dataset; samples=False: without those of its trajectories."""
    path = any_path("path", path)
    state, err = ffi.new("saltus_file_state *"), record()
    with hdf5:
        check(lib.saltus_file_state_read(os.fsencode(path), state, err), err)
    with hdf5, open_h5(path) as f:
        def names(*called: str) -> list[str]:  # now, and by earlier versions
            return next((f[name].asstr()[...].tolist() for name in called if name in f), [])
        attrs = {k: v.item() if hasattr(v, "item") else v for k, v in f.attrs.items()}
        species, derived = names("species"), names("derived_names")
        observables = names("observable", "observable_names")
        attrs["complete"] = bool(state.complete)
        attrs["record"] = ("all" if "counts" in f or "observables" in f
                           else "final" if "final" in f or "final_observables" in f
                           else "histogram" if "histogram" in f else "stats")
        attrs["time_unit"] = (names("time_unit") or [""])[0]
        if "space" in f:
            attrs["spacing"] = float(f["space"].attrs["spacing"])
        frame_times = next((f[name][...] for name in ("space/frame", "space/frames/time")
                            if "space/frames" in f and name in f), ())
        if len(frame_times):
            attrs["frame_species"] = [s for s in species
                                      if f"space/frames/{escape(s, True)}" in f]
        n_runs = None
        if not state.is_sweep:  # of one that is being written some may have more than others
            there = [len(f[p]) for p in ("counts", "final", "observables", "final_observables", "run",
                                         "trajectories") if p in f]
            attrs["trajectories"] = n_runs = min(there, default=attrs["trajectories"])
        r = Result(_File(path, derived, species, _identity(f), n_runs), f["time"][...], species,
                   observables, derived, attrs, frame_times=frame_times, path=path)
        if not state.is_sweep:
            return r
        axes, lengths = names("sweep_names"), f["sweep_shape"][...].tolist()
        values = [f[f"sweep/{escape(a)}"][...] for a in axes]
        n, first = int(attrs["sweep_points"]), int(attrs.get("first_point", 0))
        values = [v[first:first + n] for v in values]  # of a part of a sweep
    kept = () if samples else _SAMPLES
    data = sweep_dataset(lambda n: None if n in kept else r._source(n), r, axes, values, lengths, n)
    data.encoding["source"] = path
    return data


def sweep_dataset(source: Any, r: Result, axes: Sequence[str], values: Sequence[np.ndarray],
                  lengths: Sequence[int], n: int) -> Any:
    """An xarray.Dataset of the first n points of a sweep: with an axis per name if these are all of
    a grid, else with one axis, point. values: [axis][point]; lengths: of a grid's axes, or zeros. A
    name that the Dataset itself has becomes varied:NAME, as in tables."""
    axes = [f"varied:{a}" if a in _OWN else a for a in axes]
    is_grid = np.prod(lengths) == n and n > 0
    shape = lengths if is_grid else (n,)

    def shaped(name: str) -> Optional[np.ndarray]:
        array = source(name)
        if array is not None and name == "trajectories" and array.ndim == 1:
            a = r.attrs  # a file has numbers within a point, of a part of the runs its own
            at = (a.get("first_point", 0) + np.arange(n)) * (not a["common_random_numbers"])
            array = (a["first_trajectory"] - a.get("first_run", 0) + array +
                     a.get("whole_runs", len(array)) * at[:, np.newaxis])
        return None if array is None else array[:n].reshape(*shape, *array.shape[1:])
    if not is_grid:
        return dataset(shaped, r, ("point",), {a: ("point", v[:n]) for a, v in zip(axes, values)})
    behind = [int(np.prod(lengths[i + 1:])) for i in range(len(lengths))]
    return dataset(shaped, r, axes, {a: v[::b][:m] for a, v, b, m in
                                     zip(axes, values, behind, lengths)})
