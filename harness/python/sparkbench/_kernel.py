"""A kernel in Python: a function, and what sparkbench has to know about it."""

import importlib.util
import inspect
import re

# What a function may take beside q, k and v.
ARGUMENTS = (
    "causal", "window", "mask", "sees", "softmax_scale", "dropout_p", "seed", "dropout_offset",
    "deterministic", "enable_gqa", "cu_seqlens_q", "cu_seqlens_k", "max_seqlen_q", "max_seqlen_k",
)  # fmt: skip
MASKS = ("full", "causal", "window", "band", "prefix", "pattern")
FEATURES = ("masks", "dropout", "varlen", "gqa", "scale", "deterministic")


def arguments_of(function):
    """The names of ARGUMENTS that the function takes. Throws TypeError for one that it must be
    given and that is none of them."""
    names = set()
    positional = 0
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            return set(ARGUMENTS)
        if parameter.kind is parameter.VAR_POSITIONAL:
            continue
        if parameter.name in ARGUMENTS and parameter.kind is not parameter.POSITIONAL_ONLY:
            names.add(parameter.name)
        elif parameter.default is parameter.empty:
            positional += 1
            if parameter.kind is parameter.KEYWORD_ONLY:
                raise TypeError(
                    f"it requires the argument '{parameter.name}'; sparkbench has "
                    f"{', '.join(ARGUMENTS)}"
                )
    return names


def masks_of(arguments):
    if {"mask", "sees"} & arguments:
        return MASKS
    if "window" in arguments:
        return MASKS[:4]
    return MASKS[:2] if "causal" in arguments else MASKS[:1]


class ItemError(Exception):
    """Its text goes after --kernel: 'item'."""


class Kernel:
    """Made by kernel(); see there. Call it like the function that it was made of."""

    def __init__(self, function, *, name=None, summary=None, version=None, accumulator="fp32",
                 tensors=None, backends=("cuda", "host"), draws_own_dropout=True, prepare=False,
                 backward=None, autograd=True, supports=None, masks=None, dropout=None,
                 varlen=None, gqa=None, scale=None, deterministic=None, layer=False, file=None,
                 dtypes=("float16", "bfloat16")):  # fmt: skip
        self.function, self.is_prepared, self.computes_layers = function, prepare or layer, layer
        prepare = self.is_prepared
        self.__doc__ = function.__doc__
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self.name = name or re.sub(r"[^a-z0-9._-]", "-", self.__name__.lower()).lstrip("._-0123456789")
        first_line = (function.__doc__ or "").strip().split("\n")[0]
        self.summary = summary or first_line or f"{self.__name__}, a Python function"
        self._version = version
        self.accumulator = accumulator
        self.tensors = tensors or ("torch" if importlib.util.find_spec("torch") else "numpy")
        self.backends = tuple(backends)
        self.dtypes = (dtypes,) if isinstance(dtypes, str) else tuple(dtypes)
        self.draws_own_dropout, self.autograd = draws_own_dropout, autograd
        self.backward = backward
        self._supports = supports
        self.file = file or source_of(function)
        taken = set() if prepare else arguments_of(function)
        declared = {"masks": masks, "dropout": dropout, "varlen": varlen, "gqa": gqa,
                    "scale": scale, "deterministic": deterministic}  # fmt: skip
        by_signature = {
            "masks": MASKS[:1] if prepare else masks_of(taken),
            "dropout": "dropout_p" in taken,
            "varlen": "cu_seqlens_q" in taken,
            "gqa": "enable_gqa" in taken,
            "scale": prepare or "softmax_scale" in taken,
            "deterministic": "deterministic" in taken,
        }
        self.takes = {
            feature: by_signature[feature] if declared[feature] is None else declared[feature]
            for feature in FEATURES
        }
        if isinstance(self.takes["masks"], str):
            self.takes["masks"] = (self.takes["masks"],)

    def __call__(self, *arguments, **options):
        return self.function(*arguments, **options)

    def supports(self, function):
        """As a decorator: the function that says why a problem is not supported, or None."""
        self._supports = function
        return function

    @property
    def version(self):
        return self._version() if callable(self._version) else self._version

    @property
    def has_backward(self):
        differentiates = self.autograd and self.tensors != "numpy"
        return self.backward is not None or self.is_prepared or differentiates

    def why_not(self, problem):
        """Why it does not compute the problem, or None."""
        takes = self.takes
        if problem.dtype not in self.dtypes:
            return f"{self.name} does not take {problem.dtype}; it takes {', '.join(self.dtypes)}"
        if (problem.layer is not None) != self.computes_layers:
            return f"{self.name} computes {'whole layers' if self.computes_layers else 'attention'}"
        if problem.mask_kind not in takes["masks"]:
            return f"{self.name} has no mask {problem.mask}; it has {', '.join(takes['masks'])}"
        needs = (
            ("dropout", problem.dropout_p > 0, "dropout", "dropout_p"),
            ("varlen", problem.is_varlen, "sequences of several lengths", "cu_seqlens_q"),
            ("gqa", problem.heads_k != problem.heads, "key heads that query heads share",
             "enable_gqa"),
            ("scale", not problem.has_default_scale, "softmax_scale but 1 / sqrt(head_dim)",
             "softmax_scale"),
            ("deterministic", problem.deterministic and problem.has_backward,
             "deterministic backward pass", "deterministic"),
        )  # fmt: skip
        for feature, is_needed, what, argument in needs:
            if is_needed and not takes[feature]:
                how = "" if self.is_prepared else f" (its function takes no argument '{argument}')"
                return f"{self.name} has no {what}{how}"
        if problem.has_backward and not self.has_backward:
            return f"{self.name} has no backward pass"
        return self._supports(problem) if self._supports else None

    def prepare(self, problem):
        """(forward, backward or None), each of tensors and the problem's arguments."""
        if not self.is_prepared:
            return self.function, self.backward
        made = self.function(problem)
        if isinstance(made, (tuple, list)):
            return made
        return made, self.backward


def source_of(function):
    try:
        return inspect.getsourcefile(inspect.unwrap(function))
    except TypeError:
        return None


def kernel(function=None, **options):
    """Makes a kernel of a function, with or without options:

        @sparkbench.kernel(name="mine", version="1.2", gqa=True)
        def attention(q, k, v, *, causal, softmax_scale):
            ...
            return out          # or (out, lse), or (out, lse, *saved) for a backward function

    Tensors are [batch, seqlen, heads, head_dim], or [total, heads, head_dim] with cu_seqlens. `out`
    has q's shape and dtype; `lse` is fp32, [batch, heads, seqlen_q] or [heads, total_q].

    name, summary, version    of the record. version may be a function
    tensors                   "torch", "numpy" or "jax": what the function takes and returns
    backends                  "cuda", "host" or both
    dtypes                    "float16", "bfloat16" or both
    accumulator               "fp32" or "fp16": what scores are summed in. Sets the allowed error
    prepare=True              the function takes the problem (sparkbench.Problem) and returns the
                              function of q, k and v, or that and a backward function. It runs once
                              for a problem and is not timed
    backward                  function (d_out, q, k, v, out, lse, *saved, ...) -> (dq, dk, dv).
                              Without one the framework differentiates, unless autograd=False
    supports                  function of the problem: None, or why it is not supported
    draws_own_dropout=False   its dropped elements are sparkbench's: verified with dropout
    masks, dropout, varlen,   what it supports, if its arguments do not say so: masks is a tuple of
    gqa, scale, deterministic "full", "causal", "window", "band", "prefix", "pattern"
    layer=True                it computes encoder layers, for `sparkbench encoder`: the function takes
                              the problem, and returns the function of x, [batch, seqlen, hidden],
                              and {name: weight} that returns y (sparkbench.Layer)
    """
    if function is None:
        return lambda decorated: Kernel(decorated, **options)
    return Kernel(function, **options)
