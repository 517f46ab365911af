// Blocks of a pattern's keys that hand on the sums of its rows (tile/sparse_list.h): whether they
// can, and how long they wait for each other.
#pragma once

#include "kernels/mask/pattern/plan_facts.h"

namespace sparkbench {

struct SparseListKind;  // kernels/block_sparse/sparse_lists.h
struct SparseMask;      // kernels/mask/pattern/sparse_mask.h

/// Of lists of blocks of keys in relay, where rows walk up to `most_keys` keys in the mean: of more
/// it tells how many tiles there are, and that a relay does not reach all rows, for the host would
/// look at each. It is kept in the mask, whose plan it wants, as rows_of_parts() (sparse_lists.h)
/// is: a kind has one `most_keys`.
RelayOfKeys relay_of_keys(const SparseMask& mask, const SparseListKind& kind, int most_keys);

}  // namespace sparkbench
