"""What NVML reports to the peers, with a fake library."""

import os
import unittest

import peer_nvml


class Management(unittest.TestCase):
    """NVML, with the fake library of harness/devices/test_nvml.cc."""

    def setUp(self):
        self.addCleanup(os.environ.pop, "FAKE_NVML", None)

    def fake(self, name="SPARKBENCH_FAKE_NVML"):
        if name not in os.environ:
            self.skipTest(f"{name} does not say where it is")
        return os.environ[name]

    def test_says_what_the_driver_knows(self):
        nvml = peer_nvml.Nvml("GPU-0123", self.fake())
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

    def test_lacks_functions_of_an_old_driver(self):
        described = peer_nvml.Nvml("GPU-0123", self.fake("SPARKBENCH_FAKE_OLD_NVML")).describe()
        self.assertIsNone(described["persistence_mode"])
        self.assertEqual(len(described["state"]["throttle_reasons"]), 3)
        self.assertIn("has no nvmlDeviceGetPersistenceMode", described["why_unknown"].popitem()[1])
        self.assertEqual(described["why_unknown"], {})

    def test_says_why_a_call_failed(self):
        os.environ["FAKE_NVML"] = "fails=nvmlDeviceGetPowerUsage"
        nvml = peer_nvml.Nvml("GPU-0123", self.fake())
        described = nvml.describe()
        self.assertIsNone(described["state"]["power_draw_w"])
        self.assertEqual(
            described["why_unknown"], {"power_draw_w": "nvmlDeviceGetPowerUsage: Not Supported"}
        )
        self.assertIsNone(nvml.state()["power_draw_w"])

    def test_knows_nothing_of_another_or_an_unnamed_card(self):
        for uuid, why in (("GPU-9", "nvmlDeviceGetHandleByUUID: "), (None, "does not tell the UUID")):
            nvml = peer_nvml.Nvml(uuid, self.fake())
            self.assertEqual(nvml.driver_version, "580.95.05")
            self.assertIn(why, nvml.describe()["why_unknown"]["uuid"])

    def test_is_absent_without_fuss(self):
        nvml = peer_nvml.Nvml("GPU-0123", "libnvidia-ml-that-is-not-there.so.1")
        described = nvml.describe()
        self.assertIsNone(nvml.driver_version)
        self.assertEqual(len(described["why_unknown"]), 8)
        self.assertIn("that-is-not-there", described["why_unknown"]["driver_version"])

    def test_spells_the_uuid_as_nvml_does(self):
        of = peer_nvml.uuid_of
        self.assertEqual(of(type("P", (), {"uuid": "0123-4"})), "GPU-0123-4")
        self.assertEqual(of(type("P", (), {"uuid": "MIG-0123"})), "MIG-0123")
        self.assertIsNone(of(type("P", (), {})))


if __name__ == "__main__":
    unittest.main()
