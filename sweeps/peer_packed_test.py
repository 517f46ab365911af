"""Varlen: the arguments of PyTorch's kernels, and their values on the CPU if PyTorch is there."""

import contextlib
import importlib.util
import types
import unittest
import unittest.mock

import peer_check
import peer_masks
import peer_packed
from test_peers import cases_of

HAS_TORCH = importlib.util.find_spec("torch") is not None


def case_of(kernel, mask="full", lengths="5x7+0x3+4x4", *flags):
    (case,) = cases_of(
        "--kernel", kernel, "--mask", mask, "--headdim", "64", "--dropout", "0", "--seqlen", "64",
        "--lengths", lengths, *flags,
    )  # fmt: skip
    return case


class Cases(unittest.TestCase):
    def test_lengths_are_those_of_the_plan(self):
        case = case_of("torch-flash")
        self.assertEqual(case.lengths, [(5, 7), (0, 3), (4, 4)])
        self.assertEqual(case.cu_seqlens_q, [0, 5, 5, 9])
        self.assertEqual(case.unknown_parts, [])
        self.assertFalse(case.has_equal_lengths)
        self.assertTrue(case_of("torch-flash", "full", "5x5+0x0").has_equal_lengths)

    def test_peers_of_lengths_are_on_no_other_problem(self):
        with_lengths = {case.kernel for case in cases_of("--lengths", "5x5")}
        others = {case.kernel for case in cases_of()}
        self.assertEqual(with_lengths - others, {"torch-varlen", "torch-nested", "torch-padded"})

    def test_what_they_do_not_take_is_said(self):
        def why(*of):
            return peer_masks.why_unsupported(case_of(*of))

        self.assertIn("takes no packed sequences", why("torch-math"))
        self.assertIn("takes no packed sequences", why("torch-cudnn"))
        self.assertIn("no empty sequences", why("torch-nested"))
        self.assertIn("top left", why("torch-nested", "causal", "5x7"))
        self.assertIn("no mask window:5", why("torch-varlen", "window:5"))
        self.assertIn("without a visible key", why("torch-efficient", "full", "5x0+1x1"))
        self.assertIn("without a visible key", why("torch-efficient", "causal", "5x4"))
        self.assertIn("nothing to compute", why("torch-flash", "full", "5x0+0x3"))
        for kernel in peer_masks.OF_PACKED:
            self.assertEqual(why(kernel, "causal", "5x5+4x4"), "", kernel)

    def test_varlen_has_no_dropout(self):
        (case,) = cases_of(
            "--kernel", "torch-varlen", "--mask", "full", "--headdim", "64", "--dropout", "0.1",
            "--seqlen", "64", "--lengths", "5x5",
        )  # fmt: skip
        self.assertEqual(peer_masks.why_unsupported(case), "torch-varlen has no dropout")

    def test_empty_sequences_are_not_checked(self):
        heads = peer_check.checked_heads(case_of("torch-flash"))
        self.assertEqual(heads, [(0, 0), (0, 1), (2, 0), (2, 1)])

    def test_an_element_is_found_in_its_sequence(self):
        heads = [(0, 1), (2, 0)]
        self.assertEqual(peer_check.position_of(5 * 64 + 3, heads, [5, 4], 64), [2, 0, 0, 3])
        self.assertEqual(peer_check.position_of(4 * 64 + 3, heads, [5, 4], 64), [0, 4, 1, 3])


class FakeAten:
    """Records the calls of torch.ops.aten."""

    def __init__(self):
        self.calls = []
        self.int32 = "int32"
        self.ops = types.SimpleNamespace(aten=self)

    def tensor(self, offsets, dtype, device):
        return tuple(offsets)

    def __getattr__(self, name):
        def call(*arguments, **options):
            self.calls.append((name, arguments, options))
            return ["o", "lse", "state", "unused"]

        return call


class FlashCalls(unittest.TestCase):
    def test_offsets_and_longest_reach_it(self):
        torch = FakeAten()
        passes = peer_packed.Flash(torch, case_of("torch-flash", "window:5"), 0.25)
        passes.take(["q", "k", "v"], "do")
        self.assertEqual(passes.forward(), "o")
        passes.backward()
        options = {"scale": 0.125, "window_size_left": 4, "window_size_right": 0}
        cu_q, cu_k = (0, 5, 5, 9), (0, 7, 10, 14)
        self.assertEqual(
            torch.calls[0],
            ("_flash_attention_forward",
             ("q", "k", "v", cu_q, cu_k, 5, 7, 0.25, False, False), options),
        )  # fmt: skip
        self.assertEqual(
            torch.calls[1],
            ("_flash_attention_backward",
             ("do", "q", "k", "v", "o", "lse", cu_q, cu_k, 5, 7, 0.25, False, "state", "unused"),
             options),
        )  # fmt: skip


@contextlib.contextmanager
def on_cpu():
    """PyTorch with the CPU as "cuda"."""
    import torch

    def moved(make):
        def made(*arguments, **options):
            if options.get("device") == "cuda":
                options["device"] = "cpu"
            if options.get("generator") is not None:
                options["dtype"] = torch.float32
            return make(*arguments, **options)

        return made

    names = ("tensor", "zeros", "arange", "randn")
    patches = [
        unittest.mock.patch.object(torch, name, moved(getattr(torch, name))) for name in names
    ]
    generator = torch.Generator
    patches.append(unittest.mock.patch.object(torch, "Generator", lambda _: generator()))
    with contextlib.ExitStack() as stack:
        for patch in patches:
            stack.enter_context(patch)
        yield torch


@unittest.skipUnless(HAS_TORCH, "PyTorch is not installed")
class Padding(unittest.TestCase):
    """The padded batch, and the check of varlen tensors with it, in fp32 on the CPU."""

    def verdict(self, case):
        with on_cpu() as torch:
            return peer_check.Check(torch, case, self.arguments).verify()

    arguments = types.SimpleNamespace(tolerance_ratio=2.0, seed=3)

    def test_every_mask_and_pass_is_right(self):
        for lengths in ("5x7+0x3+4x0+4x4", "6x6+1x1+9x9"):
            cases = cases_of(
                "--kernel", "torch-padded", "--mask", "full,causal,window:3,band:1:2,prefix:2",
                "--pass", "fwd,bwd", "--headdim", "64", "--dropout", "0", "--seqlen", "64",
                "--lengths", lengths,
            )  # fmt: skip
            for case in cases:
                with self.subTest(case.id):
                    self.assertEqual(self.verdict(case)[1], "")

    def test_heads_that_share_keys_are_right(self):
        flags = ("--heads", "4", "--heads-k", "2", "--pass", "bwd")
        accuracy, why, _ = self.verdict(case_of("torch-padded", "causal", "5x5+7x7", *flags))
        self.assertEqual(why, "")
        self.assertLess(accuracy["dk"]["rel_l2"], 1e-5)

    def test_a_row_of_another_sequence_is_found(self):
        original = peer_packed.Padded.packed

        def swapped(self, tensor, name):
            return original(self, tensor, name).flip(0)

        with unittest.mock.patch.object(peer_packed.Padded, "packed", swapped):
            _, why, _ = self.verdict(case_of("torch-padded", "full", "5x5+7x7"))
        self.assertNotEqual(why, "")


if __name__ == "__main__":
    unittest.main()
