"""sparkbench's masks (kernels/mask/mask_spec.h) in the terms of PyTorch's kernels."""

import math
from dataclasses import dataclass

# The masks that each back end supports. PyTorch passes no left bound to its cuDNN.
MASKS = {
    "torch-unfused": ("full", "causal", "window", "band", "prefix", "pattern"),
    "torch-math": ("full", "causal", "window", "band", "prefix", "pattern"),
    "torch-efficient": ("full", "causal", "window", "pattern"),
    "torch-flex": ("full", "causal", "window", "band", "prefix", "pattern"),
    "flash-attn-4": ("full", "causal", "window", "band"),
    "torch-bsr": ("full", "causal", "window", "band", "prefix", "pattern"),
    "torch-flash": ("full", "causal", "window", "band"),
    "torch-cudnn": ("full", "causal"),
    "torch-varlen": ("full", "causal"),
    "torch-nested": ("full", "causal"),
    "torch-padded": ("full", "causal", "window", "band", "prefix"),
    "spark-fp32acc": ("full", "causal", "window", "band", "prefix", "pattern"),
    "spark-fp16acc": ("full", "causal", "window", "band", "prefix", "pattern"),
}


@dataclass(frozen=True)
class Mask:
    """For sequences of these lengths; row q is at key q + seqlen_k - seqlen_q."""

    name: str
    seqlen_q: int
    seqlen_k: int

    @property
    def kind(self):
        return self.name.split(":")[0]

    @property
    def numbers(self):
        return [int(number) for number in self.name.split(":")[1:]]

    @property
    def offsets(self):
        """(keys before its own, keys after it) that a row sees; None: all of them. Undefined for a
        prefix."""
        if self.kind == "band":
            return tuple(self.numbers)
        if self.kind == "window":
            return (self.numbers[0] - 1, 0)
        return {"full": (None, None), "causal": (None, 0)}[self.kind]

    def sees(self, row, key):
        """For numbers, or for PyTorch tensors of them."""
        own = row + self.seqlen_k - self.seqlen_q
        if self.kind == "prefix":
            return (key <= own) | (key < self.numbers[0])
        before, after = self.offsets
        visible = (row == row) & (key == key)
        if before is not None:
            visible = visible & (own - key <= before)
        if after is not None:
            visible = visible & (key - own <= after)
        return visible

    def dense(self, torch, _head=0, device="cuda"):
        """[seqlen_q, seqlen_k] of booleans."""
        rows = torch.arange(self.seqlen_q, device=device)[:, None]
        return self.sees(rows, torch.arange(self.seqlen_k, device=device)[None])

    def dense_of_heads(self, torch, _heads, device="cuda"):
        """[1, seqlen_q, seqlen_k]: the same for any head."""
        return self.dense(torch, device=device)[None]

    def mask_mod(self, _torch):
        """In FlexAttention's form: takes tensors of batch entry, head, row and key."""
        return lambda _batch, _head, row, key: self.sees(row, key)

    def is_sdpa_s(self):
        """Whether scaled_dot_product_attention expresses it without a tensor; its causal mask is
        aligned to the top left."""
        return self.kind == "full" or (self.kind == "causal" and self.seqlen_q == self.seqlen_k)

    def near_misses(self):
        """The masks that a kernel might apply by mistake: each number off by one, up and down, if
        that shows or hides a pair. window:4 and window:6 for window:5."""
        misses = []
        for position, number in enumerate(self.numbers):
            least = 1 if self.kind == "window" else 0
            for other in (number - 1, number + 1):
                numbers = [*self.numbers]
                numbers[position] = other
                miss = Mask(":".join([self.kind, *map(str, numbers)]), self.seqlen_q, self.seqlen_k)
                if other >= least and miss.visible_pairs() != self.visible_pairs():
                    misses.append(miss)
        return misses

    def has_blind_rows(self):
        """Whether a row sees no key."""
        return any(self.visible_keys(row) == 0 for row in range(self.seqlen_q))

    def visible_pairs(self):
        return sum(self.visible_keys(row) for row in range(self.seqlen_q))

    def visible_keys(self, row):
        own = row + self.seqlen_k - self.seqlen_q
        if self.kind == "prefix":
            return min(self.seqlen_k, max(self.numbers[0], own + 1))
        before, after = self.offsets
        begin = 0 if before is None else max(0, own - before)
        end = self.seqlen_k if after is None else min(self.seqlen_k, own + after + 1)
        return max(0, end - begin)


# The peers that support varlen.
OF_PACKED = ("torch-varlen", "torch-flash", "torch-efficient", "torch-nested", "torch-padded",
             "spark-fp32acc", "spark-fp16acc")  # fmt: skip


def why_not_packed(case):
    """Empty if the peer supports this varlen batch; it must support the mask."""
    kernel, mask, lengths = case.kernel, case.mask, case.lengths
    if kernel not in OF_PACKED:
        return f"{kernel} takes no packed sequences; {', '.join(OF_PACKED)} do"
    if not any(of_q and of_k for of_q, of_k in lengths):
        return "there is nothing to compute"
    if kernel == "torch-nested":
        if not all(of_q and of_k for of_q, of_k in lengths):
            return "torch-nested has no empty sequences"
        if mask.kind == "causal" and not case.has_equal_lengths:
            return "torch-nested aligns a causal mask to the top left: lengths must be equal"
    if kernel == "torch-efficient":
        is_cut = mask.kind != "full"
        if any(of_q > 0 and (of_k == 0 or (is_cut and of_q > of_k)) for of_q, of_k in lengths):
            return "torch-efficient has no rows without a visible key"
    if kernel == "torch-varlen":
        if case.problem["dropout_p"] > 0:
            return "torch-varlen has no dropout"
        if not math.isclose(case.problem["scale"], case.problem["head_dim"] ** -0.5, rel_tol=1e-6):
            return "torch-varlen has no scale but 1 / sqrt(head_dim)"
    return ""


def why_unsupported(case):
    """Empty if the peer supports the problem."""
    kernel, mask = case.kernel, case.mask
    if mask.kind not in MASKS[kernel]:
        return f"{kernel} has no mask {mask.name}; it has {', '.join(MASKS[kernel])}"
    if case.lengths is not None and (why := why_not_packed(case)):
        return why
    if mask.kind == "pattern" and (why := mask.why_unknown()):
        return why
    if kernel in ("torch-flex", "flash-attn-4") and case.problem["dropout_p"] > 0:
        return f"{kernel} has no dropout"
    if kernel == "torch-bsr" and case.direction != "fwd":
        return "torch-bsr has no backward pass"
    if kernel == "torch-bsr" and mask.kind == "pattern" and len(mask.unions) > 1:
        return "torch-bsr has one mask for all heads"
    if case.unknown_parts:
        return f"the peers do not know the {', '.join(case.unknown_parts)} of {case.id}"
    if case.lengths is not None:
        return ""
    if kernel == "torch-cudnn" and not mask.is_sdpa_s():
        return "torch-cudnn aligns a causal mask to the top left: lengths must be equal"
    is_cut = mask.kind not in ("full", "pattern")
    if kernel == "torch-efficient" and is_cut and mask.seqlen_q > mask.seqlen_k:
        return "torch-efficient has no rows without a visible key"
    return ""
