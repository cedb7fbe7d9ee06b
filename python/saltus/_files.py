"""Files that take their place when they are whole."""
from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from typing import Union

from ._errors import FileError, InvalidError, uncut, unreadable

Path = Union[str, os.PathLike]
ENDINGS = ("", ".h5", ".hdf5", ".he5")  # of result files, the command's


def any_path(argument: str, path: Path) -> str:
    """A path that the system can take, whether there is such a file or not."""
    try:
        name = os.fsdecode(path)
        os.fsencode(name)
    except (TypeError, UnicodeEncodeError) as failure:
        raise InvalidError(f"{argument}={path!r} must be a path") from failure
    if not name:
        raise InvalidError(f"{argument}={path!r}: the name of a file is needed")
    return uncut(argument, name)


def _kind(mode: int) -> str:
    """What is no regular file, in the library's words; else "file"."""
    return ("file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else
            "named pipe" if stat.S_ISFIFO(mode) else "socket" if stat.S_ISSOCK(mode) else "device")


def check_regular(path: str, hint: str = "") -> None:
    """Refuse what cannot be read as a file, before it is opened: a pipe would be waited for, and a
    device need not end. hint: where there is no such file, or it is not in reach."""
    try:
        kind = _kind(os.stat(path).st_mode)
    except OSError as failure:
        raise unreadable(path, failure, hint) from failure
    if kind != "file":
        raise FileError(f"{path}: cannot be read: it is a {kind}, not a file")


def result_path(argument: str, path: Path) -> str:
    """A path that a result file may have; as a table it would be read by nothing."""
    name = any_path(argument, path)
    ending = os.path.splitext(name)[1].lower()
    if ending not in ENDINGS and ending[1:2].isalpha():
        raise InvalidError(f"{argument}={name!r}: results are written as HDF5, .h5",
                           "to_pandas() makes a table, which has to_csv()")
    return name


def publish(path: Path, content: bytes) -> None:
    """Put a file in its place whole or not at all; a link stays one."""
    path = os.path.realpath(os.fspath(path))
    folder, name = os.path.split(path)
    try:
        handle, temporary = tempfile.mkstemp(prefix="." + name[:100], dir=folder)
        try:
            with open(handle, "wb") as file:
                file.write(content)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as failure:
        raise FileError(f"{path}: cannot be written: {failure.strerror}") from failure


def is_foreign(path: Path) -> bool:
    """Whether there is a file that Saltus has not written, as its ends say."""
    try:
        kind = _kind(os.stat(path).st_mode)
        if kind not in ("file", "folder"):  # which would be waited for
            raise InvalidError(f"{os.fspath(path)}: exists and is a {kind}")
        with open(path, "rb") as file:
            start = file.read(1 << 16)
            file.seek(max(0, os.fstat(file.fileno()).st_size - (1 << 16)))
            return bool(start) and b"Saltus" not in start + file.read()
    except FileNotFoundError:
        return False
