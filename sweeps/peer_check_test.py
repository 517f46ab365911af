"""Which heads of an output are checked, and its worst row."""

import unittest

import peer_check
from test_peers import case_of

try:
    import torch
except ImportError:
    torch = None


class CheckedHeads(unittest.TestCase):
    def test_the_first_and_the_last_head_are_checked(self):
        heads = peer_check.checked_heads(
            case_of("torch-math", "full", "--batch", "4", "--heads", "8")
        )
        self.assertEqual((heads[0], heads[-1], len(heads)), ((0, 0), (3, 7), 4))

    def test_a_key_head_is_that_of_its_readers(self):
        case = case_of("torch-math", "full", "--heads", "6", "--heads-k", "2")
        self.assertEqual(case.key_shape[2], 2)
        heads = [(0, 2), (0, 3), (1, 5)]
        keys = [peer_check.key_head_of(case, head) for head in heads]
        self.assertEqual(keys, [(0, 0), (0, 1), (1, 1)])


@unittest.skipIf(torch is None, "no PyTorch")
class WorstRow(unittest.TestCase):
    def test_it_is_the_largest_error_beside_its_row(self):
        want = torch.tensor([[1.0, 2.0], [-4.0, 0.0], [0.0, 0.0]]).double()
        got = torch.tensor([[1.5, 2.0], [-5.0, 0.0], [9.0, 0.0]]).double()
        self.assertEqual(peer_check.worst_row_of(got, want), (0.25, 1))

    def test_rows_of_zeros_have_none(self):
        zeros = torch.zeros(2, 2).double()
        self.assertEqual(peer_check.worst_row_of(zeros + 1, zeros), (None, None))
        self.assertEqual(peer_check.worst_row_of(zeros[:0], zeros[:0]), (None, None))


if __name__ == "__main__":
    unittest.main()
