#!/usr/bin/env python3
"""python -m spark_attention check --model, on the CPU."""

import importlib.util
import pathlib
import tempfile
import textwrap
import unittest

from torch_check_test import Test, called, torch

from spark_attention import _sdpa
from spark_attention._check import model, page

MODELS = textwrap.dedent("""
    import torch

    def layer(dtype=torch.float16):
        return torch.nn.TransformerEncoderLayer(128, 2, 128, batch_first=True).to(dtype)

    x = torch.randn(2, 20, 128)

    def trained(): return layer(), x.half()
    def evaluated(): return layer().eval(), (x.half(),)
    def in_float32(): return layer(torch.float32).eval(), [x]
    def named(): return layer().eval(), {"src": x.half()}

    class InSteps(torch.nn.Module):
        def forward(self, x): return torch.softmax(x @ x.transpose(1, 2), -1) @ x

    class WithLoss(torch.nn.Module):
        def __init__(self): super().__init__(); self.layer = layer()
        def forward(self, x): return Output(self.layer(x).float().sum())

    class Output(dict):
        def __init__(self, loss): super().__init__(loss=loss); self.loss = loss

    def in_steps(): return InSteps().eval(), x
    def with_loss(): return WithLoss(), x.half()
    def without_gradient(): return InSteps(), x
    def without_inputs(): return layer()
    def with_text(): return layer(), "text"
    def of_number(): return 3
    def of_other_shape(): return layer(), x[..., :5].half()
    def failing(): raise ValueError("no weights")
    constant = 3
""")


class ModelTest(Test):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.file = pathlib.Path(cls.folder.name) / "checked_models.py"
        cls.file.write_text(MODELS)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        # Where there is a GPU, the fast path stays on.
        self.patch(torch.cuda, "is_available", lambda: False)

    def found(self, factory):
        return model.check(f"{self.file}:{factory}")

    def test_served_passes_are_counted(self):
        for factory, passes in (("trained", 2), ("evaluated", 1), ("named", 1), ("with_loss", 2)):
            found = self.found(factory)
            self.assertEqual([count for count, _ in found["served"]], [1] * passes, factory)
            self.assertEqual(
                (found["left"], found["by_pytorch"], found["passes"]), ([], [], passes)
            )

    def test_a_fall_back_has_reason_and_remedy(self):
        found = self.found("in_float32")
        self.assertEqual(
            (found["served"], found["left"]), ([], [(1, "left to PyTorch: dtype float32")])
        )
        text = "\n".join(page._model(found))
        self.assertIn("served: nothing", text)
        self.assertIn("not served: 1 x dtype float32. Instead: model.half()", text)

    def test_the_fast_path_is_told_where_it_runs(self):
        self.patch(_sdpa._FastPath, "follow", lambda *_: None)
        found = self.found("evaluated")
        self.assertEqual(found["served"], [])
        self.assertIn((1, model.OPERATORS[model.FAST_PATH]), found["by_pytorch"])
        self.assertIn("the fast path of nn.TransformerEncoderLayer", "\n".join(page._model(found)))

    def test_attention_in_steps_is_told(self):
        ((count, what),) = self.found("in_steps")["by_pytorch"]
        self.assertEqual(count, 1)
        self.assertIn("softmax outside of SDPA", what)

    @unittest.skipUnless(importlib.util.find_spec("transformers"), "no transformers")
    def test_models_of_transformers_bring_inputs(self):
        from transformers import BertConfig, BertForMaskedLM

        sizes = {
            "hidden_size": 128,
            "num_attention_heads": 2,
            "num_hidden_layers": 1,
            "vocab_size": 50,
        }
        bert = BertForMaskedLM(BertConfig(**sizes, intermediate_size=64)).half().eval()
        self.patch(model, "load", lambda name: lambda: bert)
        self.assertEqual([count for count, _ in model.check("bert")["served"]], [1])

    def test_the_program_prints_it_in_the_page(self):
        self.without_cards()
        status, text, _ = called("check", "--model", f"{self.file}:trained")
        self.assertEqual(status, 0)
        self.assertIn("served: 1 x backward, head_dim 64", text)

    def test_what_cannot_be_run_says_why(self):
        returns = r"allowed: \(module, inputs\)"
        for name, why in (
            ("factory", "allowed: module:factory, or path/file.py:factory"),
            ("no_such_module:f", "no_such_module cannot be imported: ModuleNotFoundError"),
            (f"{self.file}:missing", "missing is not there; .* has layer, trained"),
            (f"{self.file}:constant", "constant is not a function"),
            (
                f"{self.file}:without_inputs",
                f"returned TransformerEncoderLayer without inputs; {returns}",
            ),
            (f"{self.file}:with_text", f"with inputs that are a str; {returns}"),
            (f"{self.file}:of_number", f"returned a int; {returns}"),
            (
                f"{self.file}:failing",
                r"the factory raised ValueError: no weights \(.*checked_models.py:\d+",
            ),
            (f"{self.file}:of_other_shape", "the model's pass raised"),
            (f"{self.file}:without_gradient", r"no output has a gradient; model.eval\(\)"),
        ):
            status, text, errors = called("check", "--model", name)
            self.assertEqual((status, text), (2, ""), name)
            self.assertRegex(errors, why)


if __name__ == "__main__":
    unittest.main()
