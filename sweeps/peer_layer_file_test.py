"""A user's layer from a file, and the exact layer on it against the built program's. Skipped
without PyTorch."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import peer_layers
import sparkbench_cases
from test_peers import layer_of, torch_or_skip

torch = torch_or_skip()
import peer_layer  # noqa: E402
import peer_layer_check  # noqa: E402
import peer_layer_file  # noqa: E402


def write_file(path, tensors):
    """In safetensors format: the header's size, the header, and all bytes."""
    header, data = {"__metadata__": {"by": "a test"}}, b""
    for name, (dtype, tensor) in tensors.items():
        of_tensor = tensor.detach().contiguous().view(torch.uint8).numpy().tobytes()
        offsets = [len(data), len(data) + len(of_tensor)]
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": offsets}
        data += of_tensor
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


class File(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "layer.safetensors"

    def test_a_user_s_layer_is_read(self):
        case = layer_of("torch-eager-math")
        weights, x, d_y = peer_layer.draw_tensors(torch, case, 8, "cpu")
        written = {name: ("F16", tensor) for name, tensor in weights.items()}
        written.update(b_o=("F32", weights["b_o"].float()), w_1=("BF16", weights["w_1"].bfloat16()))
        written["x"] = ("F16", x)
        write_file(self.path, written)
        read, x_read, d_y_read = peer_layer_file.read_tensors(torch, case, str(self.path), "cpu")
        self.assertFalse(d_y_read.any())
        write_file(self.path, {**written, "d_y": ("F16", d_y)})
        d_y_read = peer_layer_file.read_tensors(torch, case, str(self.path), "cpu")[2]
        self.assertTrue(torch.equal(x_read, x))
        self.assertTrue(torch.equal(d_y_read, d_y))
        self.assertEqual(set(read), set(weights))
        for name, tensor in weights.items():
            want = tensor.bfloat16().half() if name == "w_1" else tensor
            self.assertTrue(torch.equal(read[name], want), name)

    def test_sparkbench_s_exact_layer_is_the_same(self):
        """A record has the exact value of the element with the layer's largest error."""
        program = os.environ.get("SPARKBENCH_PROGRAM", str(sparkbench_cases.BUILT))
        if not pathlib.Path(program).exists():
            self.skipTest(f"there is no {program}")
        case = layer_of("torch-eager-math", "causal", "--batch", "1")
        tensors = peer_layer.draw_tensors(torch, case, 9, "cpu")
        written = {name: ("F16", tensor) for name, tensor in tensors[0].items()}
        write_file(self.path, {**written, "x": ("F16", tensors[1])})
        command = (
            f"{program} encoder --device emulated-v100 --kernel unfused-fp16 --headdim 16 --rest "
            "unfused,fused --mask causal,window:5 --norm post,pre --activation gelu-tanh,gelu-erf,relu "
            f"--dropout 0 --pass fwd --in-process -q --json - --tensors {self.path}"
        )
        result = subprocess.run(command.split(), capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        records = json.loads(result.stdout)["cases"]
        self.assertEqual(len(records), 2 * 2 * 2 * 3)
        for record in records:
            case = peer_layers.LayerCase(record["kernel"], record)
            tensors = peer_layer_file.read_tensors(torch, case, str(self.path), "cpu")
            exact = peer_layer_check.unfused_outputs(torch, case, tensors, torch.float64, "cpu")
            difference = exact["output"] - record["accuracy"]["worst_want"]
            with self.subTest(record["id"]):
                # Two of 1,536 numbers around 1 are not that close by chance.
                self.assertLess(difference.abs().min().item(), 1e-12)


if __name__ == "__main__":
    unittest.main()
