"""Results of a run or a sweep."""
from __future__ import annotations

import html
import os
from typing import Any, Iterator, Optional, Sequence, Union

import numpy as np

from ._arrays import SAMPLES, SPLITS, File, escape, identity, open_h5
from ._dataset import dataset, sweep_dataset
from ._errors import (InvalidError, UnknownNameError, check, hdf5, near, need, number, record, text,
                      whole)
from ._files import Path, any_path, check_regular, result_path
from ._native import ffi, lib
from ._series import Names, quantiles, table

_IN_BLOCKS = ("counts", "observables", *SPLITS)
_BLOCK = 1 << 20  # numbers that are read at a time


class Result:
    """What a run has left.

    `time` float64[point] in the model's unit; `species` and `observables`, the names of what was
    recorded; `derived_names`, quantities of each trajectory; `attrs`, what the run was and did:
    model, method, device, layout, seed, first_trajectory, requested, trajectories, events, seconds,
    complete, time_unit, record; `frame_times`, of a lattice's frames; `path`, that of its file or
    None. Statistics have a column for each of `columns`: species, then observables. `r["X"]` is one
    of them; a result is a mapping of what it keeps of each trajectory. Arrays of a run in memory
    are read only: they are the result itself, which save() writes; `.copy()` gives one to change.
    """

    def __init__(self, source: Any, time: np.ndarray, species: list[str], observables: list[str],
                 derived: list[str], attrs: dict[str, Any], *, frame_times: Any = (),
                 path: Optional[str] = None, origin: Any = None) -> None:
        self._source, self._origin = source, origin
        self.time, self.species, self.observables = time, species, observables
        self.derived_names, self.attrs, self.path = derived, attrs, path
        self.frame_times = frame_times

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__, _origin=None)

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

    def _need_parts(self, of: str, how: str) -> np.ndarray:
        array = self._source(of)
        if array is None and self._source(f"{of}_mean") is not None:
            how = f'record="all" keeps it; of all runs there are mean("{of}"), var("{of}")'
        return self._need(of, how) if array is None else array

    @property
    def counts(self) -> np.ndarray:
        """Molecules, int64[run, point, species], or with record="final" int64[run, species]; in the
        library's memory, not copied, or read from the file."""
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
        trajectory first_trajectory, and so on, also where an interrupted run has gaps: sites of
        frames that were not made hold 0, and frames() leaves these out."""
        return self._need("frames", "frames=DT asks for them, of a model with a lattice")

    @property
    def type_counts(self) -> np.ndarray:
        """Molecules in sites of each type, int64[run, point, type, species]."""
        return self._need_parts("type_counts", "by_type=True asks for them, where sites are of "
                                "several types")

    @property
    def profile(self) -> np.ndarray:
        """Molecules in each plane of a lattice, int64[run, point, plane, species]."""
        return self._need_parts("profile", 'profile="z" asks for it')

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
        raise near("this result", name, self.columns + self.derived_names, UnknownNameError)

    def keys(self) -> list[str]:
        """Names of what `r[name]` gives: columns where samples or final states are kept, and
        quantities of each trajectory."""
        keeps = self.attrs["record"] in ("all", "final")
        return (self.columns if keeps else []) + self.derived_names

    def items(self) -> list[tuple[str, np.ndarray]]:
        """Those names, each with its array."""
        return [(name, self[name]) for name in self.keys()]

    def values(self) -> list[np.ndarray]:
        """The arrays alone."""
        return [self[name] for name in self.keys()]

    def get(self, name: str, default: Any = None) -> Any:
        """What `r[name]` gives, or another value where there is none."""
        return self[name] if name in self else default

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
        if n == 0:
            return np.full(getattr(self, of).shape[1:], np.nan)
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
        one; definition 7 of Hyndman & Fan, Am. Stat. 50 (1996) 361. With record="histogram" the
        least count of a bin stands for all of it, as `saltus stats` has it, and NaN for what is
        outside. Without any run all are NaN."""
        try:
            levels = np.asarray(q, dtype=float)
        except (TypeError, ValueError, OverflowError):
            levels = np.empty(0)
        if levels.ndim > 1 or not levels.size or not ((levels >= 0.0) & (levels <= 1.0)).all():
            raise InvalidError(f"q={q!r} must be one number from 0 to 1, or a row of them")
        if self.attrs["record"] == "stats" and self.species:
            raise InvalidError("quantiles need samples or histograms, and this result has neither",
                               'record="all", "final" or "histogram" keeps some')
        if self.attrs["trajectories"] == 0:
            points = () if self.attrs["record"] == "final" else self.time.shape
            return np.full((*levels.shape, *points, len(self.species)), np.nan)
        if self.attrs["record"] == "histogram" and self.species:
            found = quantiles(self, self.species, range(len(self.time)), np.atleast_1d(levels))
            every = np.stack([found[name] for name in self.species], axis=-1)
            return every if levels.ndim else every[0]
        return np.quantile(self.counts, levels, axis=0)

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
        if len(steps) < 1 or not np.allclose(steps, steps[0], atol=1e-12 * abs(self.time[-1])):
            raise InvalidError("autocorrelation needs equally spaced sample times, two at least")
        x = self[name]
        if x.ndim != 2:
            raise InvalidError("autocorrelation needs every sample", 'record="all" keeps them')
        x = x[:, first:]
        n = x.shape[1]
        if not len(x):
            return np.full(n, np.nan)
        x = x - x.mean()
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
        every = len(self.frame_times) if self.attrs["trajectories"] else 0
        return np.arange(every) if there is None else np.flatnonzero(there)

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


def plot(data: Any, *, species: Names = None, time: Optional[float] = None, derived: Names = None,
         statistic: str = "mean", title: Optional[str] = None, path: Optional[Path] = None,
         size: Optional[tuple[float, float]] = None, dpi: Optional[float] = None, log: bool = False,
         logx: Optional[bool] = None) -> Any:
    """A figure of a sweep, of matplotlib; written to path too (.png, .svg, .pdf) if one is given.

    Means at the sample nearest to `time`, the last, of species or of derived quantities: against
    one parameter with standard deviations, or the distributions where one of them has two peaks and
    samples were kept; as maps over two; as rows of maps over three. With statistic="sd" standard
    deviations in place of means.
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
    check_regular(path)
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
        r = Result(File(path, derived, species, identity(f), n_runs), f["time"][...], species,
                   observables, derived, attrs, frame_times=frame_times, path=path)
        if not state.is_sweep:
            return r
        axes, lengths = names("sweep_names"), f["sweep_shape"][...].tolist()
        values = [f[f"sweep/{escape(a)}"][...] for a in axes]
        n, first = int(attrs["sweep_points"]), int(attrs.get("first_point", 0))
        values = [v[first:first + n] for v in values]  # of a part of a sweep
    kept = () if samples else SAMPLES
    data = sweep_dataset(lambda n: None if n in kept else r._source(n), r, axes, values, lengths, n)
    data.encoding["source"] = path
    return data
