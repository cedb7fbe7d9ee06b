"""What can go wrong, as exceptions, and how the library's statuses become them."""
from __future__ import annotations

import difflib
import errno
import operator
import os
import re
import sys
import threading
import warnings
from collections.abc import Iterator, MappingView
from typing import Any, Iterable, Optional, Sequence, Union

import numpy as np

from ._native import ffi


class Error(Exception):
    """A failure: `message` is what the library says of it, `hint` what would help, or ""."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message, self.hint = message, hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


class InvalidError(Error, ValueError):
    """An argument is out of its range, or names what is not there."""


class UnknownNameError(InvalidError, KeyError):
    """There is nothing of that name, as in a result, which is a mapping."""


class ReadOnlyError(Error, TypeError):
    """An assignment to what only tells of something."""


class ModelError(Error, ValueError):
    """The model is not well formed, not consistent, or uses what is not supported."""


class NumericError(Error, ArithmeticError):
    """A trajectory left the range of its numbers; the message names time, reaction and state."""


class DeviceError(Error, RuntimeError):
    """A GPU or its driver failed."""


class UnavailableError(Error, RuntimeError):
    """A part of the library was not built, or is not present on this machine."""


class FileError(Error, OSError):
    """Reading or writing a file failed; `errno` has the system's number where there is one."""

    def __init__(self, message: str, hint: str = "", number: Optional[int] = None) -> None:
        super().__init__(message, hint)
        self.errno, self.strerror = number, message  # in place of OSError's reading of two arguments

    def __reduce__(self) -> Any:
        return type(self), (self.message, self.hint, self.errno)


class MissingFileError(FileError, FileNotFoundError):
    """There is no such file."""


class OutOfMemory(Error, MemoryError):
    """Memory ran out."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run, sweep or batch. `result` is what had ended by then, of the kind that the
    call would have returned; where a file was written, it holds that too."""

    def __init__(self, result: Any = None) -> None:
        super().__init__("interrupted; what had ended is in the exception's .result")
        self.result = result


class _Turns:
    """A lock that refuses the thread which has it, and a process that was forked while another
    thread had it, rather than wait for ever."""

    def __init__(self) -> None:
        self._lock, self._owner, self._is_lost = threading.Lock(), 0, False
        os.register_at_fork(after_in_child=self._look_who_is_left)

    def _look_who_is_left(self) -> None:
        self._is_lost = self._owner not in (0, threading.get_ident())

    def __enter__(self) -> None:
        if self._is_lost:
            raise UnavailableError("this process was forked while another thread read or wrote a "
                                   "result file, and cannot use any",
                                   "processes that multiprocessing starts by 'spawn' can")
        if self._owner == threading.get_ident():
            raise InvalidError("what progress= calls cannot read or write result files while the "
                               "run writes one")
        self._lock.acquire()
        self._owner = threading.get_ident()

    def __exit__(self, *_: object) -> None:
        self._owner = 0
        self._lock.release()


# HDF5 is no library for threads: one result file is in use at a time.
hdf5 = _Turns()
CANCELLED = 8
_BY_STATUS = {1: InvalidError, 2: ModelError, 3: ModelError, 4: ModelError, 5: OutOfMemory,
              6: FileError, 7: DeviceError, 9: NumericError, 10: UnavailableError}
# The library's fields of options, in backquotes, as arguments are called here.
_ARGUMENTS = {"columns": "species", "n_threads": "threads", "n_streams": "streams", "n_bins": "bins",
              "n_critical": "nc", "n_exact": "exact_steps", "vary": "sweep",
              "molecules_per_mole": "mole"}
_OF_READ = {"molecules_per_mole": "mole", "stoichiometry": "stoichiometry", "law": "law",
            "volume": "volume"}


def sentence(chars: Any) -> str:
    """What the library says, with arguments as they are called here."""
    text = re.sub(r"`(\w+) ([^`]*)`", lambda m: f"`{_OF_READ[m[1]]} {m[2]}` of read"
                  if m[1] in _OF_READ else m[0], ffi.string(chars).decode("utf-8", "replace"))
    return re.sub(r"`(\w+)", lambda m: "`" + _ARGUMENTS.get(m[1], m[1]), text)


def record() -> Any:
    """A saltus_error in which nothing has failed."""
    return ffi.new("saltus_error *")


def check(status: int, err: Any) -> None:
    """Raise what the library has recorded, unless all is well."""
    if status:
        message, hint = sentence(err.message), sentence(err.hint)
        raise _BY_STATUS.get(status, Error)(message or f"status {status}", hint)


def warn(said: str) -> None:
    """Warn, in the name of who called the package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__package__") == __package__:
        frame, level = frame.f_back, level + 1
    warnings.warn(said, stacklevel=level)


def unreadable(path: str, failure: OSError, hint: str = "") -> FileError:
    why = os.strerror(failure.errno) if failure.errno else failure
    kind = MissingFileError if failure.errno == errno.ENOENT else FileError
    return kind(f"{path}: cannot be read: {why}", hint, failure.errno)


def near(what: str, name: object, names: Iterable[str],
         kind: type[InvalidError] = InvalidError) -> InvalidError:
    """There is no such name: the error, with near names or all of a few as its hint."""
    names = list(names)
    close = difflib.get_close_matches(str(name), names, n=3) or (names if len(names) <= 8 else [])
    hint = "there is " + ", ".join(repr(n) for n in close) if close else ""
    return kind(f"{what} has no {name!r}", hint)


def whole(name: str, value: Any) -> int:
    """An argument that is a whole number, which may also be written as 1e6."""
    try:
        return operator.index(int(value) if isinstance(value, float) and value.is_integer()
                              else value)
    except TypeError as failure:
        raise InvalidError(f"{name}={value!r} must be a whole number") from failure


def flag(name: str, value: Any, others: str = "True or False") -> bool:
    """An argument that is true or false, as 0 and 1 are; any other object would be true."""
    if isinstance(value, (bool, int, float, np.bool_, np.integer)) and value in (0, 1):
        return bool(value)
    raise InvalidError(f"{name}={value!r} must be {others}")


def number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as failure:
        raise InvalidError(f"{name}={value!r} must be a number") from failure


def numbers(what: str, given: Any) -> np.ndarray:
    """An argument of numbers, float64 of its shape; of what gives them one by one, in a row."""
    try:
        return np.array([*given] if isinstance(given, (Iterator, MappingView)) else given, dtype=float)
    except (TypeError, ValueError, OverflowError) as failure:
        raise InvalidError(f"{what} must be numbers, not {given!r}") from failure


def row(what: str, given: Any) -> np.ndarray:
    """float64[n], n > 0: an argument that is a row of numbers, or one."""
    values = np.atleast_1d(numbers(what, given))
    if values.ndim != 1 or not len(values):
        raise InvalidError(f"{what} must be one row of numbers, not of shape {values.shape}")
    return values


def uncut(name: str, value: str) -> str:
    """A text or path without a character 0, which would be its end for the library."""
    if "\0" in value:
        raise InvalidError(f"{name}={value!r} has a character 0 in it")
    return value


def chars(name: str, value: str) -> bytes:
    """A text as the library takes it."""
    try:
        return uncut(name, value).encode()
    except UnicodeEncodeError as failure:
        raise InvalidError(f"{name}={value!r} is no text of Unicode") from failure


def text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidError(f"{name}={value!r} must be a text")
    chars(name, value)
    return value


def texts(name: str, value: Union[str, Sequence[str]]) -> str:
    """Names, as one text with commas or as a row of texts, as one text."""
    if isinstance(value, str):
        return text(name, value)
    try:
        items = [*value]
        joined = ",".join(items)
    except TypeError as failure:
        raise InvalidError(f"{name}={value!r} must be a text or a row of texts") from failure
    for item in items:
        if len(split(item)) > 1:
            raise InvalidError(f"{name}: {item!r} has a comma in it, which would separate two names",
                               f"without {name} all are recorded" if name == "species" else "")
    return text(name, joined)


def split(names: str) -> list[str]:
    """The names in a text, as the library finds them: a comma within brackets is part of one."""
    found, depth = [""], 0
    for c in names:
        depth = max(0, depth + (c == "(") - (c == ")"))
        if c == "," and not depth:
            found.append("")
        else:
            found[-1] += c
    return [name.strip(" ") for name in found]


def need(module: str, what: str, hint: str = "") -> Any:
    """Import an optional package. hint: how to get it, if not by its name alone."""
    import importlib
    try:
        return importlib.import_module(module)
    except ImportError as failure:
        package = module.split(".")[0]
        raise UnavailableError(f"{what} needs the package {package}, which is not installed",
                               hint or f"pip install {package}") from failure
