"""PyTorch's layers on this machine's CPU, against a NumPy layer after
reference/encoder/layer_shape.h. Skipped without PyTorch."""

import itertools
import math
import unittest

import peer_layers
from test_peers import layer_of, layers_of, torch_or_skip

torch = torch_or_skip()
import numpy  # noqa: E402
import peer_layer  # noqa: E402
import peer_layer_check  # noqa: E402

KINDS = list(itertools.product(("post", "pre"), ("gelu-tanh", "gelu-erf", "relu")))


def normed(z, gamma, beta):
    mean = z.mean(-1, keepdims=True)
    variance = ((z - mean) ** 2).mean(-1, keepdims=True)
    return (z - mean) / numpy.sqrt(variance + 1e-12) * gamma + beta


def activated(name, u):
    if name == "relu":
        return numpy.maximum(u, 0)
    if name == "gelu-erf":
        return 0.5 * u * (1 + numpy.vectorize(math.erf)(u / math.sqrt(2)))
    return 0.5 * u * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3)))


def attend(case, q, k, v):
    """Head by head and row by row, over the visible keys."""
    o, d = numpy.zeros_like(q), case.problem["head_dim"]
    for head in range(case.problem["heads"]):
        columns = slice(head * d, (head + 1) * d)
        for row in range(len(q)):
            keys = [key for key in range(len(k)) if case.mask.sees(row, key)]
            scores = k[keys, columns] @ q[row, columns] / math.sqrt(d)
            p = numpy.exp(scores - scores.max())
            o[row, columns] = p / p.sum() @ v[keys, columns]
    return o


def by_hand(case, w, x):
    """(y, the branch that the last residual is added to) for one sequence, [rows, hidden]."""
    shape = case.shape
    bias = {name: w.get(name, 0.0) for name in ("b_qkv", "b_o", "b_1", "b_2")}

    def block_1(z):
        q, k, v = numpy.split(z @ w["w_qkv"].T + bias["b_qkv"], 3, axis=1)
        return attend(case, q, k, v) @ w["w_o"].T + bias["b_o"]

    def block_2(z):
        g = activated(shape["activation"], z @ w["w_1"].T + bias["b_1"])
        return g @ w["w_2"].T + bias["b_2"]

    norm_1 = lambda z: normed(z, w["gamma_1"], w["beta_1"])  # noqa: E731
    norm_2 = lambda z: normed(z, w["gamma_2"], w["beta_2"])  # noqa: E731
    if shape["norm"] == "pre":
        h = x + block_1(norm_1(x))
        f = block_2(norm_2(h))
        return h + f, f
    h = norm_1(x + block_1(x))
    f = block_2(h)
    return norm_2(h + f), f


def in_numpy(tensors):
    weights, x, d_y = tensors
    named = {name: tensor.detach().double().numpy() for name, tensor in weights.items()}
    return named, x.detach().double().numpy(), d_y.detach().double().numpy()


def rel_l2(got, want):
    return numpy.linalg.norm(got - want) / numpy.linalg.norm(want)


def outputs_of(case, tensors, compiler="aot_eager", dropout_p=0.0):
    layer = peer_layer.Layer(torch, case, tensors, dropout_p, "cpu", compiler)
    return layer.outputs(layer.d_y)


class ExactLayer(unittest.TestCase):
    def exact(self, case, tensors):
        return peer_layer_check.unfused_outputs(torch, case, tensors, torch.float64, "cpu")

    def test_it_is_the_layer_by_hand(self):
        for (norm, activation), bias in itertools.product(KINDS, ("true", "false")):
            flags = ("--norm", norm, "--activation", activation, "--bias", bias, "--batch", "2")
            masks = ("--mask", "full,causal,window:5,sink:1+window:3")
            for case in layers_of("--kernel", "torch-eager-math", *masks, *flags):
                tensors = peer_layer.draw_tensors(torch, case, 1, "cpu")
                weights, x, _ = in_numpy(tensors)
                got = self.exact(case, tensors)
                for entry in range(2):
                    y, branch = by_hand(case, weights, x[entry])
                    with self.subTest(case.id):
                        self.assertLess(rel_l2(got["output"][entry].numpy(), y), 1e-12)
                        of_branch = got["before_residual"][entry].numpy()
                        self.assertLess(rel_l2(of_branch, branch), 1e-12)

    def test_gradients_are_differences_by_hand(self):
        for norm, activation in KINDS:
            mask = "full" if norm == "post" else "causal"
            flags = ("--pass", "bwd", "--batch", "1", "--seqlen", "9", "--norm", norm)
            case = layer_of("torch-eager-math", mask, *flags, "--activation", activation)
            tensors = peer_layer.draw_tensors(torch, case, 2, "cpu")
            weights, x, d_y = in_numpy(tensors)
            gradients = self.exact(case, tensors)
            values, steps = {"x": x, **weights}, numpy.random.default_rng(0)
            for name, value in values.items():
                direction = steps.standard_normal(value.shape)
                ends = []
                for step in (1e-5, -1e-5):
                    moved = {**values, name: value + step * direction}
                    own = {key: moved[key] for key in weights}
                    ends.append((by_hand(case, own, moved["x"][0])[0] * d_y[0]).sum())
                want = (ends[0] - ends[1]) / 2e-5
                gradient = gradients[peer_layer.GRADIENTS[name]].numpy()
                with self.subTest((norm, activation, name)):
                    size = numpy.linalg.norm(gradient) * numpy.linalg.norm(direction)
                    self.assertLess(abs((gradient * direction).sum() - want), 1e-6 * size)

    def test_pytorch_s_own_layer_is_the_same(self):
        for norm, activation in (("post", "relu"), ("pre", "relu"), ("post", "gelu-erf")):
            case = layer_of(
                "torch-encoder-layer", "causal", "--norm", norm, "--activation", activation
            )
            weights, x, d_y = peer_layer.draw_tensors(torch, case, 3, "cpu")
            doubles = {name: tensor.double() for name, tensor in weights.items()}
            layer = peer_layer.Layer(torch, case, (doubles, x.double(), d_y), 0.0, "cpu")
            layer.forward()
            want = self.exact(case, (weights, x, d_y))["output"].numpy()
            self.assertLess(rel_l2(layer.y.numpy(), want), 1e-12)


class Layers(unittest.TestCase):
    def test_each_way_computes_the_layer(self):
        ways = "torch-*-unfused,torch-*-math,torch-*-flash,torch-encoder-layer"
        ran = set()
        for norm, mask, direction in (
            ("post", "causal", "fwd+bwd"), ("pre", "full", "bwd"), ("pre", "window:5", "fwd"),
        ):  # fmt: skip
            flags = (
                "--norm",
                norm,
                "--pass",
                direction,
                "--activation",
                "gelu-erf",
                "--kernel",
                ways,
            )
            cases = layers_of("--mask", mask, *flags)
            tensors = peer_layer.draw_tensors(torch, cases[0], 4, "cpu")
            want = peer_layer_check.unfused_outputs(torch, cases[0], tensors, torch.float64, "cpu")
            for case in cases:
                if peer_layers.why_unsupported(case):
                    continue
                with self.subTest(case.id):
                    got = outputs_of(case, tensors)
                    missing = set(want) - set(got)
                    tells_all = peer_layers.way_of(case.kernel) in ("eager", "script")
                    self.assertEqual(missing, set() if tells_all else {"before_residual"})
                    for name, tensor in got.items():
                        self.assertEqual(tensor.dtype, torch.float16)
                        error = rel_l2(tensor.double().numpy(), want[name].numpy())
                        self.assertLess(error, 2.0**-6, name)
                    ran.add(case.kernel)
        self.assertEqual(len(ran), 3 * 3 + 1)

    def test_each_calls_the_attention_of_its_name(self):
        import peer_layer_launches

        for case in layers_of("--mask", "causal", "--pass", "fwd", "--activation", "relu"):
            if case.kernel.endswith(("efficient", "cudnn")):
                continue  # which CPUs lack
            tensors = peer_layer.draw_tensors(torch, case, 4, "cpu")
            layer = peer_layer.Layer(torch, case, tensors, 0.0, "cpu", "aot_eager")
            events = peer_layer_launches.profile(torch, layer.launch)
            called = peer_layer_launches.operations_of(events)
            self.assertEqual(peer_layers.why_another_attention(case.kernel, called), "")
            if case.kernel.endswith("-flash"):
                math = case.kernel.replace("flash", "math")
                self.assertIn("called flash", peer_layers.why_another_attention(math, called))

    def test_what_is_declined_is_raised(self):
        for kernel in ("torch-eager-cudnn", "torch-compile-cudnn", "torch-script-efficient"):
            case = layer_of(kernel)
            tensors = peer_layer.draw_tensors(torch, case, 4, "cpu")
            with self.assertRaisesRegex(RuntimeError, "No viable backend"):
                outputs_of(case, tensors)

    def test_dropout_is_at_all_its_places(self):
        case = layer_of(
            "torch-eager-unfused", "full", "--norm", "pre", "--seqlen", "64", "--bias", "false"
        )
        tensors = peer_layer.draw_tensors(torch, case, 5, "cpu")
        for kernel in ("torch-eager-unfused", "torch-eager-math", "torch-script-unfused"):
            case = layer_of(kernel, "full", "--norm", "pre", "--seqlen", "64", "--bias", "false")
            branch = outputs_of(case, tensors, dropout_p=0.25)["before_residual"]
            self.assertAlmostEqual((branch == 0).double().mean().item(), 0.25, delta=0.02)
            # With all values 1, o is the sum of each row's p: 1 without dropout.
            q, ones = torch.randn(2, 4, 64, 16), torch.ones(2, 4, 64, 16)
            attention = peer_layer.Layer(torch, case, tensors, 0.25, "cpu").module.attention.float()
            sums = attention(q, q, ones)
            self.assertGreater(sums.std().item(), 0.01)
            self.assertAlmostEqual(sums.mean().item(), 1.0, delta=0.05)
        again = (outputs_of(case, tensors, dropout_p=0.25)["output"] for _ in range(2))
        self.assertFalse(torch.equal(*again))

    def test_passes_can_be_launched_again(self):
        kernels = ("--kernel", "torch-*-math", "--pass", "fwd,bwd,fwd+bwd")
        for case in layers_of("--mask", "causal", *kernels):
            with self.subTest(case.id):
                tensors = peer_layer.draw_tensors(torch, case, 6, "cpu")
                layer = peer_layer.Layer(torch, case, tensors, 0.0, "cpu", "aot_eager")
                for function in (layer.step, layer.step, layer.launch, layer.launch):
                    function()


class Weights(unittest.TestCase):
    def test_they_have_the_shapes_and_sizes_of_sparkbench_s(self):
        for bias in ("true", "false"):
            case = layer_of("torch-eager-math", "full", "--bias", bias, "--hidden", "192")
            weights, x, d_y = peer_layer.draw_tensors(torch, case, 7, "cpu")
            self.assertEqual(
                sum(w.nbytes for w in weights.values()), case.planned["layer"]["weight_bytes"]
            )
            self.assertEqual((x.shape, d_y.shape), ((3, 24, 192), (3, 24, 192)))
            self.assertEqual("b_o" in weights, bias == "true")
            want = {"w_qkv": 192**-0.5, "w_2": 96**-0.5, "beta_1": 0.1, "gamma_2": 0.1}
            for name, deviation in want.items():
                found = weights[name].double().std().item()
                self.assertAlmostEqual(found / deviation, 1.0, delta=0.2, msg=name)
            self.assertAlmostEqual(weights["gamma_1"].double().mean().item(), 1.0, delta=0.05)
            self.assertFalse(torch.equal(x, d_y))


if __name__ == "__main__":
    unittest.main()
