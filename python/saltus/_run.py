"""A call: its options as the library takes them, its progress, and how it is carried out, into
memory or a file."""
from __future__ import annotations

import contextlib
import functools
import math
import os
import signal
import sys
import threading
import time
import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Optional, Union

import numpy as np

from ._arrays import Memory
from ._errors import (CANCELLED, Interrupted, InvalidError, check, flag, hdf5, near, need, number,
                      record as new_record, row, sentence, split, text, texts, warn, whole)
from ._files import Path, result_path
from ._native import ffi, lib
from ._plans import Plan
from ._result import Result, open as open_result
from ._series import Names

if TYPE_CHECKING:
    from ._model import Model

RECORDS = {"all": 0, "stats": 1, "final": 2, "histogram": 3}
COMPRESS = {"none": 0, "fast": 1, "small": 2}  # of a file
LAWS = {"literal": 0, "combinatorial": 1}
STOICHIOMETRIES = {"refuse": 0, "draw": 2}  # added to a law
AMOUNTS_REAL = 4  # by method ode, added too
# Arguments of a plan, beside method and species, and the library's fields.
SETTINGS = {"layout": "layout", "threads": "n_threads", "block": "block", "streams": "n_streams",
            "rng": "rng", "epsilon": "epsilon", "nc": "n_critical", "exact_steps": "n_exact",
            "continuous": "continuous", "rtol": "rtol", "atol": "atol", "stiff": "stiff",
            "by_type": "by_type", "profile": "profile", "split": "split", "no_peer": "no_peer"}
CHECKPOINT = 60.0  # seconds from one of a file to the next, as the command's
MOST_FRAMES = 1 << 24  # the command's
FEW_TIMES = 10_000  # that are kept for the next call
Tell = Union[bool, Callable[[float], object], None]  # of progress
_run_defaults = lib.saltus_run_options_default()
_plan_defaults = lib.saltus_plan_options_default()
_memory_defaults = lib.saltus_memory_options_default()
_file_defaults = lib.saltus_hdf5_options_default()
_types = {name: field.type.cname for name, field in ffi.typeof("saltus_plan_options").fields}


def make_times(until: float, points: int, every: float, name: str = "every",
               most: float = 1e9) -> np.ndarray:
    """float64[point], bit for bit the times of the command's --points and --every, or --frames."""
    if not 0.0 < until < math.inf:
        raise InvalidError(f"until={until!r} must be a time above 0")
    if every > 0.0:
        if until / every >= most:
            raise InvalidError(f"{name}={every!r} up to time {until!r} makes more than "
                               f"{most:.0f} times")
        whole = math.floor(until / every * (1.0 + 1e-12))
        n = whole + 1 + (whole * every < until * (1.0 - 1e-12))
    else:
        n = points
        if n > most:
            raise InvalidError(f"points={points}: at most {most:.0f} sample times can be asked for")
        if math.isinf(until * points):
            raise InvalidError(f"until={until!r}: with {points} sample times it must be below "
                               f"{sys.float_info.max / points:.3g}")
    return (_few_times if n <= FEW_TIMES else _make_times)(until, n, every)


def _make_times(until: float, n: int, every: float) -> np.ndarray:
    times = np.arange(n, dtype=float)
    if every > 0.0:
        times *= every
    else:
        times *= until
        times /= max(n - 1, 1)
    times[-1] = until
    times.flags.writeable = False
    return times


_few_times = functools.lru_cache(maxsize=64)(_make_times)


def _times(until: Optional[float], points: Optional[int], every: Optional[float],
           times: Optional[Iterable[float]]) -> np.ndarray:
    if times is not None:
        if until is not None or points is not None or every is not None:
            raise InvalidError("times excludes until, points and every")
        return row("times", times)
    if until is None:
        raise InvalidError("until or times is needed: when to end")
    if points is not None and every is not None:
        raise InvalidError("points and every exclude each other")
    n = 101 if points is None else whole("points", points)
    if n < 1:
        raise InvalidError(f"points={points}: at least 1 is needed")
    step = 0.0 if every is None else number("every", every)
    if every is not None and not step > 0.0:
        raise InvalidError(f"every={every!r} must be above 0")
    return make_times(number("until", until), n, step)


def _chars(keep: list, value: Optional[str]) -> Any:
    if value is None:
        return ffi.NULL
    keep.append(ffi.new("char[]", value.encode()))
    return keep[-1]


def _setting(name: str, value: Any) -> Any:
    """An argument of a plan, of the type that the library's field has."""
    kind = _types[SETTINGS[name]]
    if kind == "char *":
        return text(name, value)
    of_kind = {"double": number, "_Bool": flag}.get(kind, whole)
    return of_kind(name, value)


def _range(given: Any) -> tuple[float, float]:
    try:
        low, high = given
    except (TypeError, ValueError) as failure:
        raise InvalidError(f"range={given!r} must be two numbers") from failure
    low, high = number("range", low), number("range", high)
    if not low < high:  # equal ones would be none to the library
        raise InvalidError(f"range={given!r} must rise")
    return low, high


class Call:
    """The arguments of a run, or of every point of a sweep, as structs of the library."""

    def __init__(self, until: Optional[float] = None, *, points: Optional[int] = None,
                 every: Optional[float] = None, times: Optional[Iterable[float]] = None,
                 runs: int = 1, first: int = 0, seed: int = 1, device: str = "auto",
                 method: Optional[str] = None, species: Names = None, record: str = "all",
                 derive: Names = None, burn_in: float = 0.0, bins: Optional[int] = None,
                 range: Optional[tuple[float, float]] = None, frames: Optional[float] = None,
                 compress: Optional[str] = None, **settings: Any) -> None:
        if text("record", record) not in RECORDS:
            raise near("record", record, RECORDS)
        if compress is not None and text("compress", compress) not in COMPRESS:
            raise near("compress", compress, COMPRESS)
        for name in settings:
            if name not in SETTINGS:
                raise near("the call", name, SETTINGS)
        seed, runs, first = whole("seed", seed), whole("runs", runs), whole("first", first)
        if not 0 <= seed < 1 << 64:
            raise InvalidError(f"seed={seed} must be from 0 to 2^64 - 1")
        for name, n, least in (("runs", runs, 1), ("first", first, 0)):
            if not least <= n < 1 << 63:
                raise InvalidError(f"{name}={n} must be from {least} to 2^63 - 1")
        self.times, self.record, self.device = (_times(until, points, every, times), record,
                                                text("device", device))
        self.every, self.compress = every, compress
        self.settings = {name: _setting(name, value) for name, value in settings.items()
                         if value is not None}
        self.method = None if method is None else text("method", method)
        self.columns = None if species is None else texts("species", species)
        if self.columns == "":
            raise InvalidError(f"species={species!r} names none")
        self.derive = None if derive is None else texts("derive", derive) or None
        self.derived = split(self.derive) if self.derive else []
        self.burn_in = number("burn_in", burn_in)
        self.bins = 0 if bins is None else whole("bins", bins)  # 0: the library's own number
        if bins is not None and not 1 <= self.bins <= lib.SALTUS_MOST_BINS:
            raise InvalidError(f"bins={bins!r} must be from 1 to {lib.SALTUS_MOST_BINS}")
        if not self.burn_in >= 0.0:
            raise InvalidError(f"burn_in={burn_in!r} must be a time from 0 on")
        if self.burn_in > 0.0 and not self.derive:
            raise InvalidError("burn_in is for derive, which is not there: statistics are of every "
                               "sample time")
        self.range = None if range is None else _range(range)
        self.without_statistics = False  # of what is kept in memory
        self.frame_step = frames
        if frames is not None and not number("frames", frames) > 0.0:
            raise InvalidError(f"frames={frames!r} must be above 0")
        if frames is not None and times is not None and not 0.0 < self.times[-1] < math.inf:
            raise InvalidError(f"times ends with {float(self.times[-1])!r}: with frames it must end "
                               "with a time above 0")
        self.frames = (make_times(float(self.times[-1]), 1, float(frames), "frames", MOST_FRAMES)
                       if frames else np.empty(0))
        self.err = new_record()
        self.run = run = ffi.new("saltus_run_options *", _run_defaults)
        run.seed, run.first_trajectory, run.n_trajectories = seed, first, runs
        self._keep: list = [ffi.from_buffer("double[]", self.times)]
        run.times, run.n_times = self._keep[0], len(self.times)
        if len(self.frames):
            self._keep.append(ffi.from_buffer("double[]", self.frames))
            run.frame_times, run.n_frames = self._keep[-1], len(self.frames)
        self.warnings: list[str] = []
        self._tell_idle()
        self._keep.append(ffi.new_handle(self.warnings))
        run.warn, run.warn_user = lib.on_warn, self._keep[-1]

    def _tell_idle(self) -> None:
        """Arguments that steer what is not there are told, as the command does."""
        leaps = [name for name in ("epsilon", "nc", "exact_steps") if name in self.settings]
        if leaps and self.method not in ("tau", "auto"):
            self.warnings.append(f"{leaps[-1]} steers leaps, which are of method 'tau' alone")
        if "continuous" in self.settings and self.method != "hybrid":
            self.warnings.append("continuous is of method 'hybrid' alone")
        if (self.bins or self.range is not None) and self.record != "histogram":
            self.warnings.append(f"{'bins' if self.bins else 'range'} is of record 'histogram' "
                                 "alone")

    def tell(self) -> None:
        """Warn of what there is to say, once."""
        while self.warnings:
            warn(self.warnings.pop(0))

    def tell_all(self) -> Optional[Warning]:
        """The same, to the end: the first warning that the caller's filters make an error."""
        first = None
        while self.warnings:
            try:
                self.tell()
            except Warning as failure:
                first = first or failure
        return first

    def words(self, command: str) -> Optional[list[str]]:
        """The options of the command that simulates the same, for `saltus resume`; None where it
        has none."""
        run, n = self.run, len(self.times)
        given: dict[str, Any] = {
            "until": float(self.times[-1]), "runs": run.n_trajectories,
            "first": run.first_trajectory or None,
            "seed": run.seed, "device": self.device, "method": self.method, "record": self.record,
            "species": self.columns, "derive": self.derive, "burn-in": self.burn_in or None,
            "bins": self.bins or None, "frames": self.frame_step, "compress": self.compress}
        if self.every is not None:
            given["every"] = float(self.every)
        elif n > 0 and np.array_equal(self.times, make_times(float(self.times[-1]), n, 0.0)):
            given["points"] = n
        else:
            return None
        if self.range is not None:
            given["range"] = "%r:%r" % self.range
        for name, value in self.settings.items():
            if name != "by_type" and value not in (0, False):
                given[name.replace("_", "-")] = value
        if given.pop("no-peer", False):
            given["no-peer"] = ""
        return [f"saltus {command}"] + [
            f"--{name}" + (f"={value}" if value != "" else "")
            for name, value in given.items() if value is not None]

    @property
    def plan_key(self) -> tuple:
        return (self.method, self.columns, *sorted(self.settings.items()))

    def plan_options(self, out: Any = None) -> Any:
        """Fill in a saltus_plan_options, whose texts live as long as the call."""
        if out is None:
            out = ffi.new("saltus_plan_options *", _plan_defaults)
        out.method, out.columns = _chars(self._keep, self.method), _chars(self._keep, self.columns)
        out.n_expected = self.run.n_trajectories
        for name, value in self.settings.items():
            field = SETTINGS[name]
            try:
                setattr(out, field, _chars(self._keep, value) if isinstance(value, str) else value)
            except OverflowError as failure:
                raise InvalidError(f"{name}={value!r} does not fit into {_types[field]}") from failure
        return out

    def result_options(self, out: Any) -> Any:
        """Fill in what options of files and of memory have in common."""
        out.record, out.n_bins, out.burn_in = RECORDS[self.record], self.bins, self.burn_in
        out.derive = _chars(self._keep, self.derive)
        if self.range is not None:
            out.range_low, out.range_high = self.range
        return out

class Progress:
    """A tqdm bar while a run lasts, where there is a terminal or a notebook; or a function that is
    called with the fraction done, 0 to 1, from the calling thread, and with 1 when all is done.
    What the function raises stops the run. So does what a handler of a signal raises: Python calls
    it whenever the run tells of its progress, if need be to nobody."""

    _under_way: list[Progress] = []  # in the main thread, one within the other's function

    def __init__(self, call: Call, wanted: Tell, is_main: bool) -> None:
        self._bar: Any = None
        self._tell = wanted if callable(wanted) else None
        self._told = 0.0
        self.failure: Optional[BaseException] = None  # of the function's, or of a handler's
        self._is_broken = False  # of the bar, without which a run goes on
        self._call, self._is_main = call, is_main
        if wanted is not None and self._tell is None:
            wanted = flag("progress", wanted, "True, False or a function")
        if wanted is True:
            need("tqdm", "progress=True")
        elif wanted is None:
            wanted = ("ipykernel" in sys.modules or (
                sys.stderr is not None and sys.stderr.isatty())) and bool(find_spec("tqdm"))
        self._has_bar = bool(wanted) and self._tell is None
        self._handle: Any = None
        if wanted or is_main and lib.has_handlers():
            self._handle = ffi.new_handle(self)
            call.run.progress, call.run.progress_user = lib.on_progress, self._handle
        if is_main:
            self._under_way.append(self)

    def _draw(self, fraction: float) -> None:
        if self._bar is None:
            with warnings.catch_warnings():  # a notebook without widgets gets a bar of text
                warnings.simplefilter("ignore")
                from tqdm.auto import tqdm
                self._bar = tqdm(total=1.0, leave=False,
                                 bar_format="{percentage:3.0f}%|{bar}| [{elapsed}<{remaining}]")
        self._bar.update(fraction - self._bar.n)

    def _try_bar(self, use: Callable[[], object]) -> None:
        if not self._is_broken:
            try:
                use()
            except Exception as failure:
                if is_of_handler(failure):
                    raise
                self._is_broken = True
                self._call.warnings.append(f"the progress bar could not be drawn: {failure}")

    def tell(self, fraction: float) -> None:
        if self.failure is not None:
            return
        self._told = fraction
        try:
            if self._tell is not None:
                self._tell(fraction)
            elif self._has_bar:
                self._try_bar(lambda: self._draw(fraction))
        except BaseException as failure:
            self.stop(failure)

    def stop(self, failure: BaseException) -> bool:
        """End the run, if it is under way, to raise this again when it has ended."""
        stop = self._call.run.stop
        if stop == ffi.NULL:
            return False
        self.failure = self.failure or failure
        ffi.cast("volatile int *", stop)[0] = 1
        return True

    def finish(self) -> None:
        """All is done."""
        if self._tell is not None and self._told != 1.0:
            self.tell(1.0)

    def close(self) -> None:
        self._call.run.progress = self._call.run.progress_user = ffi.NULL
        self._handle = None  # which holds this, and so the call's times
        if self._is_main:
            self._under_way.remove(self)
        if self._bar is not None:
            self._try_bar(self._bar.close)


def is_of_handler(failure: BaseException) -> bool:
    """Whether a signal's handler has raised this, in the middle of something else."""
    handlers = {getattr(signal.getsignal(n), "__code__", None) for n in signal.valid_signals()}
    where = failure.__traceback__
    while where is not None and where.tb_frame.f_code not in handlers:
        where = where.tb_next
    return where is not None


def stop_innermost(kind: Any, failure: BaseException, where: Any) -> None:
    """A handler has raised this while the library called Python, before or behind what is called."""
    is_main = threading.get_ident() == threading.main_thread().ident
    for bar in reversed(Progress._under_way if is_main else []):
        if bar.stop(failure):
            return
    sys.excepthook(kind, failure, where)


@ffi.def_extern(onerror=stop_innermost)
def on_progress(user: Any, progress: Any) -> None:
    ffi.from_handle(user).tell(progress.fraction)


@ffi.def_extern(onerror=stop_innermost)
def on_warn(user: Any, said: Any) -> None:
    ffi.from_handle(user).append(ffi.string(said).decode("utf-8", "replace"))


def values_of(given: Optional[Mapping[str, float]]) -> dict[str, float]:
    """The values of `set`, as floats."""
    if given is None:
        return {}
    if not hasattr(given, "items"):
        raise InvalidError(f"set={given!r} must be names with numbers")
    return {text("a name of set", str(name)): number(f"set: {name}", value)
            for name, value in given.items()}


class Forecasts:
    """Warnings of what will take more than an hour, as the command's. To reckon that takes 0.1 to 500
    ms, which many short runs would feel: it is left out until ten times as long has passed."""

    def __init__(self) -> None:
        self._not_before = 0.0

    def give(self, make: Callable[[], Any]) -> None:
        """make: the saltus_forecast of the whole."""
        begun = time.perf_counter()
        if begun < self._not_before:
            return
        found = make()
        now = time.perf_counter()
        self._not_before = now + 10.0 * (now - begun)
        hours = found.seconds / 3600.0
        if not hours > 1.0:
            return
        unit, of_hours = (("years", 365.25 * 24.0) if hours > 2.0 * 365.25 * 24.0 else
                          ("days", 24.0) if hours > 48.0 else ("hours", 1.0))
        warn(f"this is expected to take about {hours / of_hours:.2g} {unit} ({found.n:.2g} "
             f"{sentence(found.of)}); what would help: {sentence(found.advice)}")


def path_to_write(output: Optional[Path]) -> Optional[str]:
    if output is None:
        return None
    need("h5py", "output=")  # which reads what was written: better known before
    return result_path("output", output)


def open_memory(plan: Plan, call: Call, n_points: int) -> Any:
    options = ffi.new("saltus_memory_options *", _memory_defaults)
    options.without_statistics = call.without_statistics
    out, err = ffi.new("saltus_memory **"), call.err
    check(lib.saltus_memory_open(plan.handle, call.run, n_points, call.result_options(options), out,
                                 err), err)
    return ffi.gc(out[0], lib.saltus_memory_close)


def into_file(path: str, plan: Plan, call: Call, overwrite: bool, report: Any, err: Any,
              fill: Callable[[Any, Any], int], sweep: tuple = (), archive: Any = ffi.NULL) -> int:
    """Open a result file, of a sweep with its options or of a run; fill its sink, with what keeps
    trajectories that are under way, and close it. archive: of what the file can go on from,
    Model._archive's."""
    options, name = ffi.new("saltus_hdf5_options *", _file_defaults), os.fsencode(path)
    options.overwrite, options.archive = flag("overwrite", overwrite), archive
    if call.words("sweep" if sweep else "run") is not None:  # else nothing could go on with it
        options.checkpoint = CHECKPOINT
    if call.compress is not None:
        options.compress = COMPRESS[call.compress]
    call.result_options(options)
    with hdf5:
        if sweep:
            out = ffi.new("saltus_sweep_file **")
            sink, close = lib.saltus_sweep_file_sink, lib.saltus_sweep_file_close
            kept = lib.saltus_sweep_file_checkpoint
            status = lib.saltus_sweep_file_open(name, *sweep, plan.handle, options, out, err)
        else:
            out = ffi.new("saltus_hdf5_sink **")
            sink, close = lib.saltus_hdf5_sink_get, lib.saltus_hdf5_sink_close
            kept = lib.saltus_hdf5_sink_checkpoint
            status = lib.saltus_hdf5_sink_open(name, plan.handle, call.run, options, out, err)
        if status == 0:
            try:
                status = fill(sink(out[0]), kept(out[0]))
            finally:  # also where a signal's handler raises, which Python calls after the run
                closed = close(out[0], report, err)
            status = status or closed
    return status


def carry_out(call: Call, progress: Any, run: Callable[[], int]) -> Optional[BaseException]:
    """Run, under a bar. Ctrl-C stops it when this is the main thread, where Python would act on it
    only afterwards; so does what a function of progress or a signal's handler raises. Gives what is
    to be raised when what had ended was taken; other failures are raised at once."""
    call.tell()
    is_main = threading.get_ident() == threading.main_thread().ident
    own, watched, options = ffi.new("int *"), ffi.NULL, call.run
    bar = Progress(call, progress, is_main)
    try:
        watched = lib.watch_interrupt() if is_main else ffi.NULL
        options.stop = watched if watched != ffi.NULL else own
        status = run()
        if status == 0:
            bar.finish()
    finally:
        interrupted = watched != ffi.NULL and lib.end_watch()
        options.stop = ffi.NULL
        bar.close()
    failure, told = bar.failure, call.tell_all()
    if failure is not None and status not in (0, CANCELLED):
        raise failure
    if not ((interrupted or failure is not None) and status == CANCELLED):
        check(status, call.err)
    if interrupted:  # a handler of the caller's own has its turn; Python's would only raise
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler) and handler is not signal.default_int_handler:
            handler(signal.SIGINT, None)
    return failure or (KeyboardInterrupt() if interrupted else None) or told


def give(result: Any, stopped: Optional[BaseException]) -> Any:
    """What a call gives, or raises when it was stopped."""
    if type(stopped) is KeyboardInterrupt:
        raise Interrupted(result) from stopped
    if stopped is not None:
        with contextlib.suppress(AttributeError, TypeError):  # of one that takes no attributes
            stopped.result = result  # type: ignore[attr-defined]
        raise stopped
    return result


class Origin:
    """Where a result comes from: a model with values, and a call."""

    def __init__(self, model: Model, call: Call, values: dict[str, float]) -> None:
        self.model, self.call, self.values = model, call, values
        self.memory: Any = None
        self.report = ffi.new("saltus_run_report *")

    def run(self, plan: Plan, path: Optional[str], overwrite: bool, progress: Any) -> Result:
        """Into a file or into memory."""
        call = self.call

        def fill(sink: Any, checkpoint: Any = ffi.NULL) -> int:
            call.run.checkpoint = checkpoint
            status = lib.saltus_run(plan.handle, call.run, sink, self.report, call.err)
            call.run.checkpoint = ffi.NULL  # which goes with the file
            return status
        if path is not None:
            archive = self.archive(path)
            stopped = carry_out(call, progress, lambda: into_file(
                path, plan, call, overwrite, self.report, call.err, fill, archive=archive))
            return give(open_result(path), stopped)
        self.memory = open_memory(plan, call, 0)
        stopped = carry_out(call, progress, lambda: fill(lib.saltus_memory_sink(self.memory)))
        source = Memory(self.memory, call.record == "final")
        return give(self.model._result(call, plan, source, call.frames, self.report, self), stopped)

    def archive(self, path: str) -> Any:
        return self.model._archive(path, self.call.words("run"),
                                   [f"--set={name}={value!r}" for name, value in self.values.items()],
                                   self.call.settings.get("by_type"))

    def save(self, path: str, overwrite: bool) -> None:
        """Hand what is in memory to a file."""
        model, err = self.model, new_record()
        with model._lock:
            model._freeze(self.values, real=self.call.method == "ode")
            check(into_file(path, model._plans.get(model._handle, self.call), self.call, overwrite, self.report, err,
                            lambda sink, _: lib.saltus_memory_replay(self.memory, sink, err),
                            archive=self.archive(path)), err)
