"""Which kernels of a profile are counted, and for which stage."""

import types
import unittest

import peer_layer_launches as launches
from peer_layer_launches import MARK, Event


class Launches(unittest.TestCase):
    EVENTS = (
        Event(MARK + "qkv", False, 100, 200),
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

    def test_ranges_of_the_device_are_left_out(self):
        def event(name, device, is_range=False):
            time_range = types.SimpleNamespace(start=1, end=2)
            return types.SimpleNamespace(
                name=name, device_type=device, is_user_annotation=is_range, time_range=time_range
            )

        found = [
            event(MARK + "qkv", "cpu", True), event(MARK + "qkv", "cuda", True),
            event("CompiledFunction", "cuda", True), event("gemm", "cuda"), event("aten::mm", "cpu"),
        ]  # fmt: skip
        events = launches.events_of(found, "cpu")
        self.assertEqual([one.name for one in events], [MARK + "qkv", "gemm", "aten::mm"])
        self.assertEqual([one.is_on_device for one in events], [False, True, False])

    def test_copies_are_no_kernels(self):
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
