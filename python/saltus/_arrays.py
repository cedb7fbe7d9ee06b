"""Where a result's arrays are: in the library's memory, in a file that is read when asked, or here."""
from __future__ import annotations

from typing import Any, Optional, Sequence

import numpy as np

from ._errors import FileError, hdf5, need, unreadable
from ._files import check_regular
from ._native import ffi, lib

STATISTICS = ("mean", "variance", "min", "max")
SPLITS = ("type_counts", "profile")
_OF_RUNS = ("counts", "observables", "trajectories", "derived", *SPLITS)  # in their order
SAMPLES = ("counts", "observables", "trajectories", "frames", *SPLITS)
# Types of arrays, in files and in a saltus_memory, and their axes there, whose lengths are in its
# view or made of them.
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

    def __init__(self, owner: Any, pointer: Any, shape: Sequence[int], kind: str,
                 read_only: bool) -> None:
        self.owner = owner
        self.__array_interface__ = {"version": 3, "shape": tuple(shape), "typestr": kind,
                                    "data": (int(ffi.cast("uintptr_t", pointer)), read_only)}


class Memory:
    """Arrays of a saltus_memory by their names, none of them copied. Of a sweep with `lead`, the
    lengths of its axes, in front; those are whoever's who gets them, while a run's are read only,
    as its result gives them again."""

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
        return np.asarray(_Held(self.owner, pointer, (*self.lead, *shape), kind,
                                read_only=not self.lead))

    def part(self, name: str, where: Any) -> Optional[np.ndarray]:
        array = self(name)
        return None if array is None else array[where]

    def __reduce__(self) -> tuple:
        arrays = {name: self(name) for name in _AXES}
        return _Arrays, ({name: a for name, a in arrays.items() if a is not None},)


class _Arrays(dict):
    """Arrays by their names, of a result that was pickled."""

    def __call__(self, name: str) -> Optional[np.ndarray]:
        array = self.get(name)
        if array is not None:
            array.flags.writeable = False
        return array

    part = Memory.part


class File:
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
            if identity(file) != self.identity:
                raise FileError(f"{self.path}: holds another result than when it was opened",
                                "saltus.open opens that one")
            runs = _runs_of_statistics(file)  # first, as these may come meanwhile
            array = self._get(file, name, where)
            if array is not None and name.endswith(STATISTICS):
                _leave_out(array, runs)
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
            sets = [f[p] for p in (f"space/frames/{escape(s, True)}" for s in self.species)
                    if p in f]
            return _stacked([each[where] for each in sets], _AXES[name][0]) if sets else None
        found = next((f[p] for p in paths.get(name, ()) if p in f), None)
        if found is None:
            return None
        # A file has counts in the fewest bytes; HDF5 widens them, so that no second copy is made.
        return (found.astype(_AXES[name][0]) if name in _AXES else found)[where]


def _runs_of_statistics(f: Any) -> np.ndarray:
    """Of how many runs statistics are, at each point of a sweep; older files say it of a run."""
    if "stats/n" in f:
        return f["stats/n"][...]
    stats = f["stats"].attrs if "stats" in f else {}
    return np.asarray(stats.get("trajectories", f.attrs.get("trajectories", 1)))


def _leave_out(statistics: np.ndarray, runs: np.ndarray) -> None:
    """Make statistics of no run NaN: a file that is being written has zeros there."""
    if runs.ndim:
        none = np.flatnonzero(runs == 0)
        statistics[none[none < len(statistics)]] = np.nan
    elif not runs:
        statistics[...] = np.nan


def _stacked(parts: Sequence[np.ndarray], kind: str) -> np.ndarray:
    """Arrays behind one another along a new last axis, in another type."""
    out = np.empty((*parts[0].shape, len(parts)), kind)
    return np.stack(parts, axis=-1, out=out)


def identity(f: Any) -> list[Any]:
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
    check_regular(path)  # at any time: another may have taken its place
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
