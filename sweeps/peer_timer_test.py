"""When the sampling of a peer ends."""

import unittest

import peer_timer
import torch_peers


class Sampling(unittest.TestCase):
    def test_the_gpu_rests_after_each_sample(self):
        now, rested = [0.0], []

        def take_sample():
            now[0] += 0.01
            return 9.9

        def sleep(seconds):
            rested.append(seconds)
            now[0] += seconds

        arguments = torch_peers.make_parser().parse_args(["--duty-cycle", "0.25"])
        samples, stop_reason = peer_timer.sample_until_settled(
            take_sample, arguments, lambda: now[0], sleep
        )
        self.assertEqual((samples, stop_reason), ([9.9] * 50, "noise"))
        self.assertEqual(len(rested), 50)
        for seconds in rested:
            self.assertAlmostEqual(seconds, 0.03)

    def test_a_duty_cycle_above_1_is_refused(self):
        for text in ("0", "1.5", "nan", "half"):
            with self.subTest(text), self.assertRaises(SystemExit):
                torch_peers.make_parser().parse_args(["--duty-cycle", text])


if __name__ == "__main__":
    unittest.main()
