"""Masks by their texts. Those with a name of their own go to the library as they are. A pattern is
prepared: once for each pair of lengths, and kept for the calls that follow.
"""

import collections
import threading

from . import _library

NAMED = ("full", "causal", "window", "band", "prefix")
MOST = 256  # that are kept

_lock = threading.Lock()
_prepared = collections.OrderedDict()  # by text and lengths, those used last at the end
_captured = set()


def is_pattern(text):
    """Whether it is more than a name of NAMED and its numbers; right or wrong, the library tells."""
    return text.split(":")[0] not in NAMED or "+" in text or "/" in text


def fields_of(text, seqlen_q, seqlen_k):
    """The fields of a problem that say its mask."""
    if not is_pattern(text) or seqlen_q == 0 or seqlen_k == 0:  # nothing is launched without rows
        return {"mask": text.encode()}
    return {"prepared": _mask_of(text, seqlen_q, seqlen_k)}


def _mask_of(*key):
    with _lock:
        if key in _prepared:
            _prepared.move_to_end(key)
            return _prepared[key]
    made = _library.Mask(*key)  # without the lock: long sequences take some milliseconds
    with _lock:
        mask = _prepared.setdefault(key, made)  # perhaps another thread's
        dropped = [_prepared.popitem(last=False) for _ in range(len(_prepared) - MOST)]
    del dropped  # without the lock: on a GPU this may wait
    return mask


def keep(mask):
    """To the end of the process, for CUDA graphs: they read it whenever they are replayed."""
    with _lock:
        _captured.add(mask)
