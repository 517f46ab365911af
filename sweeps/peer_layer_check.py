"""A PyTorch layer's errors against fp64, from the same fp16 weights and input.

The unfused fp16 layer, one operation at a time, is computed too: its errors set the tolerance
for other layers. Only the first sequences are compared, CHECKED_TOKENS tokens or fewer. Later
sequences get no gradient, so that the weight gradients come from the compared ones only.
"""

import json

import peer_check
import peer_layer
import peer_layer_module as module
import peer_record
import peer_verdict
from peer_layers import REFERENCE
from torch.utils import checkpoint

CHECKED_TOKENS = 16384


def make_head_by_head(torch, scale, visible):
    """Unfused attention, one head after the other; the backward pass recomputes the scores. So the
    layer keeps its tensors' precision and only one head's scores are in memory."""

    def of_head(q, k, v, seen):
        scores = (q @ k.T) * scale
        if seen is None:
            return torch.softmax(scores, -1) @ v
        # A row without a visible key is a softmax of zeros, which is cleared afterwards.
        sees_any = seen.any(1, keepdim=True)
        p = torch.softmax(scores.masked_fill(~seen & sees_any, float("-inf")), -1)
        return (p * sees_any) @ v

    def again_in_backward(function, *inputs):
        return checkpoint.checkpoint(
            function, *inputs, use_reentrant=False, preserve_rng_state=False
        )

    class HeadByHead(torch.nn.Module):
        def forward(self, q, k, v):
            batch, heads = q.shape[:2]
            of_heads = []
            for entry in range(batch):
                for head in range(heads):
                    seen = None if visible is None else visible[0, head % visible.shape[1]]
                    rows = (x[entry, head] for x in (q, k, v))
                    of_heads.append(again_in_backward(of_head, *rows, seen))
            return torch.stack(of_heads).view(q.shape)

    return HeadByHead()


def unfused_outputs(torch, case, tensors, dtype, device="cuda"):
    """{name: tensor} like Layer.outputs(), for a layer without dropout in `dtype`."""
    weights, x, d_y = tensors
    visible = peer_layer.visible_pairs(torch, case, device)
    attention = make_head_by_head(torch, case.problem["scale"], visible)
    with torch.device("meta"):
        layer = module.EncoderLayer(case.shape, case.problem["heads"], attention, 0.0)
    module.load(layer, {name: weight.detach().to(dtype) for name, weight in weights.items()})
    x = x.detach().to(dtype).requires_grad_()
    has_backward = case.direction != "fwd"
    with torch.set_grad_enabled(has_backward):
        y, branch = layer.with_branch(x)
    results = {"output": y.detach(), "before_residual": branch.detach()}
    if has_backward:
        state = dict(layer.named_parameters())
        inputs = [x, *(state[module.WEIGHTS[name]] for name in weights)]
        names = [peer_layer.GRADIENTS[name] for name in ("x", *weights)]
        results.update(zip(names, torch.autograd.grad(y, inputs, d_y.to(dtype))))
    return results


def checked_sequences(case):
    """The number of leading sequences to check."""
    return min(case.problem["batch"], max(1, CHECKED_TOKENS // case.problem["seqlen_q"]))


def why_wrong(name, error, of_unfused, ratio, is_reference):
    """Empty if acceptable, by the rules of harness/encoder/layer_runner.cc."""
    if is_reference:
        if error["nonfinite"]:
            return f"{name}: {error['nonfinite']} elements are not finite where the exact ones are"
        return ""
    if of_unfused["nonfinite"]:
        why = peer_verdict.why_wrong(error, error, 0.0, peer_verdict.OWN_FLOOR)
    else:
        why = peer_verdict.why_wrong(error, of_unfused, ratio)
    return why and f"{name}: {why}"


class Oracle:
    """The layer in fp64, and the unfused one in fp16. Kept for the next case of the same problem,
    unless another layer needs the memory."""

    def __init__(self, torch, device="cuda"):
        self.torch, self.device, self.key, self.known = torch, device, "", None

    def outputs(self, case, tensors):
        """(exact, unfused), without dropout; independent of the fusion of the rest."""
        own = ("dropout_p", "dropout_p_applied", "layer")
        problem = {name: value for name, value in case.problem.items() if name not in own}
        key = json.dumps([problem, {**case.shape, "rest": None}], sort_keys=True)
        if key != self.key:
            self.key, self.known = "", None  # before allocating the next: memory has no room for
                                             # two
            self.known = tuple(
                self.on_host(unfused_outputs(self.torch, case, tensors, dtype, self.device))
                for dtype in (self.torch.float64, self.torch.float16)
            )
            self.key = key
        return self.known

    def on_host(self, outputs):
        return {name: tensor.cpu() for name, tensor in outputs.items()}


class LayerCheck:
    """One run of a layer without dropout; its first sequences are compared."""

    def __init__(self, torch, layer, ratio, oracle):
        self.case, self.ratio = layer.case, ratio
        self.count = checked_sequences(self.case)
        d_y = layer.d_y.clone()
        d_y[self.count :] = 0
        self.got, again = (self.cut(layer.outputs(d_y)) for _ in range(2))
        self.is_repeatable = torch.equal(self.got["output"], again["output"])
        tensors = layer.weights, layer.x[: self.count], layer.d_y[: self.count]
        exact, rounded = oracle.outputs(self.case, tensors)
        self.errors, self.of_unfused = {}, {}
        for name, got in self.got.items():
            want, unfused = (of[name].to(got.device) for of in (exact, rounded))
            self.errors[name] = peer_check.errors_of(got.double(), want)
            self.of_unfused[name] = peer_check.errors_of(unfused.double(), want)

    def cut(self, outputs):
        """The part that belongs to the checked sequences."""
        of_tokens = ("output", "before_residual", "dx")
        return {
            name: tensor[: self.count] if name in of_tokens else tensor
            for name, tensor in outputs.items()
        }

    def why_incorrect(self):
        is_reference = self.case.kernel == REFERENCE
        for name, error in self.errors.items():
            if why := why_wrong(name, error, self.of_unfused[name], self.ratio, is_reference):
                return why
        return ""

    def warnings(self):
        warnings = []
        if self.count < self.case.problem["batch"]:
            tokens = self.count * self.case.problem["seqlen_q"]
            message = "the oracle checked the first sequences, and gradients of their tokens alone"
            warnings.append(peer_verdict.warning("W-SAMPLED-ROWS", message, tokens))
        unfused = [name for name, error in self.of_unfused.items() if error["nonfinite"]]
        if unfused and self.case.kernel != REFERENCE:
            message = (
                f"the unfused layer in fp16 is not finite ({', '.join(unfused)}): this one is "
            )
            message += "judged by its error alone there"
            warnings.append(peer_verdict.warning("W-UNFUSED-NOT-FINITE", message))
        return warnings

    def ratio_over_unfused(self, name):
        ratio = peer_verdict.ratio_of(self.errors[name]["rel_l2"], self.of_unfused[name]["rel_l2"])
        return peer_record.finite(ratio)

    def parts(self):
        """The `errors` of a record's layer."""
        return [
            {
                "of": name,
                "checked_elements": error["checked_elements"],
                "rel_l2": peer_record.finite(error["rel_l2"]),
                "max_abs": peer_record.finite(error["max_abs"]),
                "over_unfused": self.ratio_over_unfused(name),
            }
            for name, error in self.errors.items()
        ]

    def accuracy(self):
        """The accuracy of the output; null with a backward pass, as for sparkbench's layers."""
        if self.case.direction != "fwd":
            return None
        error = dict(self.errors["output"])
        hidden, head_dim = self.case.shape["hidden"], self.case.problem["head_dim"]
        token, column = divmod(error.pop("worst_index"), hidden)
        entry, row = divmod(token, self.case.problem["seqlen_q"])
        for size in ("want_max_abs", "want_rms", "unit_max", "unit_rms"):
            del error[size]
        return {
            "output": "o",
            "oracle": "exact-fp64",
            **{key: peer_record.finite(value) for key, value in error.items()},
            "worst_index": [entry, row, column // head_dim, column % head_dim],
            "error_ratio": self.ratio_over_unfused("output"),
            "error_over_unfused": self.ratio_over_unfused("output"),
            "lse_max_abs": None,
            "dropout_kept_fraction": None,
            "mask_hash": None,
            "bitwise_repeatable": self.is_repeatable,
            "output_hash": None,
        }
