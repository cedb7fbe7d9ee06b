"""Results, and sweeps of them, with named axes."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Sequence

import numpy as np

from ._arrays import SAMPLES, SPLITS, STATISTICS
from ._errors import need

if TYPE_CHECKING:
    from ._result import Result

# What a sweep's Dataset may have beside the names that were varied: variables, axes.
_OWN = frozenset((*SAMPLES, *STATISTICS, *(f"observable_{s}" for s in STATISTICS), "histogram",
                  *(f"{of}_{s}" for of in SPLITS for s in STATISTICS[:2]), "edges",
                  "trajectory", "point", "run", "time", "species", "observable", "site_type",
                  "plane", "bin", "edge"))


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
        there = source("there")
        if there is not None and not there.all():  # an interrupted run has not made all of them
            where = np.asarray(there, bool)[..., None, None, None, None]
            frames = np.where(where, frames.astype(float), np.nan)
        coords["frame"] = np.asarray(r.frame_times)
        arrays.append(("frames", frames, ("row", "frame", "z", "y", "x", "species"), "count"))
    variables = {name: ((*lead, *dims), a, {"units": unit}) for name, a, dims, unit in arrays}
    attrs = {k: int(v) if isinstance(v, bool) else v for k, v in r.attrs.items()
             if isinstance(v, (str, int, float))}
    data = xarray.Dataset(variables, coords, attrs)
    data["time"].attrs["units"] = r.attrs.get("time_unit") or "1"
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
