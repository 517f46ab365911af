#include "reference/tensors/tensor_rows.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace sparkbench {
namespace {

template <class Row>
Row row_at(const TensorShape& shape, std::size_t index) {
  const auto heads = static_cast<std::size_t>(shape.heads);
  const int batch = sequence_of_token(shape, index / heads);
  const std::size_t rest = index - shape.tokens_before(batch) * heads;
  const auto seqlen = static_cast<std::size_t>(shape.seqlen_of(batch));
  return {batch, static_cast<int>(rest / seqlen), static_cast<int>(rest % seqlen)};
}

template <class Row>
bool is_inside(const TensorShape& shape, const Row& r) {
  return r.batch >= 0 && r.batch < shape.batch && r.head >= 0 && r.head < shape.heads &&
         r.row >= 0 && r.row < shape.seqlen_of(r.batch);
}

Range normalized(const Range& range) { return range.is_empty() ? Range{0, 0} : range; }

const char* kind_of(const QueryRow&) { return "query row "; }
const char* kind_of(const KeyRow&) { return "key row "; }

}  // namespace

int sequence_of_token(const TensorShape& shape, std::size_t token) {
  if (shape.cu_seqlens == nullptr) {
    return static_cast<int>(token / static_cast<std::size_t>(shape.seqlen));
  }
  const auto after =
      std::upper_bound(shape.cu_seqlens->begin(), shape.cu_seqlens->end(), static_cast<int>(token));
  return static_cast<int>(after - shape.cu_seqlens->begin()) - 1;
}

Range visible_to(const Problem& problem, const QueryRow& query) {
  return normalized(problem.key_mask_of(query.batch).keys(query.row));
}

Range visible_to(const Problem& problem, const KeyRow& key) {
  return normalized(problem.key_mask_of(key.batch).rows(key.row));
}

std::vector<int> query_heads_of(const Problem& problem, const KeyRow& key) {
  std::vector<int> heads(static_cast<std::size_t>(problem.group_size()));
  std::iota(heads.begin(), heads.end(), key.head * problem.group_size());
  return heads;
}

template <class Row>
std::vector<Row> all_rows_of(const TensorShape& shape) {
  std::vector<Row> rows(shape.rows());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = row_at<Row>(shape, i);
  return rows;
}

template <class Row>
std::vector<Half> gather_rows_of(const HostTensor& tensor, const TensorShape& shape,
                                 std::span<const Row> rows) {
  std::vector<Half> gathered;
  gathered.reserve(rows.size() * static_cast<std::size_t>(shape.head_dim));
  for (const Row& r : rows) {
    const std::span<const Half> row = row_of(tensor, shape, r);
    gathered.insert(gathered.end(), row.begin(), row.end());
  }
  return gathered;
}

template <class Row>
std::vector<std::span<const Row>> split_by_head(std::span<const Row> rows, std::size_t max_rows) {
  std::vector<std::span<const Row>> runs;
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    while (end < rows.size() && end - begin < max_rows && rows[end].batch == rows[begin].batch &&
           rows[end].head == rows[begin].head) {
      ++end;
    }
    runs.push_back(rows.subspan(begin, end - begin));
  }
  return runs;
}

template <class Row>
void check_rows(const TensorShape& shape, std::span<const Row> rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!is_inside(shape, rows[i])) {
      throw std::invalid_argument(kind_of(rows[i]) + std::to_string(i) +
                                  " lies outside the problem");
    }
    if (i > 0 && !(rows[i - 1] < rows[i])) {
      throw std::invalid_argument(kind_of(rows[i]) + std::to_string(i) + " does not ascend");
    }
  }
}

void check_size(const char* name, std::size_t size, std::size_t expected) {
  if (size == expected) return;
  throw std::invalid_argument(std::string(name) + " has " + std::to_string(size) +
                              " elements, the problem asks for " + std::to_string(expected));
}

template std::vector<QueryRow> all_rows_of(const TensorShape&);
template std::vector<KeyRow> all_rows_of(const TensorShape&);
template std::vector<Half> gather_rows_of(const HostTensor&, const TensorShape&,
                                          std::span<const QueryRow>);
template std::vector<Half> gather_rows_of(const HostTensor&, const TensorShape&,
                                          std::span<const KeyRow>);
template std::vector<std::span<const QueryRow>> split_by_head(std::span<const QueryRow>,
                                                              std::size_t);
template std::vector<std::span<const KeyRow>> split_by_head(std::span<const KeyRow>, std::size_t);
template void check_rows(const TensorShape&, std::span<const QueryRow>);
template void check_rows(const TensorShape&, std::span<const KeyRow>);

}  // namespace sparkbench
