"""Models: looked at, simulated."""
from __future__ import annotations

import functools
import html
import os
import threading
import weakref
from typing import Any, Callable, Mapping, Optional, Sequence, Union

import numpy as np

from ._arrays import Memory
from ._dataset import sweep_dataset
from ._errors import (Error, InvalidError, ReadOnlyError, chars, check, flag, near, need, number,
                      record, sentence, text as as_text, texts)
from ._files import Path
from ._native import ffi, lib
from ._plans import Plan, Plans, find_nvrtc
from ._result import Result, open as open_result
from ._run import (AMOUNTS_REAL, LAWS, STOICHIOMETRIES, Call, Forecasts, Origin, Tell, carry_out,
                   give, into_file, is_of_handler, open_memory, path_to_write, values_of)
from ._series import Names, table
from ._sweep import Axis, grid, points

_MOST_CHECKED = 16  # values of an axis whose roundings are told
# What to do in place of changing what a model tells.
_SET = 'set={"NAME": VALUE} of run, sweep or batch gives it another value for that call'
_READ = "a model is what was read or built: read or build another"
_models: weakref.WeakSet[Model] = weakref.WeakSet()
_left_behind: list[dict[str, Any]] = []  # of models that were in use at a fork: freeing is not safe


def devices() -> str:
    """What there is to simulate on, and why the rest cannot be used, as the command prints it."""
    find_nvrtc()
    return _take(lib.devices_text())


def _warnings(handle: Any) -> list[str]:
    n = lib.saltus_model_n_warnings(handle)
    return [sentence(lib.saltus_model_warning(handle, i)) for i in range(n)]


def _take(text: Any) -> str:
    """A text of C's as a str; "" where there is none."""
    if text == ffi.NULL:
        return ""
    try:
        return ffi.string(text).decode("utf-8", "replace")
    finally:
        lib.free(text)


class ReadOnly(dict):
    """What a model tells: a dict that refuses changes, which would be of no account. A copy of it,
    also by pickling, is a plain dict."""

    def __init__(self, told: dict[str, Any], what: str, hint: str) -> None:
        super().__init__(told)
        self._what, self._hint = what, hint

    def __reduce__(self) -> tuple:
        return dict, (dict(self),)

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise ReadOnlyError(f"{self._what} of a model cannot be changed", self._hint)

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse


class Model:
    """A reaction network, as `read` and `build` give it. Simulating changes nothing of it.

    It can be pickled, and used by several threads, which take turns; models of their own run side by
    side. What was read, frozen and compiled once is used again while it fits.
    """

    def __init__(self, text: bytes, name: str, *, law: str = "literal",
                 volume: Optional[Mapping[str, str]] = None, mole: Optional[float] = None,
                 stoichiometry: str = "refuse") -> None:
        if as_text("law", law) not in LAWS:
            raise near("law", law, LAWS)
        if as_text("stoichiometry", stoichiometry) not in STOICHIOMETRIES:
            raise near("stoichiometry", stoichiometry, STOICHIOMETRIES)
        if not isinstance(volume, (Mapping, type(None))):
            raise InvalidError(f'volume={volume!r} must be names with sizes, such as {{"all": "1 fL"}}')
        mole = None if mole is None else number("mole", mole)
        if mole == 0.0:  # which is none to the library
            raise InvalidError("mole=0: a number above 0 is needed")
        volume = {str(name): size for name, size in (volume or {}).items()}
        self._given = (text, name, law, volume, mole, stoichiometry)
        self._begin()
        _models.add(self)

    def _begin(self) -> None:
        self._lock = threading.RLock()
        self._values: Optional[dict[str, float]] = None  # as it is frozen; None: it is not
        self._plans = Plans()  # of these values
        self._forecasts = Forecasts()
        self._pool: list = []  # models for the threads of sweeps
        self._about: Optional[dict[str, Any]] = None
        self._real = False
        self._handle: Any = self._parse()
        self._freeze({})
        self._known = self._told()  # without what a call sets

    def __reduce__(self) -> tuple:
        text, name, law, volume, mole, stoichiometry = self._given
        return functools.partial(Model, law=law, volume=volume, mole=mole,
                                 stoichiometry=stoichiometry), (text, name)

    def _renew_after_fork(self) -> None:
        """In the child: a model that another thread was simulating is nobody's, and is read anew."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            _left_behind.append(dict(self.__dict__))
            self._begin()

    # ---- reading and freezing

    def _law(self, real: bool = False) -> int:
        return (LAWS[self._given[2]] + STOICHIOMETRIES[self._given[5]] +
                (AMOUNTS_REAL if real else 0))

    def _parse(self, archive: Any = ffi.NULL) -> Any:
        """Read it. archive: where files go that the text names."""
        text, name, _, volumes, mole, _ = self._given
        options = ffi.new("saltus_read_options *", lib.saltus_read_options_default())
        options.molecules_per_mole, options.archive = mole or 0.0, archive
        out, err = ffi.new("saltus_model **"), record()
        check(lib.saltus_model_parse_with(text, len(text), os.fsencode(name), options, out, err),
              err)
        handle = ffi.gc(out[0], lib.saltus_model_destroy)
        for compartment, size in volumes.items():
            check(lib.saltus_model_set_volume(handle, chars("volume", compartment),
                                              chars("volume", str(size)), err), err)
        return handle

    def _archive(self, path: str, words: Optional[list[str]], more: list[str],
                 by_type: Any) -> Any:
        """What `saltus resume` needs of a result file: the files of the model, and the command that
        would have made it, unless the command cannot do that."""
        text, name, law, volumes, mole, stoichiometry = self._given
        out, err = ffi.new("saltus_archive **"), record()
        check(lib.saltus_archive_create(out, err), err)
        archive = ffi.gc(out[0], lib.saltus_archive_destroy)
        name = f"./{name}" if name.startswith("-") else name
        check(lib.saltus_archive_add(archive, os.fsencode(name), text, len(text), err), err)
        if lib.saltus_model_lattice(self._handle, ffi.NULL) > 0.0:  # it may name others
            try:
                self._parse(archive)
            except Error:
                words = None
            if self._has_types() and not by_type:  # as the command writes
                words = None
        if words is not None:
            words = [*words, f"--law={law}", f"--stoichiometry={stoichiometry}", *more,
                     *(f"--volume={where}={size}" for where, size in volumes.items()),
                     *([f"--mole={mole!r}"] if mole else []), f"--output={path}", name]
            said = b"".join(os.fsencode(word) + b"\0" for word in words)
            check(lib.saltus_archive_add(archive, b"saltus:arguments", said, len(said), err), err)
        return archive

    def _has_types(self) -> bool:
        """Whether sites of a lattice are of several types."""
        return (lib.saltus_model_lattice(self._handle, ffi.NULL) > 0.0 and
                lib.saltus_model_site_type(self._handle, 1, ffi.new("int64_t *")) != ffi.NULL)

    def _freeze(self, values: dict[str, float], err: Any = None, real: bool = False) -> None:
        """Give the model its values, of method ode if `real`. The lock is held."""
        if self._handle is None:
            raise InvalidError("the model was closed")
        if values == self._values and real == self._real:
            return
        self._plans.drop()
        err = err or record()
        self._values = None
        lib.saltus_model_thaw(self._handle)
        lib.saltus_model_reset(self._handle)
        for name, value in values.items():
            check(lib.saltus_model_set(self._handle, name.encode(), value, err), err)
        check(lib.saltus_model_freeze(self._handle, self._law(real), err), err)
        self._values, self._real = values, real

    def close(self) -> None:
        """Free the memory of the model; it cannot be used any more. Results stay."""
        with self._lock:
            self._plans.close()
            self._handle = self._values = None
            self._pool.clear()

    def load(self, values: dict[str, float], err: Any) -> Any:
        """For a thread of a sweep: a model that is not frozen, with what all points have. Not for
        callers."""
        try:
            handle = self._pool.pop() if self._pool else self._parse()
            lib.saltus_model_thaw(handle)  # one whose sweep was refused is frozen: it keeps values
            lib.saltus_model_reset(handle)
            for name, value in values.items():
                check(lib.saltus_model_set(handle, name.encode(), value, err), err)
        except Exception as failure:
            if is_of_handler(failure):
                raise
            err.code = 1
            err.message = str(failure).encode()[:599]
            return ffi.NULL
        ffi.gc(handle, None)  # it is the caller's now
        return handle

    def _warn_of_points(self, sweep: Any, call: Call, values: dict[str, float]) -> None:
        """Have the call tell what the first point, or one of some others, has to say. The lock is
        held."""
        handle, rounded = self.load(values, call.err), ffi.new("char[600]")
        if handle != ffi.NULL:
            real = call.method == "ode"
            if lib.saltus_sweep_freeze(sweep, 0, handle, self._law(real), ffi.NULL) == 0:
                call.warnings += [w for w in _warnings(handle) if w not in self._known]
            plan = call.plan_options()
            if lib.saltus_sweep_check(sweep, _MOST_CHECKED, handle, self._law(real), plan, rounded,
                                      len(rounded), ffi.NULL) == 0 and rounded[0] != b"\0":
                call.warnings.append(sentence(rounded))
            self.unload(handle)

    def unload(self, handle: Any) -> None:
        """Take it back. Not for callers."""
        self._pool.append(ffi.gc(handle, lib.saltus_model_destroy))

    # ---- what is in it

    def _look(self) -> dict[str, Any]:
        with self._lock:
            if self._about is None:
                self._freeze({})
                self._about = self._make_about()
            return self._about

    def _make_about(self) -> dict[str, Any]:
        m, n, i = self._handle, ffi.new("int64_t[3]"), 0
        about: dict[str, Any] = {kind: {} for kind in ("species", "parameter", "compartment", "rule",
                                                       "unit", "reaction", "site_type")}
        while (v := lib.saltus_model_value_at(m, i)).name != ffi.NULL:
            name = ffi.string(v.name).decode()
            about[ffi.string(v.kind).decode()][name] = v.value
            if v.unit != ffi.NULL:
                about["unit"][name] = ffi.string(v.unit).decode()
            i += 1
        i = 0
        while reaction := ffi.string(lib.saltus_model_reaction(m, i)).decode():
            about["reaction"][reaction] = self._print(i)
            i += 1
        i = 0
        while (v := lib.saltus_model_site_type(m, i, n)) != ffi.NULL:
            about["site_type"][ffi.string(v).decode()] = n[0]
            i += 1
        return {**about, "spacing": lib.saltus_model_lattice(m, n), "size": tuple(n)}

    def _print(self, what: int) -> str:
        with self._lock:
            self._freeze({})
            return _take(lib.model_text(self._handle, what))

    def _text(self, what: Callable[[Any], Any]) -> str:
        """A text that does not depend on values."""
        with self._lock:
            self._freeze(self._values or {}, real=self._real)
            return ffi.string(what(self._handle)).decode()

    @property
    def name(self) -> str:
        """The name that the model gives itself, or else that of its file."""
        return self._text(lib.saltus_model_name)

    @property
    def species(self) -> dict[str, Union[int, float]]:
        """Molecules at time 0, by the names of species; of those that are real values and no
        counts they may be parts."""
        return ReadOnly({name: int(n) if n.is_integer() else n
                         for name, n in self._look()["species"].items()}, "species", _SET)

    @property
    def parameters(self) -> dict[str, float]:
        """Values at time 0, in the model's units, by the names of parameters and compartments."""
        return ReadOnly({**self._look()["parameter"], **self._look()["compartment"]}, "parameters",
                        _SET)

    @property
    def units(self) -> dict[str, str]:
        """Units of those parameters and compartments that name one."""
        return ReadOnly(self._look()["unit"], "units", _READ)

    @property
    def rules(self) -> list[str]:
        """Names that rules determine."""
        return list(self._look()["rule"])

    @property
    def reactions(self) -> dict[str, str]:
        """Equations with their laws, such as "A + B -> C @ k*A*B", by the reactions' names."""
        return ReadOnly(self._look()["reaction"], "reactions", _READ)

    @property
    def time_unit(self) -> str:
        """The unit of time, "" if the model names none."""
        return self._text(lib.saltus_model_time_unit)

    @property
    def lattice(self) -> Optional[tuple[int, int, int]]:
        """Sites along x, y and z of a model with a lattice."""
        return self._look()["size"] if self._look()["spacing"] > 0.0 else None

    @property
    def spacing(self) -> float:
        """The edge of a lattice's sites in m, 0 without one."""
        return self._look()["spacing"]

    @property
    def site_types(self) -> dict[str, int]:
        """How many sites of a lattice are of each type."""
        return ReadOnly(self._look()["site_type"], "site_types", _READ)

    def sites(self, x: Union[int, slice] = slice(None), y: Union[int, slice] = slice(None),
              z: Union[int, slice] = slice(None)) -> np.ndarray:
        """Numbers of the types that the sites of a lattice have, uint8[z, y, x]; of a plane of it
        or a part, such as z=5 or x=slice(10, 20), read alone."""
        if self.lattice is None:
            raise InvalidError(f"model '{self.name}' has no lattice")
        first, size = ffi.new("int64_t[3]"), ffi.new("int64_t[3]")
        for a, (where, n) in enumerate(zip((x, y, z), self.lattice)):
            try:
                box = range(n)[where] if isinstance(where, slice) else [range(n)[where]]
            except (IndexError, TypeError):
                box = []
            if not box or box[-1] - box[0] != len(box) - 1:
                raise InvalidError(f"{'xyz'[a]}={where}: a site or a range of 0 to {n - 1} is "
                                   "needed")
            first[a], size[a] = box[0], len(box)
        types = np.empty([size[2], size[1], size[0]], np.uint8)
        err = record()
        with self._lock:
            self._freeze(self._values or {}, real=self._real)
            check(lib.saltus_model_site_types(self._handle, first, size,
                                              ffi.from_buffer("uint8_t[]", types), err), err)
        return types[tuple(slice(None) if isinstance(w, slice) else 0 for w in (z, y, x))]

    @property
    def warnings(self) -> list[str]:
        """What reading and freezing have to say, of which `read` and `build` warn."""
        with self._lock:
            self._freeze(self._values or {}, real=self._real)
            return self._told()

    def _told(self) -> list[str]:
        return _warnings(self._handle) if self._handle else []

    def plot(self, *, title: Optional[str] = None, path: Optional[Path] = None,
             size: Optional[tuple[float, float]] = None, dpi: Optional[float] = None) -> Any:
        """A figure, of matplotlib, of the types that a lattice's sites have, in planes through its
        middle; written to path too (.png, .svg, .pdf) if one is given. size in inches."""
        need("matplotlib", "plot")
        from . import _plot
        return _plot.lattice(self, _plot.Page(title, path, size, dpi))

    def info(self) -> str:
        """What the command's `info` prints."""
        return self._print(-1)

    def to_yaml(self) -> str:
        """Saltus YAML, which gives the same trajectories; not of a lattice."""
        text = self._print(-2)
        if not text:
            raise InvalidError("a model with a lattice cannot be written as YAML")
        return text

    def __repr__(self) -> str:
        if self._handle is None:
            return "<saltus.Model, closed>"
        about = self._look()
        return (f"<saltus.Model {self.name!r}: {len(about['species'])} species, "
                f"{len(about['reaction'])} reactions>")

    def _repr_html_(self) -> str:
        about = f"<p>{html.escape(repr(self)[1:-1])}</p>"
        if self._handle is None:
            return about
        return about + "".join(
            table([[k, str(v)] for k, v in rows.items()], [title, ""], most=20) for title, rows in (
                ("species", self.species), ("parameters", self.parameters),
                ("reactions", self.reactions)) if rows)

    # ---- simulating

    def run(self, until: Optional[float] = None, *, runs: int = 1, seed: int = 1,
            set: Optional[Mapping[str, float]] = None, output: Optional[Path] = None,
            overwrite: bool = False, progress: Tell = None, **options: Any) -> Result:
        """Simulate an ensemble.

        until   the time at which to end; samples are taken at `points` (101) equal steps from 0 on,
                or `every` so much time, or at `times`, which excludes these
        runs    trajectories, numbered from `first` (0)
        set     parameters' values and species' initial molecules, for this call
        device  "auto", "cpu", "cuda", "cuda:0,1"
        method  "direct" (exact), "tau", "hybrid", "ode" or "auto"; on a lattice "mpd" or "nsm"
        species what to record, in the order of the columns: species, rule targets, parameters,
                "[S]" for a concentration; all species and rule targets unless given
        record  "all" samples, "final" ones, "histogram" or "stats" alone; statistics always
        derive  quantities of each trajectory, such as ["period:X", "passage:X:50"]; `burn_in`
        bins, range  of histograms
        frames  of a lattice: the time between two frames
        output  a result file to write instead, which an interrupted run leaves readable; it is
                replaced only with overwrite=True; `compress` is "none", "fast" (unless given) or
                "small", also of what `save` writes
        progress  True, False, a function of the fraction done, or None: a bar where there is a
                terminal or a notebook

        Also layout, threads, block, streams, rng, epsilon, nc, exact_steps, rtol, atol, stiff,
        continuous, profile, split and no_peer, as the command has them (docs/command.md), and
        by_type: counts by type of site, which a run into a file has unless it is False.

        Ctrl-C raises Interrupted, whose `result` holds the trajectories that had ended. What a
        function of progress or a signal's handler raises stops the run and is raised, with such a
        `result` too.
        """
        call = Call(until, runs=runs, seed=seed, **options)
        values, path = values_of(set), path_to_write(output)
        with self._lock:
            self._freeze(values, call.err, call.method == "ode")
            call.warnings += [w for w in self._told() if w not in self._known]
            if path is not None and self._has_types():
                call.settings.setdefault("by_type", True)  # else `saltus resume` cannot go on with it
            plan = self._plans.get(self._handle, call)
            self._forecasts.give(lambda: lib.saltus_run_forecast(plan.handle, call.run))
            with self._plans.in_use():
                return Origin(self, call, values).run(plan, path, overwrite, progress)

    def sweep(self, vary: Mapping[str, Axis], until: Optional[float] = None, *, runs: int = 1,
              seed: int = 1, set: Optional[Mapping[str, float]] = None,
              design: Optional[str] = None, common_random_numbers: bool = False,
              record: str = "stats", output: Optional[Path] = None, overwrite: bool = False,
              progress: Tell = None, device: str = "cpu", **options: Any) -> Any:
        """Simulate an ensemble at every point of a grid, or of a design: an xarray.Dataset with an
        axis for each name of the grid, or the axis `point`.

        vary    values for names of parameters and species: saltus.lin(low, high, n), saltus.log,
                or a row of numbers; for a design lin or log without n
        set     values of other names, the same at all points
        design  "lhs:N" or "sobol:N" points

        Trajectory i of R at point g has the number first + g R + i, with common_random_numbers
        first + i; each has the bits of `run` with these values and number. The other arguments are
        those of `run`.
        """
        call = Call(until, runs=runs, seed=seed, record=record, device=device, **options)
        sweep, lengths, words = grid(vary, design, call.run.seed)
        words += [] if design is None else [f"--design={design}"]
        axes = list(vary)
        values = self._values_of(set, axes, call)
        words += [f"--set={name}={value!r}" for name, value in values.items()]
        path = path_to_write(output)
        with self._lock:
            source, plan, report, stopped = self._run_points(
                sweep, call, values, common_random_numbers, progress, path, overwrite, words,
                {name: lib.saltus_sweep_value(sweep, a, 0) for a, name in enumerate(axes)}
                if path is not None else None)
        if path is not None:
            data = open_result(path)
        else:
            n, done = lib.saltus_sweep_n_points(sweep), source.view.n_points
            at = [np.array([lib.saltus_sweep_value(sweep, a, g) for g in range(done)])
                  for a in range(len(axes))]
            r = self._result(call, plan, source, [], report)
            r.attrs.update(runs_per_point=call.run.n_trajectories, sweep_points=done,
                           common_random_numbers=bool(common_random_numbers),
                           requested=call.run.n_trajectories * n,
                           trajectories=call.run.n_trajectories * done, complete=done == n)
            data = sweep_dataset(source, r, axes, at, lengths, done)
        return give(data, stopped)

    def batch(self, theta: Any, names: Sequence[str], until: Optional[float] = None, *,
              runs: int = 1, seed: int = 1, set: Optional[Mapping[str, float]] = None,
              derive: Names = None, common_random_numbers: bool = False, device: str = "cpu",
              progress: Tell = False, **options: Any) -> np.ndarray:
        """Simulate at many sets of parameters in one launch, for estimation tools.

        theta   float [N, d], a row for each set, in the model's units
        names   [d] parameters, or species, whose initial molecules are set
        set     values of others, the same in all rows
        derive  quantities of each trajectory

        Gives quantities float64[N, run, quantity], or without derive molecules
        int64[N, run, point, species], in the library's memory. Trajectory i of R at row g has the
        number first + g R + i, with common_random_numbers first + i. Interrupted has the rows that
        had ended.
        """
        sweep, axes = points(theta, names)
        derive = None if derive is None else texts("derive", derive)
        if derive and options.pop("record", None) is not None:
            raise InvalidError("with derive, batch gives quantities, whatever record says",
                               "leave one of them out")
        record = "stats" if derive else options.pop("record", "all")
        if not derive and record not in ("all", "final"):
            raise InvalidError(f"record={record!r} keeps nothing of every trajectory",
                               'derive= names quantities, record="final" and "all" keep molecules')
        call = Call(until, runs=runs, seed=seed, derive=derive, device=device, record=record,
                    **options)
        call.without_statistics = True
        values = self._values_of(set, axes, call)
        with self._lock:
            source, *_, stopped = self._run_points(sweep, call, values, common_random_numbers,
                                                   progress, None, False)
        return give(source("derived" if derive else "counts"), stopped)

    @staticmethod
    def _values_of(given: Optional[Mapping[str, float]], axes: Sequence[str],
                   call: Call) -> dict[str, float]:
        """Those of `set`, for all points; of a value that no point has the call tells, as the
        command does."""
        values = values_of(given)
        call.warnings += [f"set: {name!r} is of no account: it is varied" for name in values
                          if name in axes]
        return values

    def _run_points(self, sweep: Any, call: Call, values: dict[str, float], common: bool,
                    progress: Any, path: Optional[str], overwrite: bool, words: Sequence[str] = (),
                    first: Optional[dict[str, float]] = None) -> tuple[Any, Plan, Any, Optional[BaseException]]:
        """Simulate the points of a sweep into memory or a file. values: of all points; words: for
        the command, what they are; first: the values of the first, of which a file's model is, as
        the command's. The lock is held."""
        common = flag("common_random_numbers", common)
        call.device = "cpu" if call.device == "auto" else call.device
        parts = [name for name in ("by_type", "profile") if call.settings.get(name)]
        if parts and (call.without_statistics or call.record != "all" or path is not None):
            raise InvalidError(f"{parts[0]} is kept of runs, and of sweeps with every sample in memory",
                               'record="all" without output=, or run() with the values of a point')
        real, err = call.method == "ode", call.err
        self._freeze({**values, **(first or {})}, err, real)
        self._warn_of_points(sweep, call, values)
        plan = self._plans.get(self._handle, call)
        counted, others = plan.names
        if call.without_statistics and not call.derive and (
                not counted or call.columns is not None and others):
            raise InvalidError("batch gives molecules, and " + (
                f"{others[0]!r} is no species" if counted else "no species is counted here"),
                'derive= names quantities of values; sweep(record="all") keeps them')
        options = ffi.new("saltus_sweep_options *", lib.saltus_sweep_options_default())
        user, name = ffi.new_handle((self, values)), ffi.new("char[]", call.device.encode())
        options.load, options.unload, options.load_user = lib.on_load, lib.on_unload, user
        options.law, options.device = self._law(real), name
        options.common_random_numbers = common
        call.plan_options(options.plan)
        report = ffi.new("saltus_run_report *")
        memory = open_memory(plan, call, lib.saltus_sweep_n_points(sweep)) if path is None else None

        def fill(sink: Any, checkpoint: Any = ffi.NULL) -> int:
            options.run.checkpoint = checkpoint
            return lib.saltus_sweep_run(sweep, options, sink, report, err)

        def run() -> int:
            options.run = call.run[0]  # with what stops it
            if path is None:
                return fill(lib.saltus_memory_sweep_sink(memory))
            archive = self._archive(
                path, call.words("sweep"),
                [*words, *(["--common-random-numbers"] if common else [])], True)
            return into_file(path, plan, call, overwrite, report, err, fill, (sweep, options),
                             archive)
        whole = ffi.new("saltus_run_options *", call.run[0])  # as if all points were like the first
        whole.n_trajectories = min(call.run.n_trajectories * lib.saltus_sweep_n_points(sweep), 2**63 - 1)
        self._forecasts.give(lambda: lib.saltus_run_forecast(plan.handle, whole))
        with self._plans.in_use():
            stopped = carry_out(call, progress, run)
        if path is not None:
            return None, plan, report, stopped
        source = Memory(memory, call.record == "final")
        source.lead = (source.view.n_points,)
        return source, plan, report, stopped

    def _result(self, call: Call, plan: Plan, source: Any, frame_times: Any, report: Any,
                origin: Any = None) -> Result:
        requested, n = call.run.n_trajectories, source.view.n_runs
        attrs = {**plan.about, "seed": call.run.seed, "requested": requested,
                 "first_trajectory": call.run.first_trajectory, "record": call.record,
                 "trajectories": n, "events": report.events, "seconds": report.seconds,
                 "complete": n == requested}
        return Result(source, call.times, *plan.names, call.derived, attrs,
                      frame_times=frame_times, origin=origin)


def _after_fork() -> None:
    for model in list(_models):
        model._renew_after_fork()


os.register_at_fork(after_in_child=_after_fork)
