"""Masks by their texts. Those with a name of their own go to the library as they are. A pattern is
prepared: once for each pair of lengths, and kept for the calls that follow.
"""

import collections
import hashlib
import math
import os
import threading

from . import _arguments, _library

NAMED = ("full", "causal", "window", "band", "prefix")
MOST = 256  # that are kept
MOST_OF_FP16 = 65504.0

_lock = threading.Lock()
_prepared = collections.OrderedDict()  # by text and lengths, those used last at the end
_captured = set()


def is_pattern(text):
    """Whether it is more than a name of NAMED and its numbers; right or wrong, the library tells."""
    return text.split(":")[0] not in NAMED or "+" in text or "/" in text


def of_file(text):
    """What tells apart what the file of a mask holds, which may change between calls; None where the
    mask names none. After "zones:" all is the file's name."""
    _, is_named, name = text.partition("zones:")
    if not is_named or not os.path.isfile(name):  # the library says what is wrong
        return None
    try:
        with open(name, "rb") as file:
            return hashlib.sha256(file.read()).digest()
    except OSError:
        return None


def fields_of(text, seqlen_q, seqlen_k):
    """The fields of a problem that say its mask."""
    _arguments.mask_text_of(text)
    if not is_pattern(text) or seqlen_q == 0 or seqlen_k == 0:  # nothing is launched without rows
        return {"mask": text.encode()}
    return {"prepared": _mask_of(text, seqlen_q, seqlen_k)}


def _mask_of(*of_mask):
    content = of_file(of_mask[0])
    key = of_mask if content is None else (*of_mask, content)
    with _lock:
        if key in _prepared:
            _prepared.move_to_end(key)
            return _prepared[key]
    made = _library.Mask(*of_mask)  # without the lock: long sequences take some milliseconds
    with _lock:
        mask = _prepared.setdefault(key, made)  # perhaps another thread's
        dropped = [_prepared.popitem(last=False) for _ in range(len(_prepared) - MOST)]
    del dropped  # without the lock: on a GPU this may wait
    return mask


def keep(mask):
    """To the end of the process, for CUDA graphs: they read it whenever they are replayed."""
    with _lock:
        _captured.add(mask)


def lowest_lse(scale, seqlen_k, head_dim):
    """Of rows whose scores FP16 can hold before they are scaled."""
    return -MOST_OF_FP16 * (scale or head_dim**-0.5) + math.log(max(seqlen_k, 1))


def empty_rows(text, seqlen_q, seqlen_k):
    """How many rows of a head see no key, of masks that are no patterns."""
    if seqlen_k == 0:
        return seqlen_q
    return min(max(seqlen_q - seqlen_k - reach_of(text), 0), seqlen_q)


def reach_of(text):
    """How far before the first key a row may stand that still sees one."""
    name, *numbers = text.split(":")
    if name == "full" or name == "prefix" and int(numbers[0]) > 0:
        return 1 << 30
    return int(numbers[1]) if name == "band" else 0
