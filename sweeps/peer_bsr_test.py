"""Tests the Triton chain's blocks, and its three steps with PyTorch on the host instead of Triton's
kernels, against a dense softmax."""

import types
import unittest
import unittest.mock

import peer_bsr
import peer_masks
import peer_patterns
from test_peers import case_of, torch_or_skip

torch = torch_or_skip()


def dense(bsr):
    """Dense, with -inf outside the blocks."""
    result = torch.full((len(bsr.values()), *bsr.shape[-2:]), float("-inf"))
    block = bsr.values().shape[-1]
    for batch, (begins, keys, values) in enumerate(
        zip(bsr.crow_indices(), bsr.col_indices(), bsr.values())
    ):
        for row in range(len(begins) - 1):
            for i in range(begins[row], begins[row + 1]):
                at = (row * block, keys[i] * block)
                result[batch, at[0] : at[0] + block, at[1] : at[1] + block] = values[i]
    return result


def with_values(bsr, values):
    batch = len(values)
    indices = (x.expand(batch, -1) for x in (bsr.crow_indices(), bsr.col_indices()))
    size = (batch, *bsr.shape[-2:])
    return torch.sparse_bsr_tensor(*indices, values, size=size)


def sampled_addmm(pattern, q, k, *, beta, alpha):
    """Like torch.sparse._triton_ops's, over a 2-D pattern."""
    block = pattern.values().shape[-1]
    tiles = peer_bsr.tiles_of
    keys, begins = pattern.col_indices(), pattern.crow_indices()
    rows = torch.repeat_interleave(torch.arange(len(begins) - 1), begins.diff())
    products = torch.stack([tiles(of_head.float(), block)[rows, keys] for of_head in q @ k])
    scores = alpha * products + (beta * pattern.values().float() if beta else 0.0)
    return with_values(pattern, scores.half())


def bsr_softmax(scores, max_row_nnz):
    p = torch.softmax(dense(scores), -1).nan_to_num(0.0).half()
    block = scores.values().shape[-1]
    begins, keys = scores.crow_indices()[0], scores.col_indices()[0]
    assert int(begins.diff().max()) * block == max_row_nnz
    rows = torch.repeat_interleave(torch.arange(len(begins) - 1), begins.diff())
    values = torch.stack([peer_bsr.tiles_of(head, block)[rows, keys] for head in p])
    return with_values(scores, values)


def bsr_dense_mm(p, v):
    return (dense(p).nan_to_num(0.0, neginf=0.0) @ v.float()).half()


OPS = types.SimpleNamespace(
    sampled_addmm=sampled_addmm, bsr_softmax=bsr_softmax, bsr_dense_mm=bsr_dense_mm
)


DENSE = {kind: kind.dense for kind in (peer_masks.Mask, peer_patterns.Pattern)}


def passes_of(case, dropout_p=0.0):
    """Passes over masks on the host."""
    mask = type(case.mask)

    def of_host(self, torch):
        return DENSE[mask](self, torch, device="cpu")

    with unittest.mock.patch.object(peer_bsr.BlockSparse, "triton_ops", lambda _self: OPS):
        with unittest.mock.patch.object(mask, "dense", of_host):
            with unittest.mock.patch.object(torch.cuda, "synchronize"):
                return peer_bsr.BlockSparse(torch, case, dropout_p)


def inputs_of(case):
    generator = torch.Generator().manual_seed(1)
    shapes = (case.query_shape, case.key_shape, case.key_shape)
    return [
        torch.randn(shape, generator=generator).half().transpose(1, 2).contiguous()
        for shape in shapes
    ]


class Blocks(unittest.TestCase):
    def block_of(self, name, seqlen=256):
        return peer_bsr.block_of(peer_masks_of(name, seqlen).dense(torch, device="cpu"))

    def test_they_are_the_largest_that_are_whole(self):
        self.assertEqual(self.block_of("full"), (128, False))
        self.assertEqual(self.block_of("blocked:128"), (128, False))
        self.assertEqual(self.block_of("chunk:64"), (64, False))
        self.assertEqual(self.block_of("blocked:32"), (32, False))
        self.assertEqual(self.block_of("chunk:16", 48), (16, False))
        self.assertEqual(self.block_of("window:100"), (64, True))

    def test_lengths_are_whole_blocks(self):
        with self.assertRaisesRegex(NotImplementedError, "200 rows and 200 keys are not multiples"):
            self.block_of("causal", 200)

    def test_the_plan_counts_them(self):
        flags = ("--seqlen", "256", "--heads", "3")
        plan = passes_of(case_of("torch-bsr", "causal", *flags)).mask_plan()
        self.assertEqual(plan["pairs_executed"], 3 * 10 * 64 * 64)
        self.assertEqual(plan["partial_share"], 0.4)
        # 5 and 10 indices of 4 bytes, and one fp16 number per pair.
        self.assertEqual(plan["metadata_bytes"], 4 * 15 + 2 * 10 * 64 * 64)
        plan = passes_of(case_of("torch-bsr", "blocked:128", *flags)).mask_plan()
        self.assertEqual((plan["pairs_executed"], plan["partial_share"]), (9 * 128 * 128, 0.0))


def peer_masks_of(name, seqlen):
    return case_of("torch-bsr", name, "--seqlen", str(seqlen)).mask


class Chain(unittest.TestCase):
    def test_is_a_masked_softmax(self):
        for mask in ("full", "causal", "window:40", "blocked:64", "strided:5", "sink:4+window:30"):
            with self.subTest(mask):
                case = case_of(
                    "torch-bsr", mask, "--seqlen", "192", "--heads", "4", "--heads-k", "2",
                    "--batch", "2",
                )  # fmt: skip
                q, k, v = inputs = inputs_of(case)
                k, v = (x.repeat_interleave(2, 1).float() for x in (k, v))
                visible = case.mask.dense(torch, device="cpu")
                scores = (q.float() @ k.transpose(2, 3)) * case.problem["scale"]
                want = torch.softmax(scores.masked_fill(~visible, float("-inf")), -1) @ v
                got = passes_of(case).forward(inputs)
                self.assertEqual(got.shape, want.shape)
                self.assertLess((got.float() - want).abs().max().item(), 0.01)

    def test_drops_what_is_asked(self):
        case = case_of("torch-bsr", "full", "--seqlen", "128", "--heads", "1", "--batch", "1")
        inputs = inputs_of(case)
        inputs[2] = torch.ones_like(inputs[2])
        torch.manual_seed(1)
        o = passes_of(case, 0.5).forward(inputs).float()
        self.assertGreater(o.std().item(), 0.05)
        self.assertAlmostEqual(o.mean().item(), 1.0, delta=0.1)

    def test_rows_that_see_nothing_are_declined(self):
        case = case_of("torch-bsr", "causal", "--seqlen", "128", "--seqlen-k", "64")
        passes_of(case)  # 64 rows have no block at all
        case = case_of("torch-bsr", "band:0:0", "--seqlen", "192", "--seqlen-k", "64")
        passes_of(case)
        case = case_of("torch-bsr", "documents:30:20", "--seqlen", "64")
        with self.assertRaisesRegex(NotImplementedError, "without a visible key"):
            passes_of(case)


class Support(unittest.TestCase):
    def why(self, mask, *flags):
        return peer_masks.why_unsupported(case_of("torch-bsr", mask, *flags))

    def test_says_what_is_missing(self):
        self.assertEqual(self.why("strided:5"), "")
        self.assertEqual(self.why("full", "--dropout", "0.1"), "")
        self.assertEqual(self.why("full", "--pass", "bwd"), "torch-bsr has no backward pass")
        self.assertEqual(self.why("full/causal"), "torch-bsr has one mask for all heads")

    def test_without_triton_it_is_declined(self):
        with unittest.mock.patch("torch.sparse._triton_ops.bsr_softmax", None):
            with self.assertRaisesRegex(NotImplementedError, "needs Triton and PyTorch's"):
                peer_bsr.BlockSparse.triton_ops()


if __name__ == "__main__":
    unittest.main()
