"""Patterns (kernels/mask/pattern) from the definitions of their atoms, as predicates over PyTorch
tensors of rows and keys: for boolean masks, and for FlexAttention, which compiles them. The
numbers of visible pairs are compared with sparkbench's (why_other_pairs)."""

from dataclasses import dataclass
from functools import cached_property

ROWS_AT_ONCE = 1024  # while a dense mask is built: its numbers take eight bytes a pair
WORD = 2**64


def both(predicates):
    """AND of conditions that are numbers or tensors."""
    result = predicates[0]
    for one in predicates[1:]:
        result = result & one
    return result


def drawn_documents(mean, seqlen):
    """Lengths that fill a sequence: kernels/mask/pattern/row_bounds.h, by SplitMix64."""
    lengths, state = [], 0
    while sum(lengths) < seqlen:
        state = (state + 0x9E3779B97F4A7C15) % WORD
        z = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % WORD
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
        length = 1 + (z ^ (z >> 31)) % (2 * mean - 1)
        lengths.append(min(length, seqlen - sum(lengths)))
    return lengths


def in_neighbourhood(q, k, extent, keys):
    """A window of keys around q that moves inside at the borders: it begins at q - keys // 2,
    clamped to 0 and extent - keys."""
    begin = q - keys // 2
    last = extent - keys
    inside = (k >= begin) & (k < begin + keys) & (begin >= 0) & (begin <= last)
    return inside | ((begin < 0) & (k < keys)) | ((begin > last) & (k >= last))


class Neighbourhood:
    def __init__(self, extents, windows):
        self.axes = list(zip(extents, windows))

    def __call__(self, p, k):
        visible = []
        for extent, keys in reversed(self.axes):
            visible.append(in_neighbourhood(p % extent, k % extent, extent, keys))
            p, k = p // extent, k // extent
        return both(visible)


class Documents:
    """From the ends of documents: a sum of comparisons, because there are few. Keys after the last
    document belong to none."""

    def __init__(self, lengths):
        self.begins = [sum(lengths[:i]) for i in range(len(lengths) + 1)]

    def __call__(self, p, k):
        visible = (p < p) & (k < k)
        for begin, end in zip(self.begins, self.begins[1:]):
            visible = visible | ((p >= begin) & (p < end) & (k >= begin) & (k < end))
        return visible


def documents(numbers, seqlen_k):
    return Documents(numbers if len(numbers) > 1 else drawn_documents(numbers[0], seqlen_k))


# For a row at key p and a key k; `n` has the atom's numbers.
ATOMS = {
    "full": lambda n: lambda p, k: (p == p) & (k == k),
    "causal": lambda n: lambda p, k: k <= p,
    "window": lambda n: lambda p, k: (k <= p) & (k > p - n[0]),
    "band": lambda n: lambda p, k: (k >= p - n[0]) & (k <= p + n[1]),
    "prefix": lambda n: lambda p, k: (k <= p) | ((k < n[0]) & (p == p)),
    "blocked": lambda n: lambda p, k: (p // n[0] == k // n[0]) | (p // n[0] == k // n[0] + 1),
    "chunk": lambda n: lambda p, k: p // n[0] == k // n[0],
    "strided": lambda n: lambda p, k: p % n[0] == k % n[0],
    "dilated": lambda n: lambda p, k: (p % n[1] == k % n[1])
    & (k - p <= n[0] * n[1])
    & (p - k <= n[0] * n[1]),
    "fixed": lambda n: lambda p, k: (k <= p)
    & ((p // n[0] == k // n[0]) | (k % n[0] >= n[0] - n[1])),
    "longformer": lambda n: lambda p, k: ((k - p <= n[0]) & (p - k <= n[0]))
    | ((k < n[1]) & (p == p))
    | ((p < n[1]) & (k == k)),
    "sink": lambda n: lambda p, k: (k < n[0]) & (k <= p),
}


def parse_atom(text, seqlen_k):
    """The predicate of an atom in its normal form. Raises KeyError for an unsupported atom."""
    is_causal = text.startswith("causal-")
    name, *fields = text.removeprefix("causal-").split(":")
    if name == "nd":
        sees = Neighbourhood(*([int(number) for number in field.split("x")] for field in fields))
    else:
        numbers = [int(field) for field in fields] if name != "zones" else []
        sees = documents(numbers, seqlen_k) if name == "documents" else ATOMS[name](numbers)
    return (lambda p, k: sees(p, k) & (k <= p)) if is_causal else sees


@dataclass(frozen=True)
class Pattern:
    """For sequences of these lengths; row q is at key q + seqlen_k - seqlen_q. Heads cycle through
    the patterns in its name."""

    name: str
    seqlen_q: int
    seqlen_k: int

    kind = "pattern"

    @cached_property
    def unions(self):
        """Predicates of (row, key). Raises KeyError for an unsupported atom."""
        return [
            [parse_atom(atom, self.seqlen_k) for atom in union.split("+")]
            for union in self.name.split("/")
        ]

    def why_unknown(self):
        if "zones:" in self.name:
            return f"the peers do not read the file of the mask {self.name}"
        try:
            return "" if self.unions else "nothing"
        except (KeyError, ValueError):
            return f"the peers do not know the mask {self.name}"

    def sees(self, row, key, head=0):
        """For numbers, or for PyTorch tensors of them."""
        place = row + (self.seqlen_k - self.seqlen_q)
        visible = [sees(place, key) for sees in self.unions[head % len(self.unions)]]
        result = visible[0]
        for one in visible[1:]:
            result = result | one
        return result

    def dense(self, torch, head=0, device="cuda"):
        """[seqlen_q, seqlen_k] of booleans."""
        keys = torch.arange(self.seqlen_k, device=device)[None]
        rows = torch.arange(self.seqlen_q, device=device)[:, None]
        return torch.cat([self.sees(some, keys, head) for some in rows.split(ROWS_AT_ONCE)])

    def dense_of_heads(self, torch, heads, device="cuda"):
        """The same for each head, [heads, seqlen_q, seqlen_k], or once if all heads are alike."""
        if len(self.unions) == 1:
            return self.dense(torch, device=device)[None]
        of_unions = [self.dense(torch, head, device) for head in range(min(heads, len(self.unions)))]
        return torch.stack([of_unions[head % len(of_unions)] for head in range(heads)])

    def mask_mod(self, torch):
        """In FlexAttention's form: takes tensors of batch entry, head, row and key."""

        def sees(_batch, head, row, key):
            result = self.sees(row, key, 0)
            for i in range(1, len(self.unions)):
                of_head = head % len(self.unions) == i
                result = torch.where(of_head, self.sees(row, key, i), result)
            return result

        return sees

    def is_sdpa_s(self):
        return False

    def near_misses(self):
        """None: every peer gets all pairs of a pattern, so there is no convention to mistake."""
        return []

    def pairs_of_heads(self, torch, heads):
        """Number of visible pairs over all heads."""
        of_unions = [
            int(self.dense(torch, head).sum()) for head in range(min(heads, len(self.unions)))
        ]
        return sum(of_unions[head % len(of_unions)] for head in range(heads))


def is_pattern(name):
    """Whether kernels/mask/mask_spec.h does not have it."""
    known = ("full", "causal", "window", "band", "prefix")
    return "+" in name or "/" in name or name.split(":")[0] not in known


def why_other_pairs(torch, case):
    """Empty if the pattern here has as many visible pairs as sparkbench's."""
    if not isinstance(case.mask, Pattern):
        return ""
    pairs = case.mask.pairs_of_heads(torch, case.problem["heads"]) * case.problem["batch"]
    want = case.planned["mask_work"]["pairs_visible"]
    if pairs == want:
        return ""
    return f"{case.mask.name} has {pairs} visible pairs here, and {want} by sparkbench"
