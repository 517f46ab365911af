"""Shared by the tests of the peers: cases planned by test_sparkbench.py, a fake sparkbench."""

import pathlib
import sys

import peer_attention
import peer_layers
import peer_masks
import sparkbench_cases
import torch_peers

HERE = pathlib.Path(__file__).parent
STAND_IN = str(HERE / "test_sparkbench.py")


def cases_of(*flags):
    flags = ["--sparkbench", STAND_IN, *flags]
    arguments, others = torch_peers.make_parser().parse_known_args(flags)
    return sparkbench_cases.plan_cases(arguments, others, list(peer_attention.PEERS))


def case_of(kernel, mask, *flags):
    (case,) = cases_of(
        "--kernel", kernel, "--mask", mask, "--headdim", "64", "--dropout", "0", "--seqlen", "64",
        *flags,
    )  # fmt: skip
    return case


def mask_of(name, seqlen_q=7, seqlen_k=7):
    return peer_masks.Mask(name, seqlen_q, seqlen_k)


def layers_of(*flags, program=STAND_IN):
    """Small layers, unless the flags say otherwise."""
    flags = ["--sparkbench", program, "--headdim", "16", "--seqlen", "24", "--batch", "3",
             "--hidden", "64", "--ffn", "96", "--dropout", "0", *flags]  # fmt: skip
    arguments, others = torch_peers.make_parser().parse_known_args(flags)
    return peer_layers.plan_layers(arguments, others)


def layer_of(kernel, mask="full", *flags, program=STAND_IN):
    (case,) = layers_of("--kernel", kernel, "--mask", mask, *flags, program=program)
    return case


def torch_or_skip():
    """PyTorch, or exit status 77: the file's tests are skipped without it or NumPy."""
    try:
        import numpy  # noqa: F401
        import torch
    except ImportError as error:
        print(f"skipped: {error}")
        sys.exit(77)
    torch.set_num_threads(1)  # the tensors are small
    return torch
