"""A layer cut into its stages computes the same as the whole layer. Skipped without PyTorch."""

import contextlib
import itertools
import types
import unittest

from test_peers import layer_of, torch_or_skip

torch = torch_or_skip()
import peer_layer  # noqa: E402
import peer_layer_stages as stages  # noqa: E402

POST = ("qkv", "mha", "proj", "ln1", "ff1", "ff2", "ln2")
PRE = ("ln1", "qkv", "mha", "proj", "ln2", "ff1", "ff2")


class Recorder:
    """Records which stages ran in it."""

    def __init__(self):
        self.names = []

    @contextlib.contextmanager
    def __call__(self, name):
        yield
        self.names.append(name)


def run(norm, direction, bias="true"):
    case = layer_of(
        "torch-eager-math", "causal", "--norm", norm, "--pass", direction, "--bias", bias
    )
    tensors = peer_layer.draw_tensors(torch, case, 1, "cpu")
    layer = peer_layer.Layer(torch, case, tensors, 0.0, "cpu")
    counted, uncounted = Recorder(), Recorder()
    y, gradients = stages.StagedLayer(torch, layer).run(counted, uncounted)
    return layer.outputs(layer.d_y), y, gradients, counted.names, uncounted.names


class Stages(unittest.TestCase):
    def test_they_compute_the_layer(self):
        for norm, bias in itertools.product(("post", "pre"), ("true", "false")):
            whole, y, gradients, _, _ = run(norm, "fwd+bwd", bias)
            with self.subTest((norm, bias)):
                self.assertTrue(torch.equal(whole["output"], y))
                named = {peer_layer.GRADIENTS[name]: x for name, x in gradients.items()}
                self.assertEqual(set(named), set(whole) - {"output", "before_residual"})
                for name, gradient in named.items():
                    difference = (gradient.double() - whole[name].double()).norm()
                    self.assertLess(difference / whole[name].double().norm(), 2.0**-9, name)

    def test_they_run_in_order_and_back(self):
        for norm, order in (("post", POST), ("pre", PRE)):
            self.assertEqual(run(norm, "fwd")[3:], ([*order], []))
            self.assertEqual(run(norm, "bwd")[3:], ([*reversed(order)], [*order]))
            self.assertEqual(run(norm, "fwd+bwd")[3], [*order, *reversed(order)])

    def test_a_record_names_them_all(self):
        self.assertEqual(stages.STAGES, POST)
        self.assertEqual(set(PRE), set(POST))

    def test_times_are_medians_of_sums(self):
        clock = iter(range(10**6))

        class Event:
            def __init__(self, enable_timing):
                assert enable_timing

            def record(self):
                self.at = next(clock)

            def elapsed_time(self, end):
                return end.at - self.at

        held, flushed = [], []
        cuda = types.SimpleNamespace(Event=Event, synchronize=lambda: None)

        class Staged:
            def run(self, around, _uncounted):
                for name in ("qkv", "mha", "qkv"):
                    with around(name):
                        if name == "mha":
                            for _ in range(3):
                                next(clock)

        times = stages.time_stages(
            types.SimpleNamespace(cuda=cuda), Staged(), lambda: held.append(1),
            types.SimpleNamespace(zero_=lambda: flushed.append(1)), None,
        )  # fmt: skip
        self.assertEqual((times["qkv"], times["mha"], times["ln1"]), (2, 4, 0))
        self.assertEqual((len(held), len(flushed)), (stages.PASSES, stages.PASSES))


if __name__ == "__main__":
    unittest.main()
