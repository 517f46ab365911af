// Kinds of rows, told from the mask. Rows that see as many keys have errors of one size, so a
// sample of each kind can stand for the rest. A kernel that has a pattern wrong has it wrong where
// the pattern changes, so rows there ought to be in the sample.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/problem/attention.h"
#include "reference/tensors/visible_runs.h"

namespace sparkbench {

/// Means over the rows of a tile of kSampleRows.
///
/// For independent inputs, a row of O or dQ is a mean over the n keys that it sees, with size
/// n^(-1/2). A row of dK or dV is a sum over the queries that see the key, each with its own weight
/// 1 / n; its size is the root of the sum of 1 / n^2.
struct TileKind {
  double terms = 0;  // keys that a query sees, or queries that see a key
  double size = 0;   // expected, per element; 0 if a row sees nothing

  /// Tiles of one stratum differ by a factor below 2 in the number of terms, and below 2^(1/2)
  /// (queries) or 2 (keys) in size.
  std::array<int, 2> stratum(bool is_of_keys) const;
};

class TileKinds {
 public:
  /// `problem` must outlive it.
  explicit TileKinds(const Problem& problem);

  /// A kind for each tile of the sequence. Computed once for heads with the same pattern.
  const std::vector<TileKind>& of_queries(int batch, int head);
  const std::vector<TileKind>& of_keys(int batch, int key_head);

 private:
  /// The tiles and keys of one head and one pair of lengths.
  struct HeadKinds {
    std::vector<TileKind> queries;
    std::vector<double> key_terms, key_squares;  // per key
  };
  using Alike = std::array<int, 3>;  // seqlen_q, seqlen_k, pattern

  Alike alike(int batch, int head) const;
  const HeadKinds& of_head(int batch, int head);

  const Problem& problem_;
  Visibility visibility_;
  std::map<Alike, HeadKinds> heads_;
  std::map<Alike, std::vector<TileKind>> keys_;  // by the first head that reads them
};

/// Keys that each of `block_rows` rows costs when computed together. For one row: the mean over all
/// rows in the unfused reference, which takes 32 rows at once and 16 adjacent keys. For more: the
/// most 64-key tiles that any such block visits. At least 1.
double keys_per_row(const SparseMask& mask, int block_rows);

/// At most `most` rows of a head, ascending, spread over the rows whose key intervals begin, end or
/// number differently than in the previous row: where a window leaves the border, or a block or
/// global rows end.
std::vector<int> border_rows(const Pattern& pattern, int head, std::size_t most);

/// The last head with each per-head pattern, ascending.
std::vector<int> last_heads_of_unions(const Problem& problem);

}  // namespace sparkbench
