"""Saltus: exact stochastic simulation of reaction networks.

    import saltus
    m = saltus.read("schlogl.xml")
    r = m.run(until=10, runs=10_000, seed=1)
    r["X"]           # molecules, int64[run, point]
    r.mean()         # float64[point, column]

`read` and `build` give a Model; `Model.run` gives a Result, `Model.sweep` an xarray.Dataset,
`Model.batch` arrays for many sets of parameters at once. `open` reads a result file. Times are in
the model's unit of time, counts are numbers of molecules. A trajectory depends on the model, the
method, the seed and its number alone, on whatever device it is simulated.
"""
from __future__ import annotations

from . import _native
from ._convert import from_antimony, from_gillespy2, from_pysb
from ._errors import (DeviceError, Error, Interrupted, InvalidError, ModelError, NumericError,
                      UnavailableError)
from ._model import Model, devices
from ._read import build, read
from ._report import report
from ._result import Result, open, plot
from ._sweep import lin, log

__version__: str = _native.ffi.string(_native.lib.saltus_version()).decode()
__all__ = ["DeviceError", "Error", "Interrupted", "InvalidError", "Model", "ModelError",
           "NumericError", "Result", "UnavailableError", "build", "devices", "from_antimony",
           "from_gillespy2", "from_pysb", "lin", "log", "open", "plot", "read", "report"]
