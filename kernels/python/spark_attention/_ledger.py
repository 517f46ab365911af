"""What ran, and what did not and why: what explain() tells."""

import collections
import threading

from ._library import ACCUMULATORS

_NAMES = {number: name for name, number in ACCUMULATORS.items()}
_lock = threading.Lock()
_lines = collections.Counter()


def note(line):
    """A text, or what _text() makes one of when it is asked for."""
    with _lock:
        _lines[line] += 1


def note_run(of_pass, q, accumulator):
    """`accumulator` by its number."""
    note((of_pass, q.shape[-1], accumulator, q.device))


def _text(line):
    if isinstance(line, str):
        return line
    of_pass, head_dim, accumulator, device = line
    where = "the emulated V100" if device.type == "cpu" else str(device)
    return f"ran {of_pass}, head_dim {head_dim}, accumulator {_NAMES[accumulator]}, on {where}"


def lines():
    """(line, how often), the most frequent first."""
    with _lock:
        return [(_text(line), count) for line, count in _lines.most_common()]


def clear():
    with _lock:
        _lines.clear()
