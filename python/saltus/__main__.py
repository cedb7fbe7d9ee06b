"""Verbs of the command that are carried out here: src/cli/package.c starts main."""
from __future__ import annotations

import signal
import sys
from typing import Sequence

from ._errors import Error, InvalidError, UnavailableError
from ._report import report
from ._result import open as open_result

VERBS = {"report": report}  # what each does with a result or a sweep, an output and options
DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130


def main(words: Sequence[str]) -> int:
    """A verb, a result file, and names and values of options; gives the exit code."""
    verb, path, *rest = words
    options = dict(zip(rest[::2], rest[1::2]))
    for ending in (signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU):
        if signal.getsignal(ending) is signal.SIG_DFL:
            signal.signal(ending, signal.default_int_handler)
    code, says = USAGE, ""  # of a file that cannot be read
    try:
        data = open_result(path, samples=False)
        code = FAILED
        VERBS[verb](data, options.pop("output"), **options)
        return DONE
    except KeyboardInterrupt:
        code, says = INTERRUPTED, "interrupted"
    except MemoryError:
        says = "memory ran out"
    except (Error, OSError) as failure:
        code = USAGE if isinstance(failure, (InvalidError, UnavailableError)) else code
        says = str(failure)
    lines = ["".join(c if c.isprintable() else " " for c in line) for line in says.split("\n")]
    sys.stderr.write("saltus: " + "\n  hint: ".join(lines[:2]) + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
