#!/usr/bin/env python3
"""The Python side alone: its structs beside the headers, what a function's arguments say, and where
`--kernel` finds functions. Needs neither the library nor a framework."""

import ctypes
import pathlib
import re
import sys
import tempfile
import types
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
if str(FOLDER) not in sys.path:
    sys.path.insert(0, str(FOLDER))

from sparkbench import Problem, _abi, _items, _memory, _problem, _table, kernel  # noqa: E402

HEADERS = (FOLDER.parent / "plugin" / "sparkbench_kernel.h", FOLDER / "sparkbench_host.h")


def fields_of(name):
    """The names of a C struct's fields, in order."""
    text = "".join(path.read_text() for path in HEADERS)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    body = re.search(r"typedef struct " + name + r" \{(.*?)\} " + name + ";", text, re.S).group(1)
    names = []
    for declaration in filter(None, (part.strip() for part in body.split(";"))):
        pointer = re.search(r"\(\*(\w+)\)", declaration)
        if pointer:
            names.append(pointer.group(1))
        else:
            names += [
                re.search(r"(\w+)(\[\w+\])?\s*$", part).group(1) for part in declaration.split(",")
            ]
    return names


def problem_of(**fields):
    c = _abi.Problem(
        struct_bytes=ctypes.sizeof(_abi.Problem), backend=_abi.HOST, dtype=_abi.FP16, batch=1,
        heads=2, heads_k=2, seqlen_q=3, seqlen_k=4, head_dim=64, softmax_scale=0.125, mask=b"full",
    )  # fmt: skip
    for name, value in fields.items():
        setattr(c, name, value)
    return Problem(c)


def layer_problem(hidden=64, activation="gelu-tanh", bias=True, rest="fused", **fields):
    """Of post-LN and ffn 96; `fields` are of the sparkbench.Problem."""
    c = _abi.Layer(
        struct_bytes=ctypes.sizeof(_abi.Layer), hidden=hidden, ffn=96, has_bias=int(bias),
        activation={name: number for number, name in _problem.ACTIVATIONS.items()}[activation],
        rest_is_fused=int(rest == "fused"),
    )  # fmt: skip
    problem = problem_of(layer=ctypes.pointer(c), seqlen_k=3)
    vars(problem).update(fields)
    return problem


@unittest.skipUnless(all(path.exists() for path in HEADERS), "no sources here")
class Structs(unittest.TestCase):
    def test_have_the_fields_of_the_headers(self):
        for struct, name in (
            (_abi.Problem, "sparkbench_problem"),
            (_abi.Tensor, "sparkbench_output"),
            (_abi.Tensors, "sparkbench_tensors"),
            (_abi.Layer, "sparkbench_layer"),
            (_abi.LayerTensors, "sparkbench_layer_tensors"),
            (_abi.Kernel, "sparkbench_kernel"),
            (_abi.Host, "sparkbench_host"),
        ):
            self.assertEqual([each for each, _ in struct._fields_], fields_of(name), name)

    def test_have_the_weights_of_the_header(self):
        text = HEADERS[0].read_text()
        names = re.findall(r"^  SPARKBENCH_(\w+_\w+) = \d+,", text, re.M)
        at = names.index("W_QKV")
        self.assertEqual([name.lower() for name in names[at : at + 12]], list(_abi.WEIGHTS))

    def test_read_fields_unknown_to_their_maker_as_zero(self):
        c = _abi.Problem(struct_bytes=_abi.Problem.sees_keys.offset, mask_per_head=7, heads=3)
        known = _abi.known_part(c)
        self.assertEqual((known.heads, known.mask_per_head), (3, 0))


class Problems(unittest.TestCase):
    def test_name_their_masks(self):
        for fields, kind, window in (
            ({}, "full", (-1, -1)),
            ({"mask_kind": _abi.BAND, "mask_left": -1, "mask_right": 0}, "causal", (-1, 0)),
            ({"mask_kind": _abi.BAND, "mask_left": 3, "mask_right": 0}, "window", (3, 0)),
            ({"mask_kind": _abi.BAND, "mask_left": 3, "mask_right": 1}, "band", (3, 1)),
            ({"mask_kind": _abi.PREFIX, "mask_prefix": 2}, "prefix", None),
            ({"mask_kind": _abi.PATTERN}, "pattern", None),
        ):
            problem = problem_of(**fields)
            self.assertEqual((problem.mask_kind, problem.window), (kind, window))
            self.assertEqual(problem.causal, kind in ("causal", "window"))

    def test_align_masks_to_the_last_row_and_key(self):
        causal = problem_of(mask_kind=_abi.BAND, mask_left=-1, mask_right=0)
        seen = [[bool(causal.visible(q, k)) for k in range(4)] for q in range(3)]
        self.assertEqual([sum(row) for row in seen], [2, 3, 4])
        prefix = problem_of(mask_kind=_abi.PREFIX, mask_prefix=3)
        self.assertEqual([sum(prefix.visible(q, k) for k in range(4)) for q in range(3)], [3, 3, 4])

    def test_know_rows_without_keys(self):
        causal = {"mask_kind": _abi.BAND, "mask_left": -1, "mask_right": 0}
        self.assertFalse(problem_of(**causal).has_blind_rows())
        self.assertTrue(problem_of(seqlen_q=5, **causal).has_blind_rows())
        self.assertFalse(problem_of(seqlen_q=5).has_blind_rows())


class Layers(unittest.TestCase):
    def test_say_their_shapes(self):
        layer = layer_problem().layer
        self.assertEqual((layer.norm, layer.rest), ("post", "fused"))
        self.assertEqual(layer.weights["w_qkv"], (192, 64))
        self.assertEqual(layer.weights["w_2"], (64, 96))
        self.assertEqual(layer.weights["b_1"], (96,))
        self.assertNotIn("b_1", layer_problem(bias=False).layer.weights)

    def test_are_not_attention(self):
        whole = kernel(lambda problem: None, name="whole", layer=True)
        plain = kernel(lambda q, k, v: q, name="plain")
        self.assertIsNone(whole.why_not(layer_problem()))
        self.assertIn("whole computes whole layers", whole.why_not(problem_of()))
        self.assertIn("plain computes attention", plain.why_not(layer_problem()))


class Functions(unittest.TestCase):
    def test_support_what_they_have_arguments_for(self):
        plain = kernel(lambda q, k, v: q, name="plain")
        causal = {"mask_kind": _abi.BAND, "mask_left": -1, "mask_right": 0, "mask": b"causal"}
        for fields, why in (
            ({}, None),
            (causal, "no mask causal; it has full"),
            ({"dropout_p": 0.1}, "takes no argument 'dropout_p'"),
            ({"heads_k": 1}, "takes no argument 'enable_gqa'"),
            ({"softmax_scale": 0.5}, "no softmax_scale but"),
        ):
            with self.subTest(fields):
                said = plain.why_not(problem_of(**fields))
                self.assertEqual(said, None) if why is None else self.assertIn(why, said)

        def whole(q, k, v, *, mask, softmax_scale, dropout_p, enable_gqa):
            return q

        self.assertIsNone(kernel(whole).why_not(problem_of(
            heads_k=1, dropout_p=0.1, softmax_scale=0.5, **causal)))  # fmt: skip

    def test_may_be_given_what_their_arguments_do_not_say(self):
        shared = kernel(lambda q, k, v: q, name="shared", gqa=True, supports=lambda p: "no such day")
        self.assertEqual(shared.why_not(problem_of(heads_k=1)), "no such day")

    def test_are_refused_for_an_argument_that_nothing_gives(self):
        def odd(q, k, v, *, bias):
            return q

        with self.assertRaisesRegex(TypeError, "argument 'bias'"):
            kernel(odd)

    def test_are_named_as_the_program_allows(self):
        def My_Attention(q, k, v):
            """The first line.

            Not the rest."""

        made = kernel(My_Attention)
        self.assertEqual((made.name, made.summary), ("my_attention", "The first line."))


class Items(unittest.TestCase):
    def test_are_told_from_names_and_libraries(self):
        for item, is_python in (
            ("mine.py", True), ("a/mine.py:f", True), ("package.mine:f", True), ("peers", True),
            ("peers:torch-*", True), ("volta-*", False), ("cudnn", False), ("./lib.so:f", False),
            ("a/lib.so", False), ("*", False),
        ):  # fmt: skip
            self.assertEqual(_items.is_python(item), is_python, item)

    def load(self, text, name):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / f"kernels_{abs(hash(text))}.py"
            path.write_text(text)
            return _items.kernels_of(f"{path}{name}")

    def test_find_functions_and_kernels(self):
        text = (
            "import sparkbench\n"
            "def plain(q, k, v): return q\n"
            "@sparkbench.kernel(name='b')\ndef a(q, k, v): return q\n"
        )
        self.assertEqual([k.name for k, _ in self.load(text, ":plain")], ["plain"])
        self.assertEqual([k.name for k, _ in self.load(text, "")], ["b"])

    def test_say_what_is_missing(self):
        for text, name, why in (
            ("def f(q, k, v): pass", ":g", "has no 'g'; allowed: f"),
            ("def f(q, k, v): pass", "", "names no function: "),
            ("x = 3\ndef f(q, k, v): pass", ":x", "is no function: int; allowed: f"),
            ("import nowhere_at_all", ":f", "cannot be imported: ModuleNotFoundError"),
            ("def f(q, k, v, *, bias): pass", ":f", "argument 'bias'"),
        ):
            with self.subTest(why), self.assertRaisesRegex(_items.ItemError, re.escape(why)):
                self.load(text, name)
        with self.assertRaisesRegex(_items.ItemError, "there is no file gone.py"):
            _items.kernels_of("gone.py:f")
        with self.assertRaisesRegex(_items.ItemError, "nowhere cannot be imported"):
            _items.kernels_of("nowhere:f")


class Errors(unittest.TestCase):
    def test_become_a_status_and_words(self):
        framework = types.SimpleNamespace(is_out_of_memory=lambda error: "gone" in str(error))
        for error, status in (
            (NotImplementedError("no"), _abi.UNSUPPORTED),
            (RuntimeError("memory gone"), _abi.OUT_OF_MEMORY),
            (MemoryError(), _abi.OUT_OF_MEMORY),
            (ValueError("bad"), _abi.ERROR),
            (SystemExit(3), _abi.ERROR),
        ):
            self.assertEqual(_table.status_of(error, framework), status, error)
        self.assertEqual(_table.describe(ValueError("bad\nmore")), "ValueError: bad")


class Capsules(unittest.TestCase):
    def test_describe_memory(self):
        memory = _memory.Memory(64, (2, 3), (3, 1), "float16")
        self.assertEqual(memory.__dlpack_device__(), (1, 0))
        self.assertIn("dltensor", repr(memory.__dlpack__(max_version=(1, 0), copy=None)))
        self.assertEqual(memory.__array_interface__["strides"], (6, 2))
        self.assertEqual(_memory.compact_strides((2, 3, 4)), (12, 4, 1))


if __name__ == "__main__":
    unittest.main()
