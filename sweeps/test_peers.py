"""What the tests of the peers share: cases that test_sparkbench.py plans, which stands for the program."""

import pathlib

import peer_attention
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
