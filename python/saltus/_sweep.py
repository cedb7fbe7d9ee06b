"""Which values the names of a sweep take, and the models that its threads use."""
from __future__ import annotations

from typing import Any, Iterable, Mapping, Optional, Sequence, Union

import numpy as np

from ._errors import InvalidError, chars, check, number, numbers, record, row, text, whole
from ._native import ffi, lib
from ._run import stop_innermost

Axis = Union[str, Iterable[float]]


def lin(low: float, high: float, n: Optional[int] = None) -> str:
    """n equally spaced values from low to high, both included; of a design without n."""
    return (f"lin:{number('low', low)!r}:{number('high', high)!r}" +
            (f":{whole('n', n)}" if n is not None else ""))


def log(low: float, high: float, n: Optional[int] = None) -> str:
    """n values from low to high, both included, in equal ratios; of a design without n."""
    return "log" + lin(low, high, n)[3:]


def _new() -> Any:
    out, err = ffi.new("saltus_sweep **"), record()
    check(lib.saltus_sweep_create(out, err), err)
    return ffi.gc(out[0], lib.saltus_sweep_destroy)


def grid(vary: Mapping[str, Axis], design: Optional[str], seed: int) -> tuple[Any, list[int], list[str]]:
    """A saltus_sweep of all combinations or of a design, the lengths of its axes, and what the
    command calls these."""
    if not isinstance(vary, Mapping) or not vary:
        raise InvalidError("a sweep needs names with their values, such as "
                           '{"k": saltus.lin(0, 1, 5)}')
    sweep, err, words = _new(), record(), []
    how = ffi.NULL if design is None else text("design", design).encode()
    for name, axis in vary.items():
        if not isinstance(axis, str):
            values = row(f"the values of '{name}'", axis)
            axis = "list:" + ",".join(map(repr, values.tolist()))
        words.append(f"--vary={name}={axis}")
        check(lib.saltus_sweep_vary(sweep, chars("vary", f"{name}={axis}"), err), err)
    check(lib.saltus_sweep_finish(sweep, how, seed, err), err)
    return sweep, [lib.saltus_sweep_axis_length(sweep, a) for a in range(len(vary))], words


def points(theta: Any, names: Sequence[str]) -> tuple[Any, list[str]]:
    """A saltus_sweep whose points are the rows of theta, and the names of its axes."""
    try:
        names = [names] if isinstance(names, str) else [str(name) for name in names]
    except TypeError as failure:
        raise InvalidError(f"names={names!r} must be a text or a row of texts") from failure
    values = np.ascontiguousarray(numbers("theta", theta))
    if values.shape == (0, len(names)):
        raise InvalidError("theta has no rows: one at least is needed")
    if values.ndim != 2 or values.shape[1] != len(names) or not values.size:
        raise InvalidError(f"theta must be of shape [N, {len(names)}], a column for each of "
                           f"{', '.join(map(repr, names))}, not {list(values.shape)}")
    sweep, err = _new(), record()
    texts = [ffi.new("char[]", chars("a name of theta", name)) for name in names]
    check(lib.saltus_sweep_table(sweep, ffi.new("char *[]", texts), len(names),
                                 ffi.from_buffer("double[]", values), len(values), err), err)
    return sweep, names


@ffi.def_extern(onerror=stop_innermost)
def on_load(user: Any, err: Any) -> Any:
    model, values = ffi.from_handle(user)
    return model.load(values, err)


@ffi.def_extern(onerror=stop_innermost)
def on_unload(user: Any, model: Any) -> None:
    ffi.from_handle(user)[0].unload(model)
