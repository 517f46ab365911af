"""The arguments that PyTorch's kernels are called with."""

import unittest
import unittest.mock

import peer_attention
import peer_masks
from test_peers import case_of


class FakeTensor:
    """Records its transpositions."""

    def __init__(self, name):
        self.name = name

    def detach(self):
        return self

    def transpose(self, *_axes):
        return FakeTensor(self.name[:-1] if self.name.endswith("'") else self.name + "'")

    def repeat_interleave(self, count, axis):
        return FakeTensor(f"{self.name} x{count} on {axis}")

    def unflatten(self, axis, sizes):
        assert axis == 2 and sizes[0] == -1
        return FakeTensor(f"{self.name} by {sizes[1]}")

    def sum(self, axis):
        assert axis == 3
        return FakeTensor(f"sum of {self.name}")


class FakeTorch:
    """Records the calls of torch.ops.aten."""

    def __init__(self):
        self.calls = []
        self.ops = self.aten = self

    def __getattr__(self, name):
        def call(*arguments, **options):
            names = [x.name if isinstance(x, FakeTensor) else x for x in arguments]
            self.calls.append((name, names, options))
            return [FakeTensor(x) for x in ("o'", "lse", "state", "unused", "more", "more")]

        return call


class Calls(unittest.TestCase):
    """Kernels to which scaled_dot_product_attention passes no window."""

    def calls_of(self, kernel, mask, *flags):
        torch = FakeTorch()
        passes = peer_attention.passes_of(torch, case_of(kernel, mask, *flags), 0.25)
        o = passes.forward([FakeTensor(name) for name in "qkv"])
        self.assertEqual(o.name, "o")
        gradients = [x.name for x in passes.backward(FakeTensor("do"))]
        self.assertEqual(gradients, ["o", "lse'", "state'"])
        return torch.calls

    def test_flash_counts_offsets(self):
        forward, backward = self.calls_of("torch-flash", "window:5")
        options = {"scale": 0.125, "window_size_left": 4, "window_size_right": 0}
        inputs = ["q'", "k'", "v'"]
        taken = [*inputs, None, None, 64, 64, 0.25, False, False]
        self.assertEqual(forward, ("_flash_attention_forward", taken, options))
        saved = ["o'", "lse", None, None, 64, 64, 0.25, False, "state", "unused"]
        self.assertEqual(backward, ("_flash_attention_backward", ["do'", *inputs, *saved], options))
        (_, _, band), _ = self.calls_of("torch-flash", "band:3:1")
        self.assertEqual((band["window_size_left"], band["window_size_right"]), (3, 1))
        (_, _, causal), _ = self.calls_of("torch-flash", "causal", "--seqlen-k", "80")
        self.assertEqual((causal["window_size_left"], causal["window_size_right"]), (-1, 0))

    def test_efficient_counts_keys(self):
        forward, backward = self.calls_of("torch-efficient", "window:5", "--seqlen-k", "80")
        options = {"scale": 0.125, "window_size": 5}
        inputs = ["q'", "k'", "v'"]
        self.assertEqual(
            forward,
            (
                "_efficient_attention_forward",
                [*inputs, None, None, None, 64, 80, 0.25, 2, True],
                options,
            ),
        )
        saved = [None, "o'", None, None, 64, 80, "lse", 0.25, "state", "unused", 2, False]
        self.assertEqual(
            backward, ("_efficient_attention_backward", ["do'", *inputs, *saved], options)
        )

    def test_what_sdpa_spells_is_sdpa_s(self):
        for kernel in peer_attention.BACKENDS:
            for mask in ("full", "causal"):
                passes = peer_attention.passes_of(FakeTorch(), case_of(kernel, mask), 0.0)
                self.assertIsInstance(passes, peer_attention.Sdpa)
                self.assertEqual(passes.hidden, {"is_causal": mask == "causal"})


class Sparks(unittest.TestCase):
    """Calls of spark_attention."""

    def test_the_problem_reaches_it_whole(self):
        calls = []

        def attention(*tensors, **options):
            calls.append(([tensor.name for tensor in tensors], options))
            return FakeTensor("o'")

        package = unittest.mock.Mock(attention=attention)
        with unittest.mock.patch.dict("sys.modules", {"spark_attention": package}):
            passes = peer_attention.passes_of(
                unittest.mock.MagicMock(), case_of("spark-fp16acc", "window:5"), 0.25
            )
            self.assertEqual(passes.forward([FakeTensor(name) for name in "qkv"]).name, "o")
        options = {"mask": "window:5", "dropout_p": 0.25, "scale": 0.125, "accumulator": "fp16"}
        self.assertEqual(calls, [(["q'", "k'", "v'"], options)])

    def test_without_the_package_it_is_unsupported(self):
        with unittest.mock.patch.dict("sys.modules", {"spark_attention": None}):
            with self.assertRaisesRegex(NotImplementedError, "pip install ./kernels/python"):
                peer_attention.passes_of(FakeTorch(), case_of("spark-fp32acc", "full"), 0.0)


class Groups(unittest.TestCase):
    """Heads that share keys."""

    def test_back_ends_that_share_keys_are_told(self):
        for kernel in peer_attention.BACKENDS:
            case = case_of(kernel, "full", "--heads", "6", "--heads-k", "2")
            passes = peer_attention.passes_of(FakeTorch(), case, 0.0)
            is_told = kernel in peer_attention.SHARE_KEYS
            self.assertEqual(passes.hidden.get("enable_gqa", False), is_told)
            self.assertEqual(passes.repeats, 1 if is_told else 3)

    def test_others_get_keys_for_each_head(self):
        q, k, v = (FakeTensor(name) for name in "qkv")
        repeated = peer_attention.repeated_keys((q, k, v), 3, dim=1)
        self.assertEqual([x.name for x in repeated], ["q", "k x3 on 1", "v x3 on 1"])
        self.assertEqual(peer_attention.repeated_keys((q, k, v), 1, dim=1), (q, k, v))

    def test_efficient_adds_up_what_each_head_gave(self):
        torch = FakeTorch()
        case = case_of("torch-efficient", "window:5", "--heads", "6", "--heads-k", "2")
        passes = peer_attention.passes_of(torch, case, 0.0)
        passes.forward([FakeTensor(name) for name in "qkv"])
        names = [x.name for x in passes.backward(FakeTensor("do"))]
        self.assertEqual(torch.calls[0][1][:3], ["q'", "k' x3 on 2", "v' x3 on 2"])
        self.assertEqual(torch.calls[1][1][1:4], ["q'", "k' x3 on 2", "v' x3 on 2"])
        self.assertEqual(names, ["o", "sum of lse by 3'", "sum of state by 3'"])

    def test_the_unfused_chain_gets_them_too(self):
        case = case_of("torch-unfused", "full", "--heads", "6", "--heads-k", "2")
        passes = peer_attention.passes_of(FakeFunctions(), case, 0.0)
        self.assertEqual(passes.group_size, 3)


class FakeScores:
    """Records the operations on it, in order."""

    def __init__(self, steps=(), shape=(2, 3, 64, 64)):
        self.steps, self.shape = steps, shape

    def then(self, *step):
        return FakeScores((*self.steps, step), self.shape)

    def flatten(self, *_axes):
        return self

    def transpose(self, *_axes):
        return self

    def new_empty(self, *_shape):
        return FakeScores()

    def unflatten(self, axis, sizes):
        return self.then("unflatten", axis, sizes)

    def masked_fill_(self, mask, value):
        return self.then("hide", mask, value)

    def masked_fill(self, mask, value):
        return self.then("fill", mask, value)


class FakeFunctions:
    """PyTorch's functions that the unfused chain calls."""

    def __init__(self):
        self.nn = self.functional = self

    def baddbmm(self, _unread, q, _k, beta, alpha):
        return q.then("scores", beta, alpha)

    def softmax(self, scores, axis):
        return scores.then("softmax", axis)

    def dropout(self, p, dropout_p):
        return p.then("dropout", dropout_p)

    def bmm(self, p, _v):
        return p.then("product")


class FakeHidden:
    """Records which scores a mask hides."""

    def __invert__(self):
        return self

    def all(self, _axis, keepdim):
        return "sees none"


class UnfusedChain(unittest.TestCase):
    def steps_of(self, mask, dropout_p, *flags):
        case = case_of("torch-unfused", mask, *flags)
        hidden = FakeHidden()
        with unittest.mock.patch.object(peer_masks.Mask, "dense", lambda *_: hidden):
            passes = peer_attention.passes_of(FakeFunctions(), case, dropout_p)
        o = passes.forward([FakeScores() for _ in "qkv"])
        return [tuple("hidden" if x is hidden else x for x in step) for step in o.steps]

    def test_a_full_mask_is_three_calls(self):
        heads = ("unflatten", 0, (2, 3))
        self.assertEqual(
            self.steps_of("full", 0.0),
            [("scores", 0, 0.125), ("softmax", -1), ("product",), heads],
        )

    def test_masks_and_dropout_are_a_call_each(self):
        names = [step[0] for step in self.steps_of("window:5", 0.25)]
        self.assertEqual(names, ["scores", "hide", "softmax", "dropout", "product", "unflatten"])
        steps = self.steps_of("causal", 0.25)
        self.assertEqual(steps[1], ("hide", "hidden", float("-inf")))
        self.assertEqual(steps[3], ("dropout", 0.25))

    def test_rows_without_a_key_become_zeros(self):
        steps = self.steps_of("causal", 0.0, "--seqlen-k", "8")
        self.assertEqual(steps[2:4], [("softmax", -1), ("fill", "sees none", 0.0)])


if __name__ == "__main__":
    unittest.main()
