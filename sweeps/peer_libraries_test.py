"""The libraries that a PyTorch peer reports."""

import unittest
import unittest.mock

import peer_libraries


class Libraries(unittest.TestCase):
    def test_each_peer_names_what_it_calls(self):
        class Torch:
            __version__ = "2.9.1"
            version = type("version", (), {"cuda": "0.0"})  # which has no cuBLAS
            backends = type("backends", (), {"cudnn": type("c", (), {"version": lambda: 91002})})

        of = peer_libraries.libraries_of
        self.assertEqual(of(Torch, "torch-flash", "held"), {"torch": "2.9.1"})
        self.assertEqual(of(Torch, "torch-cudnn", "held"), {"torch": "2.9.1", "cudnn": "9.10.2"})
        self.assertEqual(of(Torch, "torch-math", "held"), {"torch": "2.9.1", "cublas": "unknown"})
        with unittest.mock.patch.dict("sys.modules", {"spark_attention": None}):
            self.assertEqual(of(Torch, "spark-fp32acc", "held")["spark_attention"], "unknown")
        self.assertIn("triton", of(Torch, "torch-flash", "do_bench"))
        for layer, names in {
            "torch-eager-flash": {"torch", "cublas"},
            "torch-script-cudnn": {"torch", "cublas", "cudnn"},
            "torch-compile-cudnn": {"torch", "cublas", "cudnn", "triton"},
            "torch-encoder-layer": {"torch", "cublas"},
        }.items():
            self.assertEqual(set(of(Torch, layer, "held")), names)


if __name__ == "__main__":
    unittest.main()
