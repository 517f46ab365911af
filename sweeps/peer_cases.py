"""The cases of a sweep of peers: the flags of `sparkbench sweep`, their grid, and its work."""

import argparse
import fnmatch
import itertools
from dataclasses import dataclass
from functools import partial

PASSES = ("fwd", "bwd", "fwd+bwd")
PRODUCTS = {"fwd": 2, "bwd": 5, "fwd+bwd": 7}  # matrix products of 2 * head_dim FLOPs a pair
PAPER = {"headdim": "64,128", "seqlen": "512:16k:*2", "causal": "both", "dropout": "0,0.1"}
PRESETS = {
    "quick": {
        "headdim": "64,128",
        "seqlen": "128,200",
        "causal": "both",
        "dropout": "0,0.1",
        "batch": "1",
        "heads": "2",
    },
    "paper-forward": PAPER,
    "paper-backward": {**PAPER, "pass": "bwd"},
}
FLOP_CONVENTION = (
    "fwd: 4*B*H*Sq*Sk*D, halved when causal (4*D per visible pair when Sq != Sk); bwd: 2.5 times "
    "fwd; fwd+bwd: 3.5 times fwd"
)


@dataclass(frozen=True)
class Case:
    """A kernel on a problem with as many keys as queries."""

    kernel: str
    direction: str  # "fwd", "bwd" or "fwd+bwd"
    batch: int
    heads: int
    seqlen: int
    head_dim: int
    causal: bool
    dropout_p: float

    @property
    def id(self):
        mask = "causal" if self.causal else "full"
        return (
            f"{self.kernel}/{self.direction}/b{self.batch}/h{self.heads}/sq{self.seqlen}"
            f"/sk{self.seqlen}/d{self.head_dim}/{mask}/p{self.dropout_p:g}"
        )

    @property
    def flops(self):
        pairs = self.batch * self.heads * self.seqlen**2
        return PRODUCTS[self.direction] * pairs * self.head_dim * (1 if self.causal else 2)

    @property
    def io_bytes(self):
        """Of the tensors: q, k, v, o in fp16, lse in fp32; backward d_o, dq, dk, dv too."""
        tensors = 4 if self.direction == "fwd" else 8
        rows = self.batch * self.heads * self.seqlen
        return tensors * rows * self.head_dim * 2 + rows * 4

    @property
    def moved_bytes(self):
        """What every implementation must read or write once."""
        if self.direction != "fwd+bwd":
            return self.io_bytes
        rows = self.batch * self.heads * self.seqlen
        return (4 + 8) * rows * self.head_dim * 2 + 2 * rows * 4


def parse_number(text):
    """16k is 16384."""
    number = int(text[:-1]) * 1024 if text.endswith("k") else int(text)
    if number < 1:
        raise ValueError(f"'{text}' is not positive")
    return number


def expand_range(text):
    """512:16k:*2 and 64:256:+64, the last value included where it is met."""
    first, last, step = text.split(":")
    value, last, by = parse_number(first), parse_number(last), parse_number(step[1:])
    if step[0] not in "*+" or (step[0] == "*" and by == 1):
        raise ValueError(f"'{text}' has no step *N (N > 1) or +N")
    while value <= last:
        yield value
        value = value * by if step[0] == "*" else value + by


def parse_numbers(text):
    numbers = []
    for item in text.split(","):
        numbers.extend(expand_range(item) if ":" in item else [parse_number(item)])
    if not numbers:
        raise ValueError(f"'{text}' is empty")
    return numbers


def parse_causal(text):
    values = {"true": [True], "false": [False], "both": [False, True]}
    return values[text]


def parse_dropout(text):
    values = [float(item) for item in text.split(",")]
    if not all(0 <= value < 1 for value in values):
        raise ValueError(f"'{text}' is not in [0, 1)")
    return values


def parse_passes(text):
    passes = text.split(",")
    if not set(passes) <= set(PASSES):
        raise ValueError(f"'{text}': allowed are {', '.join(PASSES)}")
    return passes


def select_kernels(globs, known):
    """In the order of `known`; a glob that selects nothing is an error."""
    chosen = set()
    for glob in globs.split(","):
        matches = fnmatch.filter(known, glob)
        if not matches:
            raise ValueError(f"unknown '{glob}'; allowed: {', '.join(known)}")
        chosen.update(matches)
    return [name for name in known if name in chosen]


def automatic(text, value):
    return value if text == "auto" else parse_number(text)


def checked(flag, parse, text):
    try:
        return parse(text)
    except (KeyError, ValueError, IndexError) as error:
        raise argparse.ArgumentTypeError(f"--{flag}: cannot read '{text}' ({error})") from error


AXES = {
    "pass": ("fwd", parse_passes, "fwd, bwd, fwd+bwd"),
    "headdim": ("64,128", parse_numbers, "head dimensions"),
    "seqlen": ("512:16k:*2", parse_numbers, "of queries and of keys"),
    "causal": ("both", parse_causal, "true, false or both"),
    "dropout": ("0,0.1", parse_dropout, "probabilities in [0, 1)"),
    "batch": ("auto", str, "a number, or auto: total tokens / seqlen"),
    "heads": ("auto", str, "a number, or auto: hidden / head dimension"),
    "total-tokens": ("16k", parse_number, "tokens of an automatic batch"),
    "hidden": ("2048", parse_number, "hidden size of automatic heads"),
}


def add_axis_flags(parser, kernels):
    parser.add_argument("--preset", choices=PRESETS, default="paper-forward")
    parser.add_argument("--kernel", default="*", help="names or globs of " + ", ".join(kernels))
    for flag, (_, _, description) in AXES.items():
        parser.add_argument("--" + flag, help=description)


def expand_cases(arguments, kernels):
    """Cases of one problem are neighbours. Raises argparse.ArgumentTypeError."""
    axes = {}
    for flag, (default, parse, _) in AXES.items():
        given = getattr(arguments, flag.replace("-", "_"))
        text = given or PRESETS[arguments.preset].get(flag, default)
        axes[flag] = checked(flag, parse, text)
    names = checked("kernel", lambda globs: select_kernels(globs, kernels), arguments.kernel)
    cases = []
    for direction, head_dim, seqlen, causal, dropout_p, name in itertools.product(
        axes["pass"], axes["headdim"], axes["seqlen"], axes["causal"], axes["dropout"], names
    ):
        batch = max(1, axes["total-tokens"] // seqlen)
        heads = axes["hidden"] // head_dim
        batch = checked("batch", partial(automatic, value=batch), axes["batch"])
        heads = checked("heads", partial(automatic, value=heads), axes["heads"])
        cases.append(Case(name, direction, batch, heads, seqlen, head_dim, causal, dropout_p))
    return cases
