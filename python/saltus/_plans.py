"""Models compiled for devices, and the devices; each is used again while it fits."""
from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Any, Iterator

from ._errors import InvalidError, check
from ._native import ffi, lib

if TYPE_CHECKING:
    from ._run import Call

_MOST_PLANS = 32
_backends: dict[str, Any] = {}  # by their names: opening a GPU takes long


class Plan:
    """A model compiled for a device. same: of another plan with these columns, which has it too."""

    def __init__(self, handle: Any, model: Any, backend: Any, same: Any) -> None:
        if same is None:
            spacing = lib.saltus_model_lattice(model, ffi.NULL)
            same = ([_text(lib.saltus_plan_count_name(handle, i))
                     for i in range(lib.saltus_plan_n_counts(handle))],
                    [_text(lib.saltus_plan_observable_name(handle, i))
                     for i in range(lib.saltus_plan_n_observables(handle))],
                    {"model": _text(lib.saltus_model_name(model)),
                     "time_unit": _text(lib.saltus_model_time_unit(model)),
                     **({"spacing": spacing} if spacing > 0.0 else {})})
        self.handle = ffi.gc(handle, lambda plan, destroy=lib.saltus_plan_destroy,
                             needed=(model, backend): destroy(plan))  # which outlive it
        self.same = same
        self.names = same[:2]  # of species and observables, as they are recorded
        self.about = {**same[2], "method": _text(lib.saltus_plan_method(handle)),
                      "device": _text(lib.saltus_backend_name(backend)),
                      "layout": _text(lib.saltus_plan_layout(handle))}


def _text(chars: Any) -> str:
    return ffi.string(chars).decode("utf-8", "replace")


class Plans:
    """Those of a model with the values that it is frozen with. Whoever calls has its lock."""

    def __init__(self) -> None:
        self._plans: dict[tuple, Plan] = {}
        self._same: dict[tuple, Any] = {}  # what plans say that does not depend on values
        self._chosen: dict[tuple, Any] = {}  # backends for device="auto"
        self._n_runs = 0  # that are under way, one within the other's progress

    def get(self, model: Any, call: Call) -> Plan:
        """The plan of a call."""
        key: tuple = (call.device, call.plan_key)
        if call.device != "cpu":  # by which a GPU chooses a layout, and auto a device
            key += (call.run.n_trajectories, call.times[-1])
        plan = self._plans.get(key)
        if plan is None:
            if call.settings.get("by_type") and not lib.saltus_model_lattice(model, ffi.NULL) > 0.0:
                raise InvalidError(f"model '{_text(lib.saltus_model_name(model))}' has no lattice, "
                                   "and so no types of sites (by_type)")
            backend = self._backend(model, call, key)
            if len(self._plans) >= _MOST_PLANS:
                self.drop()
            if len(self._same) >= _MOST_PLANS:
                self._same.clear()
            out, err = ffi.new("saltus_plan **"), call.err
            check(lib.saltus_plan_create(model, backend, call.plan_options(), out, err), err)
            plan = Plan(out[0], model, backend, self._same.get(key[1]))
            self._plans[key], self._same[key[1]] = plan, plan.same
        return plan

    def _backend(self, model: Any, call: Call, key: tuple) -> Any:
        device, err = call.device, call.err
        is_chosen = device == "auto"
        known, name = (self._chosen, key) if is_chosen else (_backends, device)
        if name in known:
            return known[name]
        if device != "cpu":
            find_nvrtc()
        out = ffi.new("saltus_backend **")
        check(lib.saltus_backend_choose(model, call.plan_options(), call.run, out, err)
              if is_chosen else lib.saltus_backend_open(device.encode(), out, err), err)
        if is_chosen and len(known) >= _MOST_PLANS:
            self.drop()  # they use these
            known.clear()
        known[name] = ffi.gc(out[0], lib.saltus_backend_close)
        return known[name]

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Meanwhile no plan is freed."""
        self._n_runs += 1
        try:
            yield
        finally:
            self._n_runs -= 1

    def drop(self) -> None:
        """Free them: the model changes."""
        if self._n_runs:
            raise InvalidError("the model is being simulated: what progress= calls cannot give it "
                               "other values, look at these, or close it")
        while self._plans:
            ffi.release(self._plans.popitem()[1].handle)

    def close(self) -> None:
        self.drop()
        self._chosen.clear()


@functools.lru_cache(maxsize=None)
def find_nvrtc() -> None:
    """Open the NVRTC of the package nvidia-cuda-nvrtc, once, so that the library finds it by its
    name, also where another folder than this package's holds it. Without one the library looks
    where the system has it."""
    import ctypes
    import glob
    import importlib.util
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(glob.glob(f"{folder}/c*/lib/libnvrtc.so.*"), reverse=True):
            with contextlib.suppress(OSError):
                ctypes.CDLL(path)
                return
