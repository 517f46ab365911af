// The order in which a key block visits queries: for each query head that reads its key head, those
// that see one of its keys. dK and dV are sums over all of them, so that a block keeps its sums in
// registers from the first head to the last.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "kernels/volta/tile/grid_matmul.h"

namespace sparkbench::volta {

/// Most steps that a block's teams take at once.
inline constexpr int kMostTeams = 2;

/// A step's *place* is its query head and first query in one number, because the loop over steps
/// has one register for both:
///   member << shift | query
/// for the member-th query head of the key head.
struct GroupWalk {
  int shift, query_bits;  // 2^shift - 1
  int first, last;        // places of query 0 of the first and of the last member that takes part

  SPARK_HD int query(int place) const { return place & query_bits; }
  SPARK_HD int member(int place) const { return place >> shift; }
  /// The place of query 0 of the same query head, and of the next.
  SPARK_HD int first_of_member(int place) const { return place & ~query_bits; }
  SPARK_HD int first_of_next(int place) const { return (place | query_bits) + 1; }
};

/// The walk over query heads [first_member, end_member) of a group, queries being below seqlen_q.
/// Throws std::invalid_argument if a place does not fit in 31 bits: the tensors would fill 64 GiB,
/// unless a stride is 0.
inline GroupWalk group_walk(int seqlen_q, int first_member, int end_member) {
  int shift = 5;
  while ((std::int64_t{1} << shift) < std::int64_t{seqlen_q} + kMostTeams * kWarpRows) ++shift;
  if (std::int64_t{end_member} << shift > std::int64_t{1} << 31) {
    throw std::invalid_argument("the query heads of a key head have more than 2^31 queries");
  }
  return {shift, static_cast<int>((1u << shift) - 1), first_member << shift,
          (end_member - 1) << shift};
}

}  // namespace sparkbench::volta
