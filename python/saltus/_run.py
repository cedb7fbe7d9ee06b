"""Runs of a plan: into memory or files, and what is raised afterwards."""
from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING, Any, Callable, Optional

from ._call import Call, Progress
from ._errors import CANCELLED, Interrupted, check, hdf5, need, record
from ._files import Path
from ._native import ffi, lib
from ._result import Memory, Result, open as open_result

if TYPE_CHECKING:
    from ._model import Model

_memory_defaults = lib.saltus_memory_options_default()
_file_defaults = lib.saltus_hdf5_options_default()


class Plan:
    """A model compiled for a device. same: of another plan with these columns, which has it too."""

    def __init__(self, handle: Any, model: Any, backend: Any, same: Any) -> None:
        def destroy(plan: Any, destroy: Any = lib.saltus_plan_destroy,
                    needed: Any = (model, backend)) -> None:  # which must outlive it
            destroy(plan)

        if same is None:
            spacing = lib.saltus_model_lattice(model, ffi.NULL)
            same = ([_text(lib.saltus_plan_count_name(handle, i))
                     for i in range(lib.saltus_plan_n_counts(handle))],
                    [_text(lib.saltus_plan_observable_name(handle, i))
                     for i in range(lib.saltus_plan_n_observables(handle))],
                    {"model": _text(lib.saltus_model_name(model)),
                     "time_unit": _text(lib.saltus_model_time_unit(model)),
                     **({"spacing": spacing} if spacing > 0.0 else {})})
        self.handle, self.same = ffi.gc(handle, destroy), same
        self.names = same[:2]  # of species and observables, as they are recorded
        self.about = {**same[2], "method": _text(lib.saltus_plan_method(handle)),
                      "device": _text(lib.saltus_backend_name(backend)),
                      "layout": _text(lib.saltus_plan_layout(handle))}


def _text(chars: Any) -> str:
    return ffi.string(chars).decode()


def path_to_write(output: Optional[Path]) -> Optional[str]:
    if output is None:
        return None
    need("h5py", "output=")  # which reads what was written: better known before
    return os.fspath(output)


def open_memory(plan: Plan, call: Call, n_points: int) -> Any:
    options = ffi.new("saltus_memory_options *", _memory_defaults)
    options.without_statistics = call.without_statistics
    out, err = ffi.new("saltus_memory **"), call.err
    check(lib.saltus_memory_open(plan.handle, call.run, n_points, call.result_options(options), out,
                                 err), err)
    return ffi.gc(out[0], lib.saltus_memory_close)


def into_file(path: str, plan: Plan, call: Call, overwrite: bool, report: Any, err: Any,
              fill: Callable[[Any], int], sweep: tuple = ()) -> int:
    """Open a result file, of a sweep with its options or of a run; fill its sink and close it."""
    options, name = ffi.new("saltus_hdf5_options *", _file_defaults), os.fsencode(path)
    options.overwrite = overwrite
    call.result_options(options)
    with hdf5:
        if sweep:
            out = ffi.new("saltus_sweep_file **")
            sink, close = lib.saltus_sweep_file_sink, lib.saltus_sweep_file_close
            status = lib.saltus_sweep_file_open(name, *sweep, plan.handle, options, out, err)
        else:
            out = ffi.new("saltus_hdf5_sink **")
            sink, close = lib.saltus_hdf5_sink_get, lib.saltus_hdf5_sink_close
            status = lib.saltus_hdf5_sink_open(name, plan.handle, call.run, options, out, err)
        if status == 0:
            status = fill(sink(out[0]))
            closed = close(out[0], report, err)
            status = status or closed
    return status


def carry_out(call: Call, progress: Any, run: Callable[[], int]) -> Optional[KeyboardInterrupt]:
    """Run, under a bar. Ctrl-C stops it when this is the main thread, where Python would act on it
    only afterwards. Gives what is to be raised when what had ended was taken; other failures are
    raised at once."""
    bar, options = Progress(call.run, progress), call.run
    if threading.get_ident() == threading.main_thread().ident:
        options.stop = lib.watch_interrupt()
    try:
        status = run()
    finally:
        interrupted = options.stop != ffi.NULL and lib.end_watch()
        options.stop = ffi.NULL
    bar.close()
    if call.warnings:
        call.warn()
    if not (interrupted and status == CANCELLED):
        check(status, call.err)
    if interrupted:  # a handler of the caller's own has its turn; Python's would only raise
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler) and handler is not signal.default_int_handler:
            handler(signal.SIGINT, None)
    return KeyboardInterrupt() if interrupted else None


def give(result: Any, stopped: Optional[KeyboardInterrupt]) -> Any:
    """What a call gives, or raises when it was interrupted."""
    if stopped is not None:
        raise Interrupted(result) from stopped
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

        def fill(sink: Any) -> int:
            return lib.saltus_run(plan.handle, call.run, sink, self.report, call.err)
        if path is not None:
            stopped = carry_out(call, progress, lambda: into_file(
                path, plan, call, overwrite, self.report, call.err, fill))
            return give(open_result(path), stopped)
        self.memory = open_memory(plan, call, 0)
        stopped = carry_out(call, progress, lambda: fill(lib.saltus_memory_sink(self.memory)))
        source = Memory(self.memory, call.record == "final")
        return give(self.model._result(call, plan, source, call.frames, self, self.report), stopped)

    def save(self, path: str, overwrite: bool) -> None:
        """Hand what is in memory to a file."""
        model, err = self.model, record()
        with model._lock:
            model._freeze(self.values)
            check(into_file(path, model._plan(self.call), self.call, overwrite, self.report, err,
                            lambda sink: lib.saltus_memory_replay(self.memory, sink, err)), err)
