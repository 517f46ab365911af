"""What the tests of figures share: records of cases, stored runs of them, and matplotlib's pyplot."""

import argparse
import json
import pathlib
import tempfile
import unittest

from figures import style
from figures.cases import read_run

RESULTS = pathlib.Path(__file__).resolve().parents[1]
H200 = RESULTS / "published/h200/paper-forward"
PLAIN = argparse.Namespace(width=None, metric="rel_l1", reference=None)


def record(kernel="a", seqlen=512, **changes):
    """A case as JSON has it; changes by path, "problem.mask"."""
    case = {
        "id": f"{kernel}/{seqlen}/{sorted(changes.items())}",
        "kernel": kernel,
        "problem": {
            "pass": "fwd",
            "batch": 16384 // seqlen,
            "heads": 32,
            "seqlen_q": seqlen,
            "seqlen_k": seqlen,
            "head_dim": 64,
            "causal": False,
            "mask": "full",
            "dropout_p": 0.0,
        },
        "status": "ok",
        "reason": None,
        "time_ms": {"median": 2.0, "q1": 1.9, "q3": 2.2},
        "sampling": {"median_error": 0.001},
        "flops": 8e9,
        "bytes": 1e6,
        "memory_bytes": {"peak": None, "predicted": 1 << 21, "unfused": 1 << 22},
        "accuracy": {"rel_l1": 0.001, "rel_l2": 0.001, "max_abs": 0.01, "nonfinite": 0},
        "predicted": None,
        "device": "cuda:0",
        "provenance": {"device_name": "T"},
        "input": "normal",
        "input_scale": 1,
    }
    for path, value in changes.items():
        at = case
        *way, last = path.split(".")
        for name in way:
            at = at[name]
        at[last] = value
    return case


BAND = {"chip": "V100-SXM2", "time_ms": {"low": 1.0, "likely": 2.0, "high": 4.0}}


def emulated(kernel="a", seqlen=512, **changes):
    """A case of an emulated V100 whose time is predicted."""
    return record(
        kernel, seqlen, **{"time_ms": None, "predicted": BAND, "device": "emulated-v100", **changes}
    )


def layer_record(kernel, rest, seqlen=512, ms=2.0, **changes):
    """An encoder layer that is predicted."""
    shape = {"hidden": 2048, "ffn": 8192, "activation": "gelu-tanh", "norm": "post", "bias": True}
    band = {"low": 0.9 * ms, "likely": ms, "high": 1.2 * ms}
    half = {"likely": ms / 2}
    return record(
        kernel,
        seqlen,
        **{
            "id": f"{kernel}/{seqlen}/{rest}",
            "problem.layer": {**shape, "rest": rest},
            "status": "skipped",
            "reason": {"code": "E-ONLY-PREDICTED", "message": ""},
            "time_ms": None,
            "predicted": {"time_ms": band},
            "device": "emulated-v100",
            "layer": {
                "stages": [
                    {"name": "qkv", "time_ms": None, "predicted_ms": half},
                    {"name": "mha", "time_ms": None, "predicted_ms": half},
                ]
            },
            **changes,
        },
    )


class Runs(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = pathlib.Path(self._folder.name)

    def run_of(self, *records, name="one", peaks=(100.0, 1000.0)):
        path = self.folder / f"{name}.json"
        device = {"name": "T", "peak_tflops": peaks[0], "peak_gbps": peaks[1]}
        document = {"environment": {"device": device}, "cases": list(records)}
        path.write_text(json.dumps(document), "utf-8")
        return path

    def cases(self, *records, name="one"):
        return read_run(self.run_of(*records, name=name))


class Draws(Runs):
    """Skipped without matplotlib."""

    def setUp(self):
        super().setUp()
        try:
            self.pyplot = style.load_pyplot()
        except style.MissingMatplotlib as missing:
            self.skipTest(str(missing))
