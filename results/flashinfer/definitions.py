"""Attention problems as definitions of FlashInfer-Bench: axes, tensors, and what they compute, in
PyTorch."""

VARIABLE = ("batch", "seqlen_q", "seqlen_k")
CONSTANT = ("heads", "heads_k", "head_dim")
Q_SHAPE = ["batch", "seqlen_q", "heads", "head_dim"]
K_SHAPE = ["batch", "seqlen_k", "heads_k", "head_dim"]
# By mask: which keys a row at position p sees.
VISIBLE = {
    "full": "k == k",
    "causal": "k <= p",
    "window": "(k <= p) & (p - k < {0})",
    "band": "(p - k <= {0}) & (k - p <= {1})",
    "prefix": "(k <= p) | (k < {0})",
}
OUTPUTS = {
    "fwd": ("o", "lse"),
    "bwd": ("dq", "dk", "dv"),
    "fwd+bwd": ("o", "lse", "dq", "dk", "dv"),
}
REFERENCE = """import torch


@torch.no_grad()
def run({arguments}):
{passes}


def forward(q, k, v, softmax_scale):
    q, k, v = (x.float().transpose(1, 2) for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    s = q @ k.transpose(2, 3) * softmax_scale
    rows, keys = s.shape[2:]
    p = torch.arange(rows, device=q.device)[:, None] + keys - rows
    k = torch.arange(keys, device=q.device)[None]
    s = s.masked_fill(~({visible}), float("-inf"))
    o = torch.softmax(s, -1).nan_to_num() @ v
    return o.transpose(1, 2), s.logsumexp(-1)
"""
FORWARD = """    o, lse = forward(q, k, v, softmax_scale)
    return o.to(q.dtype), lse"""
BACKWARD = """    with torch.enable_grad():
        inputs = [x.detach().requires_grad_() for x in (q, k, v)]
        o, lse = forward(*inputs, softmax_scale)
        dq, dk, dv = torch.autograd.grad(o, inputs, d_o.float())
    return {results}"""


def why_none(case):
    """Why there is no definition of the case's problem; empty if there is one."""
    problem = case["problem"]
    if problem.get("layer"):
        return "an encoder layer is no attention"
    if problem.get("lengths"):
        return "sequences of several lengths, whose offsets a record does not have"
    if problem["mask"].split(":")[0] not in VISIBLE or "+" in problem["mask"]:
        return "a mask that is a pattern"
    if problem.get("layout", "bshd") != "bshd":
        return "other layouts than bshd, in which a definition's tensors are"
    if problem["dropout_p"] > 0:
        return "dropout, whose elements a definition cannot name"
    return ""


def name_of(problem):
    """Unique for its constants, mask and pass."""
    mask = problem["mask"].replace(":", "-")
    direction = problem["pass"].replace("+", "_")
    heads = f"h{problem['heads']}_kv{problem['heads_k']}_d{problem['head_dim']}"
    return f"sparkbench_attention_{direction}_{mask}_{heads}"


def tensor(shape, dtype="float16"):
    return {"shape": shape, "dtype": dtype}


def reference_of(problem):
    kind, *numbers = problem["mask"].split(":")
    arguments = "q, k, v, softmax_scale"
    passes = FORWARD
    if problem["pass"] != "fwd":
        arguments = "q, k, v, d_o, softmax_scale"
        results = "dq, dk, dv"
        if problem["pass"] == "fwd+bwd":
            results = "o.detach().to(q.dtype), lse.detach(), dq, dk, dv"
        passes = BACKWARD.format(results=results)
    visible = VISIBLE[kind].format(*numbers)
    return REFERENCE.format(arguments=arguments, passes=passes, visible=visible)


def definition_of(problem):
    inputs = {"q": tensor(Q_SHAPE), "k": tensor(K_SHAPE), "v": tensor(K_SHAPE)}
    if problem["pass"] != "fwd":
        inputs["d_o"] = tensor(Q_SHAPE)
    inputs["softmax_scale"] = tensor(None, "float32")
    shapes = {
        "o": tensor(Q_SHAPE), "lse": tensor(["batch", "heads", "seqlen_q"], "float32"),
        "dq": tensor(Q_SHAPE), "dk": tensor(K_SHAPE), "dv": tensor(K_SHAPE),
    }  # fmt: skip
    axes = {name: {"type": "var"} for name in VARIABLE}
    axes |= {name: {"type": "const", "value": problem[name]} for name in CONSTANT}
    return {
        "name": name_of(problem),
        "op_type": "attention",
        "description": f"Attention with the mask {problem['mask']}, {problem['pass']}. Row q stands at "
        "key q + seqlen_k - seqlen_q. lse is the natural logarithm.",
        "axes": axes,
        "inputs": inputs,
        "outputs": {name: shapes[name] for name in OUTPUTS[problem["pass"]]},
        "reference": reference_of(problem),
    }
