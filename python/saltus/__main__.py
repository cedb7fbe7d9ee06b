"""Verbs of the command that are carried out here: src/cli/package.c starts main."""
from __future__ import annotations

import signal
import sys
from typing import Sequence

from ._errors import Error, InvalidError, UnavailableError
from ._report import report
from ._result import open as open_result

VERBS = {"report": lambda data, output, **options: report(data, output, **options)}
DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130


def _say(text: str) -> None:
    lines = ["".join(c if c.isprintable() else " " for c in line) for line in text.split("\n")]
    sys.stderr.write("saltus: " + "\n  hint: ".join(lines[:2]) + "\n")


def main(words: Sequence[str]) -> int:
    """A verb, a result file, and names and values of options; gives the exit code."""
    verb, path, *rest = words
    for ending in (signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU):
        if signal.getsignal(ending) is signal.SIG_DFL:
            signal.signal(ending, signal.default_int_handler)
    code = USAGE  # of a file that cannot be read
    try:
        data = open_result(path)
        code = FAILED
        VERBS[verb](data, **dict(zip(rest[::2], rest[1::2])))
        return DONE
    except KeyboardInterrupt:
        _say("interrupted")
        return INTERRUPTED
    except MemoryError:
        _say("memory ran out")
    except (Error, OSError) as failure:
        _say(str(failure))
        code = USAGE if isinstance(failure, (InvalidError, UnavailableError)) else code
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
