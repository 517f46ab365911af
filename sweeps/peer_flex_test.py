"""When FlexAttention's block mask is built from the mask of all pairs."""

import unittest

import peer_flex


class FitsTest(unittest.TestCase):
    def test_that_a_mask_of_all_pairs_has_a_few_bytes_for_each(self):
        bytes_of_mask = peer_flex.BYTES_OF_PAIR * 3 * 1000 * 2000
        self.assertTrue(peer_flex.fits(bytes_of_mask, 3, 1000, 2000))
        self.assertFalse(peer_flex.fits(bytes_of_mask - 1, 3, 1000, 2000))


if __name__ == "__main__":
    unittest.main()
