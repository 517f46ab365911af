// Rows of [batch, seqlen, heads, head_dim] tensors. Long sequences are checked on a sample, so a
// reference computes only requested rows: query rows of q, o, d_o and dq, key rows of k, v, dk and
// dv. Here `Row` is QueryRow or KeyRow.
#pragma once

#include <cstddef>
#include <span>
#include <tuple>
#include <vector>

#include "kernels/base/half.h"
#include "kernels/problem/attention.h"
#include "reference/tensors/host_tensor.h"

namespace sparkbench {

/// One row of Q, O, dO or dQ: [batch, row, head, :].
struct QueryRow {
  int batch;
  int head;
  int row;

  bool operator==(const QueryRow&) const = default;
  bool operator<(const QueryRow& other) const {
    return std::tie(batch, head, row) < std::tie(other.batch, other.head, other.row);
  }

  /// Index of this row in LSE, [batch, heads, seqlen_q], or [heads, total_q] for varlen.
  std::size_t lse_index(const Problem& problem) const {
    if (problem.lengths) {
      const int first = problem.lengths->cu_seqlens_q()[static_cast<std::size_t>(batch)];
      return lse_offset(0, head, first + row, problem.heads, problem.lengths->total_q());
    }
    return lse_offset(batch, head, row, problem.heads, problem.seqlen_q);
  }
};

/// One row of K, V, dK or dV: [batch, row, head, :] of a key head.
struct KeyRow {
  int batch;
  int head;
  int row;

  bool operator==(const KeyRow&) const = default;
  bool operator<(const KeyRow& other) const {
    return std::tie(batch, head, row) < std::tie(other.batch, other.head, other.row);
  }
};

/// The keys that a query sees, or the queries that see a key; [0, 0) if there are none. Only for
/// masks with one interval per row; visible_runs.h handles any mask.
Range visible_to(const Problem& problem, const QueryRow& query);
Range visible_to(const Problem& problem, const KeyRow& key);

/// The first row of the key head that a query reads.
inline KeyRow key_row_of(const Problem& problem, const QueryRow& query) {
  return {query.batch, problem.key_head(query.head), 0};
}
/// The query heads that read a key's head, ascending; dK and dV are sums over them.
std::vector<int> query_heads_of(const Problem& problem, const KeyRow& key);

/// The head_dim elements of a row.
template <class Row>
std::span<const Half> row_of(const HostTensor& tensor, const TensorShape& shape, const Row& r) {
  return {tensor.row(shape, r.batch, r.row, r.head), static_cast<std::size_t>(shape.head_dim)};
}

/// The sequence that contains token `token` of the batch (TensorShape::tokens).
int sequence_of_token(const TensorShape& shape, std::size_t token);

/// Every row, in ascending order of (batch, head, row).
template <class Row>
std::vector<Row> all_rows_of(const TensorShape& shape);

/// [rows, head_dim] out of a whole tensor.
template <class Row>
std::vector<Half> gather_rows_of(const HostTensor& tensor, const TensorShape& shape,
                                 std::span<const Row> rows);

/// Splits ascending rows into runs of one (batch, head) and at most `max_rows` rows: tasks that
/// share the rest of the head.
template <class Row>
std::vector<std::span<const Row>> split_by_head(std::span<const Row> rows, std::size_t max_rows);

/// Throws std::invalid_argument unless `rows` is strictly ascending and inside the tensor.
template <class Row>
void check_rows(const TensorShape& shape, std::span<const Row> rows);

/// Throws std::invalid_argument, naming the tensor, unless size == expected.
void check_size(const char* name, std::size_t size, std::size_t expected);

}  // namespace sparkbench
