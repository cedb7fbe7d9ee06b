"""A result as one page for a browser."""
from __future__ import annotations

import contextlib
import html
import os
import tempfile
from typing import Any, Optional, Union

import numpy as np

from ._errors import FileError
from ._result import Result


def report(data: Any, path: Union[str, os.PathLike], *, title: Optional[str] = None) -> None:
    """Write a page of a Result, or of a sweep's xarray.Dataset. It takes the place of an existing
    file, when it is whole."""
    page = _page(data, title)
    path = os.path.realpath(os.fspath(path))
    try:
        _publish(path, page.encode("utf-8", "replace"))
    except OSError as failure:
        raise FileError(f"{path}: cannot be written: {failure.strerror}") from failure


def _publish(path: str, content: bytes) -> None:
    """Put a file in its place whole or not at all."""
    folder, name = os.path.split(path)
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


def _page(data: Any, title: Optional[str]) -> str:
    name = html.escape(title if title is not None else str(data.attrs["model"]))
    rows = ""
    if isinstance(data, Result):
        rows = "".join(f"<tr><td>{html.escape(n)}<td>{m:.6g}<td>{s:.4g}\n" for n, m, s in
                       zip(data.columns, data.mean()[-1], np.sqrt(data.var()[-1])))
    return (f"<!DOCTYPE html>\n<html lang=en>\n<meta charset=utf-8><title>{name}</title>\n<h1>{name}</h1>\n"
            f"<table><tr><th>name<th>mean at the end<th>sd\n{rows}</table>\n</html>\n")
