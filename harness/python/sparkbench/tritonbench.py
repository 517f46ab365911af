"""Variants of tritonbench's attention operators as kernels:

    python -m sparkbench sweep --kernel sparkbench.tritonbench:flash_attention.flash_v3

A variant takes heads before rows, contiguous: these copies, and what it does to make its function of
the inputs, are timed."""

import functools

from ._kernel import Kernel

NO_NAMES = ("__", "_")  # Python asks modules and objects for names of its own


def operator_of(name, problem):
    from tritonbench.operators import load_opbench_by_name
    from tritonbench.utils.parser import get_parser

    device = "cpu" if problem.backend == "host" else "cuda"
    precision = {"float16": "fp16", "bfloat16": "bf16"}[problem.dtype]
    arguments = ["--op", name, "--device", device, "--precision", precision, "--num-inputs", "1"]
    shape = {"--batch": problem.batch, "--seq-len": problem.seqlen_q, "--d-head": problem.head_dim,
             "--seq-len-kv": problem.seqlen_k, "--n-heads": problem.heads}  # fmt: skip
    extra = [word for flag, value in shape.items() for word in (flag, str(value))]
    extra += ["--causal"] if problem.causal else []
    operator = load_opbench_by_name(name)(get_parser().parse_args(arguments), extra)
    operator.sm_scale, operator.N_CTX = problem.softmax_scale, problem.seqlen_q
    return operator


def prepared(name, variant, problem):
    function_of = getattr(operator_of(name, problem), variant)

    def attention(q, k, v):
        result = function_of(*(x.transpose(1, 2).contiguous() for x in (q, k, v)))()
        out = result[0] if isinstance(result, (tuple, list)) else result
        return out.transpose(1, 2)

    return attention


def why_not(variant, is_forward_only, problem):
    if problem.causal and problem.seqlen_q != problem.seqlen_k:
        return f"{variant}: tritonbench aligns masks to the top left: lengths must be equal"
    return f"{variant} has no backward pass" if is_forward_only and problem.has_backward else None


class Variants:
    """Of one operator, as attributes."""

    def __init__(self, operator):
        from tritonbench.operators import load_opbench_by_name
        from tritonbench.utils.triton_op import REGISTERED_BENCHMARKS

        load_opbench_by_name(operator)  # which registers them
        self._operator, self._known = operator, REGISTERED_BENCHMARKS[operator]

    def __getattr__(self, variant):
        if variant.startswith(NO_NAMES) or variant not in self._known:
            raise AttributeError(variant)
        return Kernel(
            functools.partial(prepared, self._operator, variant), name=variant.lower(),
            summary=f"tritonbench's {self._operator}: {variant}", prepare=True, file=__file__,
            masks=("full", "causal"), tensors="torch",
            supports=functools.partial(why_not, variant, self._known[variant].fwd_only),
        )  # fmt: skip

    def __dir__(self):
        return list(self._known)


def __getattr__(operator):
    """flash_attention, ..."""
    if operator.startswith(NO_NAMES):
        raise AttributeError(operator)
    try:
        return Variants(operator)
    except (RuntimeError, KeyError) as error:  # no operator of that name, or none with variants
        raise AttributeError(f"tritonbench has no operator {operator}: {error}") from error
