"""Which kernels of a profile are counted, and as which stage's."""

import unittest

import peer_layer_launches as launches
from peer_layer_launches import MARK, Event


class Launches(unittest.TestCase):
    EVENTS = (
        Event(MARK + "qkv", False, 100, 200),
        Event(MARK + "qkv", True, 110, 190),  # as profilers show a range on the device, too
        Event("aten::addmm", False, 105, 110),
        Event("ampere_gemm", True, 120, 150),
        Event("bias_kernel", True, 160, 170),
        Event("Memcpy DtoD (Device -> Device)", True, 171, 172),
        Event("Memset (Device)", True, 173, 174),
        Event(MARK + "mha", False, 210, 300),
        Event("flash_fwd_kernel", True, 220, 290),
        Event("flush_kernel", True, 305, 310),
        Event(MARK + "qkv", False, 320, 400),  # backward
        Event("ampere_gemm", True, 330, 390),
    )

    def test_copies_and_ranges_are_no_kernels(self):
        self.assertEqual(launches.kernels_in(self.EVENTS), 5)

    def test_a_stage_has_those_within_its_marks(self):
        counts = launches.kernels_by_stage(self.EVENTS, ("qkv", "mha", "ln1"))
        self.assertEqual(counts, {"qkv": 3, "mha": 1, "ln1": 0})

    def test_operations_are_what_the_host_calls(self):
        operations = launches.operations_of(self.EVENTS)
        self.assertIn("aten::addmm", operations)
        self.assertNotIn("ampere_gemm", operations)


if __name__ == "__main__":
    unittest.main()
