"""What ran, and what did not and why: what explain() tells."""

import collections
import threading

from ._library import ACCUMULATORS

_NAMES = {number: name for name, number in ACCUMULATORS.items()}
_lock = threading.Lock()
_lines = collections.Counter()


def note(line):
    with _lock:
        _lines[line] += 1


def note_run(of_pass, q, accumulator):
    """`accumulator` by its number."""
    accumulator = _NAMES[accumulator]
    where = "the emulated V100" if q.device.type == "cpu" else str(q.device)
    note(f"ran {of_pass}, head_dim {q.shape[3]}, accumulator {accumulator}, on {where}")


def lines():
    """(line, how often), the most frequent first."""
    with _lock:
        return _lines.most_common()


def clear():
    with _lock:
        _lines.clear()
