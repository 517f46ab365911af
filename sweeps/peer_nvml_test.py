"""NVML readings of the peers, through NVIDIA's binding and a fake NVML."""

import ctypes
import os
import unittest
import unittest.mock

import peer_nvml


class Management(unittest.TestCase):
    """The library is harness/devices/test_nvml.cc. It is loaded first, and the binding finds it by
    its name."""

    def setUp(self):
        if peer_nvml.pynvml is None:
            self.skipTest("the Python package nvidia-ml-py is not installed")
        if not os.environ.get("SPARKBENCH_FAKE_NVML"):
            self.skipTest("the library that stands for NVML is built with CUDA only")
        ctypes.CDLL(os.environ["SPARKBENCH_FAKE_NVML"])
        self.addCleanup(os.environ.pop, "FAKE_NVML", None)

    def test_says_what_the_driver_knows(self):
        nvml = peer_nvml.Nvml("GPU-0123")
        self.assertEqual(nvml.driver_version, "580.95.05")
        self.assertEqual(
            nvml.describe(),
            {
                "uuid": "GPU-0123", "power_limit_w": 700.0, "ecc": True, "persistence_mode": False,
                "state": {
                    "temperature_c": 54, "power_draw_w": 612.5,
                    "throttle_reasons": ["sw_power_cap", "hw_thermal_slowdown", "bit_12"],
                },
                "why_unknown": {},
            },
        )  # fmt: skip

    def test_says_why_a_call_failed(self):
        os.environ["FAKE_NVML"] = "fails=nvmlDeviceGetPowerUsage"
        nvml = peer_nvml.Nvml("GPU-0123")
        described = nvml.describe()
        self.assertIsNone(described["state"]["power_draw_w"])
        self.assertEqual(described["why_unknown"], {"power_draw_w": "Not Supported"})
        self.assertIsNone(nvml.state()["power_draw_w"])

    def test_knows_nothing_of_another_or_an_unnamed_card(self):
        for uuid, why in (("GPU-9", "Not Found"), (None, "does not tell the UUID")):
            nvml = peer_nvml.Nvml(uuid)
            self.assertEqual(nvml.driver_version, "580.95.05")
            self.assertIn(why, nvml.describe()["why_unknown"]["uuid"])


class Absence(unittest.TestCase):
    def test_of_the_binding_is_told(self):
        with unittest.mock.patch.object(peer_nvml, "pynvml", None):
            nvml = peer_nvml.Nvml("GPU-0123")
            described = nvml.describe()
            self.assertEqual(nvml.state(), dict.fromkeys(peer_nvml.STATE))
        self.assertIsNone(nvml.driver_version)
        self.assertEqual(len(described["why_unknown"]), 8)
        self.assertIn("nvidia-ml-py", described["why_unknown"]["driver_version"])


class Uuid(unittest.TestCase):
    def test_is_spelled_as_nvml_does(self):
        of = peer_nvml.uuid_of
        self.assertEqual(of(type("P", (), {"uuid": "0123-4"})), "GPU-0123-4")
        self.assertEqual(of(type("P", (), {"uuid": "MIG-0123"})), "MIG-0123")
        self.assertIsNone(of(type("P", (), {})))


if __name__ == "__main__":
    unittest.main()
