#include "reference/forward_rows.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "kernels/philox.h"

namespace sparkbench {
namespace {

std::size_t count_rows(const Problem& problem) { return problem.lse_elements(); }

QueryRow row_at(const Problem& problem, std::size_t index) {
  const auto seqlen = static_cast<std::size_t>(problem.seqlen_q);
  const auto heads = static_cast<std::size_t>(problem.heads);
  return {static_cast<int>(index / seqlen / heads), static_cast<int>(index / seqlen % heads),
          static_cast<int>(index % seqlen)};
}

void check_size(const char* name, std::size_t size, std::size_t expected) {
  if (size == expected) return;
  throw std::invalid_argument(std::string(name) + " has " + std::to_string(size) +
                              " elements, the problem asks for " + std::to_string(expected));
}

bool is_inside(const Problem& problem, const QueryRow& row) {
  return row.batch >= 0 && row.batch < problem.batch && row.head >= 0 && row.head < problem.heads &&
         row.row >= 0 && row.row < problem.seqlen_q;
}

}  // namespace

std::size_t QueryRow::lse_index(const Problem& problem) const {
  return (static_cast<std::size_t>(batch) * static_cast<std::size_t>(problem.heads) +
          static_cast<std::size_t>(head)) *
             static_cast<std::size_t>(problem.seqlen_q) +
         static_cast<std::size_t>(row);
}

std::vector<QueryRow> all_rows(const Problem& problem) {
  std::vector<QueryRow> rows(count_rows(problem));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = row_at(problem, i);
  return rows;
}

std::vector<QueryRow> sample_rows(const Problem& problem, std::size_t count) {
  const std::size_t total = count_rows(problem);
  if (count >= total) return all_rows(problem);
  std::vector<QueryRow> rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = total * i / count;
    const std::size_t end = total * (i + 1) / count;
    const PhiloxBlock random = philox4x32<10>({{static_cast<std::uint32_t>(i), 0, 0, 0}}, {0, 0});
    rows[i] = row_at(problem, begin + random.word[0] % (end - begin));
  }
  return rows;
}

ForwardRows gather_rows(const Problem& problem, std::span<const Half> o, std::span<const float> lse,
                        std::span<const QueryRow> rows) {
  check_size("o", o.size(), problem.q_elements());
  check_size("lse", lse.size(), problem.lse_elements());
  ForwardRows gathered;
  gathered.o.reserve(rows.size() * static_cast<std::size_t>(problem.head_dim));
  gathered.lse.reserve(rows.size());
  for (const QueryRow& r : rows) {
    const Half* begin = o.data() + row_offset(r.batch, r.row, r.head, problem.seqlen_q,
                                              problem.heads, problem.head_dim);
    gathered.o.insert(gathered.o.end(), begin, begin + problem.head_dim);
    gathered.lse.push_back(lse[r.lse_index(problem)]);
  }
  return gathered;
}

std::array<int, 4> element_position(const Problem& problem, std::span<const QueryRow> rows,
                                    std::size_t index) {
  const auto head_dim = static_cast<std::size_t>(problem.head_dim);
  const QueryRow& r = rows[index / head_dim];
  return {r.batch, r.row, r.head, static_cast<int>(index % head_dim)};
}

std::vector<std::span<const QueryRow>> split_by_head(std::span<const QueryRow> rows,
                                                     std::size_t max_rows) {
  std::vector<std::span<const QueryRow>> runs;
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    while (end < rows.size() && end - begin < max_rows && rows[end].batch == rows[begin].batch &&
           rows[end].head == rows[begin].head) {
      ++end;
    }
    runs.push_back(rows.subspan(begin, end - begin));
  }
  return runs;
}

void check_forward(const Problem& problem, const ForwardInputs& inputs,
                   std::span<const QueryRow> rows) {
  check_size("q", inputs.q.size(), problem.q_elements());
  check_size("k", inputs.k.size(), problem.k_elements());
  check_size("v", inputs.v.size(), problem.k_elements());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!is_inside(problem, rows[i])) {
      throw std::invalid_argument("query row " + std::to_string(i) + " lies outside the problem");
    }
    if (i > 0 && !(rows[i - 1] < rows[i])) {
      throw std::invalid_argument("query row " + std::to_string(i) + " does not ascend");
    }
  }
}

}  // namespace sparkbench
