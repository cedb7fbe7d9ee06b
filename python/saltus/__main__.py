"""Verbs of the command that are carried out here: src/cli/package.c starts main."""
from __future__ import annotations

import re
import signal
import sys
import warnings
from typing import Any, Callable, Mapping, Sequence

from ._errors import Error, FileError, InvalidError, ModelError, UnavailableError
from ._files import is_foreign
from ._read import read
from ._report import report
from ._result import Result, open as open_result, plot as plot_sweep

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
MODELS = re.compile(r"(\.ya?ml(\.gz)?|^-)$", re.IGNORECASE)
OF_RUNS = ("kind", "trajectories", "frame", "slice")  # what only results of a run know,
OF_SWEEPS = ("statistic",)                            # and those of a sweep
OPTIONS = re.compile(r"(?<![\w/.=-])(kind|species|time|trajectories|frames?|slice|title|size|dpi|"
                     r"derived|record|profile|statistic)=(\"[^\"]*\"|'[^']*'|\w+)")


def _number(option: str, text: str, kind: Callable[[str], Any] = float) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise InvalidError(f"--{option} '{text}': a number is needed") from None


def _count(option: str, text: str) -> int:
    n = _number(option, text, int)
    if not 0 < n <= 10000:
        raise InvalidError(f"--{option} '{text}': 1 to 10000 are possible")
    return n


def _size(option: str, text: str) -> tuple[float, ...]:
    try:
        size = tuple(float(side) for side in text.lower().split("x"))
    except ValueError:
        size = ()
    if len(size) != 2 or not all(0.5 <= side <= 100 for side in size):
        raise InvalidError(f"--{option} '{text}': width and height in inches, such as 3.5x2.5, "
                           "are needed")
    return size


VALUES: Mapping[str, Callable[[str, str], Any]] = {
    "time": _number, "frame": _number, "dpi": _count, "trajectories": _count, "size": _size,
    "log": lambda *_: True, "logx": lambda *_: True}


def plot(path: str, output: str, **options: str) -> None:
    given: dict[str, Any] = {name: VALUES[name](name, text) if name in VALUES else text
                             for name, text in options.items()
                             if (name, text) != ("kind", "auto")}  # as if it were not there
    if MODELS.search(path):
        wrong = [name for name in given if name not in ("title", "size", "dpi")]
        draw = read(sys.stdin.buffer.read() if path == "-" else path).plot
    else:
        data = open_result(path)
        is_run = isinstance(data, Result)
        wrong = [name for name in (OF_SWEEPS if is_run else OF_RUNS) if name in given]
        draw = data.plot if is_run else lambda **how: plot_sweep(data, **how)
    if wrong:
        raise InvalidError(f"{path}: --{wrong[0]} is for results of a "
                           f"{'sweep' if wrong[0] in OF_SWEEPS else 'run'}")
    draw(path=output, **given)


VERBS: Mapping[str, Callable[..., None]] = {
    "plot": plot,
    "report": lambda path, output, **how: report(open_result(path, samples=False), output, **how)}


def _say(text: str) -> None:
    text = OPTIONS.sub(r"--\1 \2", text)  # as the command calls them
    lines = ["".join(c if c.isprintable() else " " for c in line) for line in text.split("\n")]
    sys.stderr.write("saltus: " + "\n  hint: ".join(lines[:2]) + "\n")


def main(words: Sequence[str]) -> int:
    """A verb, a file, and names and values of options; gives the exit code."""
    verb, path, *rest = words
    options = dict(zip(rest[::2], rest[1::2]))
    for ending in (signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU):
        if signal.getsignal(ending) is signal.SIG_DFL:
            signal.signal(ending, signal.default_int_handler)
    warnings.showwarning = lambda message, *_, **__: _say(f"warning: {message}")
    code, says = USAGE, ""
    try:
        if is_foreign(options["output"]):
            raise InvalidError(f"{options['output']}: exists, and Saltus has not written it")
        VERBS[verb](path, **options)
        return DONE
    except KeyboardInterrupt:
        code, says = INTERRUPTED, "interrupted"
    except MemoryError:
        code, says = FAILED, "memory ran out"
    except (Error, OSError) as failure:
        is_system = not isinstance(failure, Error) and failure.filename
        says = (f"{failure.filename}: cannot be read: {failure.strerror}" if is_system
                else str(failure))
        writes = isinstance(failure, FileError) and options["output"] in says
        wrong = isinstance(failure, (OSError, InvalidError, ModelError, UnavailableError))
        code = FAILED if writes or not wrong else USAGE
    _say(says)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
