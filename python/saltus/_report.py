"""A result as one page for a browser."""
from __future__ import annotations

import html
import os
from typing import Any, Optional, Union

import numpy as np

from ._files import publish
from ._result import Result


def report(data: Any, path: Union[str, os.PathLike], *, title: Optional[str] = None) -> None:
    """Write a page of a Result, or of a sweep's xarray.Dataset. It takes the place of an existing
    file, when it is whole."""
    publish(path, _page(data, title).encode("utf-8", "replace"))


def _page(data: Any, title: Optional[str]) -> str:
    name = html.escape(title if title is not None else str(data.attrs["model"]))
    rows = ""
    if isinstance(data, Result):
        rows = "".join(f"<tr><td>{html.escape(n)}<td>{m:.6g}<td>{s:.4g}\n" for n, m, s in
                       zip(data.columns, data.mean()[-1], np.sqrt(data.var()[-1])))
    return (f"<!DOCTYPE html>\n<html lang=en>\n<meta charset=utf-8><title>{name}</title>\n<h1>{name}</h1>\n"
            f"<table><tr><th>name<th>mean at the end<th>sd\n{rows}</table>\n</html>\n")
