"""The arguments that FlashAttention-4 is called with, recorded by a fake function."""

import sys
import types
import unittest
import unittest.mock

import peer_attention
import peer_masks
from test_peers import case_of, torch_or_skip

torch = torch_or_skip()


def stand_in(calls):
    """Attention over all keys in fp32, as (out, lse): the result of
    flash_attn.cute.flash_attn_func."""

    def attend(q, k, v, **options):
        calls.append(options)
        q, k, v = (x.float().transpose(1, 2) for x in (q, k, v))
        scores = q @ k.transpose(2, 3) * options["softmax_scale"]
        return (scores.softmax(-1) @ v).transpose(1, 2).to(torch.float16), None

    return types.SimpleNamespace(flash_attn_func=attend)


def passes(case, calls):
    modules = {"flash_attn": types.ModuleType("flash_attn"), "flash_attn.cute": stand_in(calls)}
    with unittest.mock.patch.dict(sys.modules, modules):
        return peer_attention.passes_of(torch, case, 0.0)


class Flash4(unittest.TestCase):
    def test_masks_are_spelled_as_it_has_them(self):
        for mask, spelled in {
            "full": {"causal": False},
            "causal": {"causal": True},
            "window:9": {"causal": False, "window_size": (8, 0)},
            "band:3:5": {"causal": False, "window_size": (3, 5)},
        }.items():
            options = passes(case_of("flash-attn-4", mask), []).options
            self.assertEqual(options, {"softmax_scale": 0.125, **spelled})

    def test_outputs_and_gradients_have_heads_first(self):
        calls = []
        attention = passes(case_of("flash-attn-4", "full"), calls)
        inputs = [torch.randn(2, 3, 5, 64).half().requires_grad_() for _ in range(3)]
        out = attention.forward(inputs)
        self.assertEqual((tuple(out.shape), len(calls)), ((2, 3, 5, 64), 1))
        want = torch.nn.functional.scaled_dot_product_attention(*(x.float() for x in inputs))
        self.assertLess((out.float() - want).abs().max().item(), 2e-3)
        for gradient in attention.backward(torch.ones_like(out)):
            self.assertEqual(tuple(gradient.shape), (2, 3, 5, 64))

    def test_what_it_lacks_is_said(self):
        why = peer_masks.why_unsupported(case_of("flash-attn-4", "full", "--dropout", "0.1"))
        self.assertEqual(why, "flash-attn-4 has no dropout")
        self.assertIn("no mask prefix:3", peer_masks.why_unsupported(case_of("flash-attn-4", "prefix:3")))
        with unittest.mock.patch.dict(sys.modules, {"flash_attn": None}):
            with self.assertRaisesRegex(NotImplementedError, "pip install flash-attn-4"):
                peer_attention.passes_of(torch, case_of("flash-attn-4", "full"), 0.0)


if __name__ == "__main__":
    unittest.main()
