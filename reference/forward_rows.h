// What every CPU reference takes and gives: the inputs of a forward pass, and the query rows that
// are asked for. Long sequences are checked on a sample of rows, so a reference computes rows.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <tuple>
#include <vector>

#include "kernels/attention.h"
#include "kernels/half.h"

namespace sparkbench {

/// One row of O: [batch, row, head, :].
struct QueryRow {
  int batch;
  int head;
  int row;

  bool operator==(const QueryRow&) const = default;
  bool operator<(const QueryRow& other) const {
    return std::tie(batch, head, row) < std::tie(other.batch, other.head, other.row);
  }

  /// Index of this row in LSE, [batch, heads, seqlen_q].
  std::size_t lse_index(const Problem& problem) const;
};

/// Host tensors in the layout of ForwardTensors.
struct ForwardInputs {
  std::span<const Half> q;  // [batch, seqlen_q, heads, head_dim]
  std::span<const Half> k;  // [batch, seqlen_k, heads, head_dim]
  std::span<const Half> v;  // [batch, seqlen_k, heads, head_dim]
};

/// Rows as a kernel leaves them: fp16 O, fp32 LSE.
struct ForwardRows {
  std::vector<Half> o;     // [rows, head_dim]
  std::vector<float> lse;  // [rows], -inf where no key is visible
};

/// Every row of the problem, in ascending order.
std::vector<QueryRow> all_rows(const Problem& problem);

/// `count` rows spread evenly over the problem, one drawn at random in each of `count` equal
/// stretches of all_rows(), by a generator with a fixed seed; all rows when there are no more.
std::vector<QueryRow> sample_rows(const Problem& problem, std::size_t count);

/// The asked rows of a whole O [batch, seqlen_q, heads, head_dim] and LSE [batch, heads, seqlen_q].
ForwardRows gather_rows(const Problem& problem, std::span<const Half> o, std::span<const float> lse,
                        std::span<const QueryRow> rows);

/// Where element `index` of [rows, head_dim] lies in O: {batch, row, head, dim}.
std::array<int, 4> element_position(const Problem& problem, std::span<const QueryRow> rows,
                                    std::size_t index);

/// Cuts ascending rows into runs of one (batch, head) and at most `max_rows` rows: units of work
/// that share K and V.
std::vector<std::span<const QueryRow>> split_by_head(std::span<const QueryRow> rows,
                                                     std::size_t max_rows);

/// Throws std::invalid_argument unless the inputs have the problem's sizes and `rows` is strictly
/// ascending by (batch, head, row) and inside the problem.
void check_forward(const Problem& problem, const ForwardInputs& inputs,
                   std::span<const QueryRow> rows);

}  // namespace sparkbench
