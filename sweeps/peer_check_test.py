"""Of which heads an output is checked."""

import unittest

import peer_check
from test_peers import case_of


class CheckedHeads(unittest.TestCase):
    def test_the_first_and_the_last_head_are_checked(self):
        heads = peer_check.checked_heads(
            case_of("torch-math", "full", "--batch", "4", "--heads", "8")
        )
        self.assertEqual((heads[0], heads[-1], len(heads)), ((0, 0), (3, 7), 4))


if __name__ == "__main__":
    unittest.main()
