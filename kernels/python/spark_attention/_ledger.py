"""What ran, and what did not and why: what explain() tells."""

import collections
import contextlib
import threading

from ._library import ACCUMULATORS

_NAMES = {number: name for name, number in ACCUMULATORS.items()}
_lock = threading.Lock()
_lines = collections.Counter()
_runs = {}
_MOST_PATTERNS = 256  # that are told apart
_patterns = set()


def note(line):
    with _lock:
        _lines[line] += 1


def cell_of(of_pass, q, problem):
    """The one entry of this list counts such runs of the library's problem: who runs often keeps it."""
    pattern = problem.prepared.text if problem.prepared else None
    with _lock:
        if pattern and pattern not in _patterns:
            if len(_patterns) < _MOST_PATTERNS:
                _patterns.add(pattern)
            else:
                pattern = "(others)"
        run = (of_pass, q.shape[-1], problem.accumulator, pattern, q.device)
        return _runs.setdefault(run, [0])


def note_run(of_pass, q, problem):
    cell_of(of_pass, q, problem)[0] += 1


def _text(of_pass, head_dim, accumulator, pattern, device):
    where = "the emulated V100" if device.type == "cpu" else str(device)
    mask = f", pattern {pattern}" if pattern else ""
    return f"ran {of_pass}, head_dim {head_dim}, accumulator {_NAMES[accumulator]}{mask}, on {where}"


def lines():
    """(line, how often), the most frequent first."""
    with _lock:
        runs = [(_text(*run), cell[0]) for run, cell in _runs.items() if cell[0]]
        return sorted([*runs, *_lines.items()], key=lambda line: -line[1])


def clear():
    with _lock:
        _lines.clear()
        for cell in _runs.values():
            cell[0] = 0


@contextlib.contextmanager
def unchanged():
    """What runs inside is not told."""
    with _lock:
        lines, counts = _lines.copy(), {run: cell[0] for run, cell in _runs.items()}
    try:
        yield
    finally:
        with _lock:
            _lines.clear()
            _lines.update(lines)
            for run, cell in _runs.items():
                cell[0] = counts.get(run, 0)
