"""A peer's errors against fp64, and whether it applies the requested mask."""

import math

import peer_record
import peer_verdict
from peer_attention import GRADIENTS, Attention
from peer_packed import PackedAttention

REL_FLOOR = 1e-3
METRICS = "max_abs mean_abs rmse rel_l1 rel_l2 mean_rel max_rel cosine_diff".split()
CHECKED_HEADS = 4  # evenly spread from the first to the last


def key_head_of(case, head):
    """The (batch, key head) that a (batch, head) reads."""
    return head[0], head[1] // case.group_size


def unfused(torch, attention, head, dtype, mask):
    """O, or gradients, of one (batch, head) and of the key head that it reads, in `dtype`."""
    case = attention.case
    own = unfused_head(torch, attention, head, dtype, mask)
    if case.direction == "fwd" or case.group_size == 1:
        return own
    batch, key_head = key_head_of(case, head)
    sums = {name: own[name].double() for name in ("dk", "dv")}
    for reader in range(key_head * case.group_size, (key_head + 1) * case.group_size):
        if reader != head[1]:
            of_reader = unfused_head(torch, attention, (batch, reader), dtype, mask)
            sums = {name: total + of_reader[name].double() for name, total in sums.items()}
    return own | {name: total.to(dtype) for name, total in sums.items()}


def unfused_head(torch, attention, head, dtype, mask):
    """O, the contribution of one (batch, head) to gradients, or both: matmul, masked softmax,
    matmul."""
    case = attention.case
    mask = case.mask_of(mask, head[0])
    places = (head, key_head_of(case, head), key_head_of(case, head))
    q, k, v = (
        attention.rows_of(x.detach(), name, place).to(dtype).requires_grad_()
        for x, name, place in zip(attention.inputs, "qkv", places)
    )
    d_o = attention.rows_of(attention.d_o, "d_o", head).to(dtype)
    scores = (q @ k.T) * case.problem["scale"]
    if mask.kind != "full":
        visible = mask.dense(torch, head[1])
        # A row without a visible key is a softmax of zeros, which is cleared afterwards.
        sees_any = visible.any(1, keepdim=True)
        scores = scores.masked_fill(~visible & sees_any, float("-inf"))
        p = torch.softmax(scores, -1) * sees_any
    else:
        p = torch.softmax(scores, -1)
    o = p @ v
    if case.direction == "fwd":
        return {"o": o.detach()}
    gradients = dict(zip(GRADIENTS, torch.autograd.grad(o, (q, k, v), d_o)))
    return gradients if case.direction == "bwd" else {"o": o.detach(), **gradients}


def metrics_of(g, w):
    """Over elements that are finite in both; there must be one."""
    error = (g - w).abs()
    squares = (g * g + w * w).sum().item()
    return {
        "max_abs": error.max().item(),
        "mean_abs": error.mean().item(),
        "rmse": error.square().mean().sqrt().item(),
        "rel_l1": (error.sum() / w.abs().sum()).item(),
        "rel_l2": (error.square().sum() / w.square().sum()).sqrt().item(),
        "mean_rel": (error / w.abs().clamp(min=REL_FLOOR)).mean().item(),
        "max_rel": (error / w.abs().clamp(min=REL_FLOOR)).max().item(),
        "cosine_diff": 1 - 2 * (g * w).sum().item() / squares,
    }


def worst_row_of(got, want):
    """(rel_l1, row) for the row with the largest, over rows whose `want` is not all 0; (None, None)
    if there are none."""
    both = got.isfinite() & want.isfinite()
    error = (got - want).abs().where(both, 0.0).sum(1)
    size = want.abs().where(both, 0.0).sum(1)
    rel_l1 = (error / size).where(size > 0, -1.0)
    if rel_l1.numel() == 0 or rel_l1.max() < 0:
        return None, None
    row = rel_l1.argmax().item()
    return rel_l1[row].item(), row


def errors_of(got, want):
    """Metrics of reference/error_metrics.h for fp64 tensors of equal shape. All are NaN if an
    element of `got` is not finite but should be."""
    is_wrong = got.isfinite() != want.isfinite()
    both = got.isfinite() & want.isfinite()
    g, w = got[both], want[both]
    error = (g - w).abs()
    position = (got - want).abs().nan_to_num(float("inf")).argmax()
    is_measurable = error.numel() > 0 and not is_wrong.any().item()
    return {
        "checked_elements": want.numel(),
        **(metrics_of(g, w) if is_measurable else dict.fromkeys(METRICS, math.nan)),
        "rel_floor": REL_FLOOR,
        "mismatches": (error > 1e-5 + 1e-3 * w.abs()).sum().item() + is_wrong.sum().item(),
        "nonfinite": is_wrong.sum().item(),
        "worst_index": position.item(),
        "worst_got": got.flatten()[position].item(),
        "worst_want": want.flatten()[position].item(),
        "want_max_abs": want[want.isfinite()].abs().max().item(),
        "want_rms": want[want.isfinite()].square().mean().sqrt().item(),
        **units_of(want[want.isfinite()]),
    }


def units_of(want):
    """The unit in the last place of fp16 there; 2^-24 for subnormal numbers and zero."""
    sizes = want.half().double().abs().clamp(min=2.0**-14, max=65504.0)
    units = (sizes.log2().floor() - 10).exp2()
    return {"unit_max": units.max().item(), "unit_rms": units.square().mean().sqrt().item()}


def checked_heads(case):
    """(batch, head) pairs; for varlen only sequences with rows and keys."""
    batch, _, heads, _ = case.query_shape
    entries = range(batch)
    if case.lengths is not None:
        entries = [i for i, (of_q, of_k) in enumerate(case.lengths) if of_q and of_k]
    pairs = len(entries) * heads
    count = min(CHECKED_HEADS, pairs)
    chosen = sorted({round(i * (pairs - 1) / max(1, count - 1)) for i in range(count)})
    return [(entries[pair // heads], pair % heads) for pair in chosen]


def position_of(flat, heads, rows_of_heads, head_dim):
    """(batch, row, head, dim) of an element in the concatenated checked heads."""
    row = flat // head_dim
    for (batch, head), rows in zip(heads, rows_of_heads):
        if row < rows:
            return [batch, row, head, flat % head_dim]
        row -= rows
    raise IndexError(flat)


def attention_of(torch, case, seed, dropout_p):
    kind = Attention if case.lengths is None else PackedAttention
    return kind(torch, case, seed, dropout_p)


class Check:
    """One run of a case without dropout; a sample of the heads is compared."""

    def __init__(self, torch, case, arguments):
        self.torch, self.case, self.ratio = torch, case, arguments.tolerance_ratio
        self.attention = attention_of(torch, case, arguments.seed, 0.0)
        self.outputs, self.again = self.attention.outputs(), self.attention.outputs()
        self.heads = checked_heads(case)
        self.got = {
            name: [
                self.attention.rows_of(output, name, head).double() for head in self.heads_of(name)
            ]
            for name, output in self.outputs.items()
        }
        self.want = self.computed(torch.float64, case.mask)
        rounded = self.computed(torch.float16, case.mask)
        self.of_unfused = {
            name: self.errors_of(rounded[name], want) for name, want in self.want.items()
        }

    def heads_of(self, name):
        """The indices of an output's checked heads."""
        if name not in ("dk", "dv"):
            return self.heads
        return [key_head_of(self.case, head) for head in self.heads]

    def computed(self, dtype, mask):
        """{name: [rows, head_dim] of each head}"""
        of_heads = [unfused(self.torch, self.attention, head, dtype, mask) for head in self.heads]
        return {name: [one[name] for one in of_heads] for name in self.got}

    def errors_of(self, got, want):
        """For all checked heads, concatenated."""
        return errors_of(self.torch.cat(got).double(), self.torch.cat(want))

    def judge(self, errors):
        is_reference = self.case.kernel in peer_record.REFERENCES
        return peer_verdict.judge(is_reference, errors, self.of_unfused, self.ratio)

    def agrees_with(self, miss):
        """Whether it agrees with the oracle under another mask, in the rows that differ."""
        errors = {}
        for name, want in self.computed(self.torch.float64, miss).items():
            rows = [self.rows_that_differ(name, miss, head[0]) for head in self.heads]
            got = [of_head[some] for of_head, some in zip(self.got[name], rows)]
            errors[name] = self.errors_of(got, [of_head[some] for of_head, some in zip(want, rows)])
        return self.judge(errors)[0] == ""

    def rows_that_differ(self, name, miss, entry):
        """For a batch entry: the rows whose visible pairs differ under another mask."""
        masks = (self.case.mask_of(mask, entry) for mask in (miss, self.case.mask))
        other, own = (mask.dense(self.torch) for mask in masks)
        return (other != own).any(0 if name in ("dk", "dv") else 1)

    def verify(self):
        """(accuracy, why it is incorrect, warnings)"""
        errors = {name: self.errors_of(self.got[name], want) for name, want in self.want.items()}
        why, warnings = self.judge(errors)
        # A reference applies the mask's own table, so its mask needs no check.
        if not why and self.case.kernel not in peer_record.REFERENCES:
            why = peer_verdict.why_in_doubt(self.case.mask, self.agrees_with)
        accuracy = {name: self.accuracy_of(name, error) for name, error in errors.items()}
        return accuracy["o"] if list(accuracy) == ["o"] else accuracy, why, warnings

    def worst_row(self, name):
        got, want = (self.torch.cat(of[name]).double() for of in (self.got, self.want))
        return worst_row_of(got, want)

    def accuracy_of(self, name, error):
        error = dict(error)
        # PyTorch's products accumulate in FP32, so the record's two ratios are equal.
        of_unfused = self.of_unfused[name]["rel_l2"]
        ratio = peer_record.finite(peer_verdict.ratio_of(error["rel_l2"], of_unfused))
        rows = [len(of_head) for of_head in self.want[name]]
        head_dim = self.case.problem["head_dim"]
        heads = self.heads_of(name)
        position = position_of(error.pop("worst_index"), heads, rows, head_dim)
        worst_row_rel_l1, worst_row = None, None
        if error["nonfinite"] == 0:
            worst_row_rel_l1, worst_row = self.worst_row(name)
        if worst_row is not None:
            worst_row = position_of(worst_row * head_dim, heads, rows, head_dim)[:3]
        for size in ("want_max_abs", "want_rms", "unit_max", "unit_rms"):
            del error[size]
        return {
            "output": name,
            "oracle": "exact-fp64",
            **{key: peer_record.finite(value) for key, value in error.items()},
            "worst_index": position,
            "worst_row_rel_l1": worst_row_rel_l1,
            "worst_row": worst_row,
            "checked_rows": sum(rows),
            "weighted": False,
            "error_ratio": ratio,
            "error_over_unfused": ratio,
            "lse_max_abs": None,
            "dropout_kept_fraction": None,
            "mask_hash": None,
            "bitwise_repeatable": self.torch.equal(self.outputs[name], self.again[name]),
            "output_hash": None,
        }
