"""The encoder layers of PyTorch and what each computes: three ways to run a layer of PyTorch
operations, each with every attention, and nn.TransformerEncoderLayer's fast path."""

import re
from dataclasses import dataclass
from functools import cached_property

import sparkbench_cases

WAYS = ("eager", "compile", "script")
# For each attention, its torch.nn.attention.SDPBackend and the operation that it calls. The unfused
# chain runs with no other back end allowed, so that nothing replaces it.
BACKENDS = {
    "unfused": "MATH",
    "math": "MATH",
    "efficient": "EFFICIENT_ATTENTION",
    "flash": "FLASH_ATTENTION",
    "cudnn": "CUDNN_ATTENTION",
}
FUSED_ATTENTIONS = {
    "aten::_scaled_dot_product_efficient_attention": "efficient",
    "aten::_scaled_dot_product_flash_attention": "flash",
    "aten::_scaled_dot_product_flash_attention_for_cpu": "flash",
    "aten::_scaled_dot_product_cudnn_attention": "cudnn",
}
FAST_PATH = "torch-encoder-layer"
FAST_PATH_OPERATION = "aten::_transformer_encoder_layer_fwd"
LAYERS = (*(f"torch-{way}-{backend}" for way in WAYS for backend in BACKENDS), FAST_PATH)
# The baseline: it is ok as long as it is finite.
REFERENCE = "torch-eager-unfused"
# The layer's parts of an id; they follow the parts of its attention.
OF_LAYER = re.compile(
    "hidden[0-9]+|ffn[0-9]+|gelu-tanh|gelu-erf|relu|norm-(post|pre)|bias-false|rest-(un)?fused"
)


def way_of(kernel):
    """None for the fast path."""
    return None if kernel == FAST_PATH else kernel.split("-")[1]


def backend_of(kernel):
    """None for the fast path, which chooses by itself."""
    return None if kernel == FAST_PATH else kernel.split("-")[2]


def rest_of(kernel):
    """Eager PyTorch launches one operation at a time. Otherwise a compiler, or the fast path
    itself, has fused some."""
    return "unfused" if way_of(kernel) == "eager" else "fused"


@dataclass(frozen=True)
class LayerCase(sparkbench_cases.Case):
    """A PyTorch layer on a problem that `sparkbench encoder` planned."""

    @cached_property
    def shape(self):
        return self.problem["layer"]

    @property
    def unknown_parts(self):
        parts = self.id.split("/")[sparkbench_cases.KNOWN_PARTS :]
        return [part for part in parts if not OF_LAYER.fullmatch(part)]

    @property
    def tokens_shape(self):
        return self.problem["batch"], self.problem["seqlen_q"], self.shape["hidden"]

    @property
    def needs_no_tensor(self):
        """For the mask."""
        return self.mask.is_sdpa_s()

    @property
    def repro(self):
        return sparkbench_cases.peers_line(
            ["--layer", "encoder", "--kernel", self.kernel],
            self.planned["repro"],
            (*sparkbench_cases.OF_STAND_IN, "--rest"),
        )


def plan_layers(arguments, flags):
    """The chosen layers on each problem; layers of one problem are adjacent. Raises CasesError."""
    names = sparkbench_cases.select_kernels(arguments.kernel, list(LAYERS))
    own = ["--tensors", arguments.tensors] if arguments.tensors else []
    if given := [flag for flag in flags if flag.split("=")[0] == "--rest"]:
        raise sparkbench_cases.CasesError(
            f"{given[0]}: layers of PyTorch's have their own: eager ones are unfused, others fused; "
            "choose by --kernel"
        )
    plan = sparkbench_cases.read_plan(
        sparkbench_cases.find_sparkbench(arguments.sparkbench),
        [*sparkbench_cases.preset_flag(arguments), "--seed", str(arguments.seed), *own, *flags,
         "--rest", "unfused,fused"],
        "encoder",
    )  # fmt: skip
    cases = [LayerCase(name, planned) for planned in plan for name in names]
    return [case for case in cases if case.shape["rest"] == rest_of(case.kernel)]


def why_no_fast_path(case):
    """By the conditions in nn.TransformerEncoderLayer.forward. Empty if it takes its fast path."""
    shape = case.shape
    if case.direction != "fwd":
        return "it is of forward passes alone"
    if case.problem["dropout_p"] > 0:
        return "it has no dropout"
    if shape["activation"] == "gelu-tanh":
        return "its activations are relu and gelu-erf"
    if not shape["bias"]:
        return "it is taken with biases alone"
    if case.problem["heads"] % 2 == 1:
        return f"it takes no odd number of heads, as {case.problem['heads']}"
    if case.mask.kind == "pattern" and len(case.mask.unions) > 1:
        return "its mask is one of all heads"
    return ""


def why_unsupported(case):
    """Empty if the layer supports the problem."""
    kernel, mask = case.kernel, case.mask
    if case.unknown_parts:
        return f"the peers do not know the {', '.join(case.unknown_parts)} of {case.id}"
    if case.planned["input"] not in ("normal", "tensors"):
        return f"the peers draw normal inputs, and not {case.planned['input']}"
    if mask.kind == "pattern" and (why := mask.why_unknown()):
        return why
    if kernel == FAST_PATH:
        why = why_no_fast_path(case)
        return why and f"{kernel} is the fast path of nn.TransformerEncoderLayer: {why}"
    if not case.needs_no_tensor and backend_of(kernel) in ("flash", "cudnn"):
        return f"{kernel} has no mask {mask.name}; it has full, causal"
    return ""


def why_another_attention(kernel, operations):
    """Empty if the called operations include the one in the candidate's name and no other
    attention."""
    if kernel == FAST_PATH:
        is_taken = FAST_PATH_OPERATION in operations
        return "" if is_taken else "nn.TransformerEncoderLayer did not take its fast path"
    called = {FUSED_ATTENTIONS.get(one.removesuffix("_backward")) for one in operations} - {None}
    backend = backend_of(kernel)
    wanted = {backend} & set(FUSED_ATTENTIONS.values())
    if called == wanted:
        return ""
    names = ", ".join(sorted(called)) or "no fused attention"
    return f"{kernel} called {names} in the place of {backend}"
