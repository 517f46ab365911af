"""Masks in the terms of PyTorch's kernels."""

import unittest

import peer_attention
import peer_masks
from test_peers import case_of, mask_of


class Masks(unittest.TestCase):
    def rows(self, mask):
        """One string of x and . per row."""
        return [
            "".join("x" if mask.sees(row, key) else "." for key in range(mask.seqlen_k))
            for row in range(mask.seqlen_q)
        ]

    def test_they_are_those_of_mask_spec(self):
        self.assertEqual(self.rows(mask_of("full", 2, 3)), ["xxx", "xxx"])
        self.assertEqual(self.rows(mask_of("causal", 2, 3)), ["xx.", "xxx"])
        self.assertEqual(self.rows(mask_of("window:2", 3, 3)), ["x..", "xx.", ".xx"])
        self.assertEqual(self.rows(mask_of("window:1", 2, 3)), [".x.", "..x"])
        self.assertEqual(self.rows(mask_of("window:2", 3, 1)), [".", ".", "x"])
        self.assertEqual(self.rows(mask_of("band:1:1", 3, 3)), ["xx.", "xxx", ".xx"])
        self.assertEqual(self.rows(mask_of("prefix:2", 3, 3)), ["xx.", "xx.", "xxx"])

    def test_counted_pairs_are_the_seen_ones(self):
        names = ("full", "causal", "window:1", "window:5", "band:2:1", "band:9:9", "prefix:3")
        for name in names:
            for lengths in ((7, 7), (3, 9), (9, 3)):
                mask = mask_of(name, *lengths)
                with self.subTest(mask):
                    self.assertEqual(mask.visible_pairs(), "".join(self.rows(mask)).count("x"))

    def test_blind_rows_are_found(self):
        self.assertTrue(mask_of("causal", 9, 3).has_blind_rows())
        self.assertFalse(mask_of("causal", 3, 9).has_blind_rows())
        self.assertFalse(mask_of("prefix:1", 9, 3).has_blind_rows())

    def test_near_misses_are_a_key_off(self):
        def names(name):
            return [miss.name for miss in mask_of(name).near_misses()]

        self.assertEqual(names("window:5"), ["window:4", "window:6"])
        self.assertEqual(names("window:1"), ["window:2"])
        self.assertEqual(names("window:7"), ["window:6"])
        self.assertEqual(names("window:8"), [])
        self.assertEqual(names("band:0:2"), ["band:1:2", "band:0:1", "band:0:3"])
        self.assertEqual(names("prefix:3"), ["prefix:2", "prefix:4"])
        self.assertEqual(names("causal") + names("full"), [])

    def test_peers_decline_what_they_lack(self):
        def why(kernel, mask, *flags):
            if kernel in peer_attention.OF_LENGTHS:
                flags = (*flags, "--lengths", "7x7+5x5")
            return peer_masks.why_unsupported(case_of(kernel, mask, *flags))

        for kernel, masks in peer_masks.MASKS.items():
            for mask in ("full", "causal", "window:5", "band:3:1", "prefix:9"):
                with self.subTest((kernel, mask)):
                    self.assertEqual(why(kernel, mask) == "", mask.split(":")[0] in masks)
        self.assertIn("no mask window:5; it has full, causal", why("torch-cudnn", "window:5"))
        self.assertIn("top left", why("torch-cudnn", "causal", "--seqlen-k", "80"))
        self.assertIn("without a visible key", why("torch-efficient", "causal", "--seqlen-k", "8"))
        self.assertEqual(why("torch-unfused", "causal", "--seqlen-k", "8"), "")
        self.assertIn("not know the uniform of", why("torch-math", "full", "--input", "uniform"))


if __name__ == "__main__":
    unittest.main()
