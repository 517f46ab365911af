#include "reference/mask_check.h"

#include <fmt/format.h>

#include "reference/exact/exact.h"
#include "reference/exact/exact_backward.h"

namespace sparkbench {
namespace {

Problem with_mask(Problem problem, const MaskSpec& mask) {
  problem.mask = mask;
  return problem;
}

/// Pairs of one head, over all sequences.
std::uint64_t all_visible_pairs(const Problem& problem) {
  std::uint64_t pairs = 0;
  for (int i = 0; i < problem.batch; ++i) pairs += visible_pairs(problem.key_mask_of(i));
  return pairs;
}

/// Indices of the rows whose visible keys (or queries) differ from those under the problem's mask.
template <class Row>
std::vector<std::size_t> changed_rows(const Problem& problem, const Problem& near_miss,
                                      std::span<const Row> rows) {
  std::vector<std::size_t> changed;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Range before = visible_to(problem, rows[i]), after = visible_to(near_miss, rows[i]);
    if (before.begin != after.begin || before.end != after.end) changed.push_back(i);
  }
  return changed;
}

template <class T>
std::vector<T> pick(std::span<const T> values, const std::vector<std::size_t>& positions,
                    std::size_t length = 1) {
  std::vector<T> picked;
  for (const std::size_t position : positions) {
    const auto row = values.subspan(position * length, length);
    picked.insert(picked.end(), row.begin(), row.end());
  }
  return picked;
}

std::string no_row_tells(const Problem& problem, const MaskSpec& miss) {
  return fmt::format("no checked row tells {} from {}", name_of(problem.mask), name_of(miss));
}

std::string agrees_with_both(const Problem& problem, const MaskSpec& miss) {
  return fmt::format("the output agrees with {} and with {}: the check cannot tell which it has",
                     name_of(problem.mask), name_of(miss));
}

}  // namespace

std::vector<MaskSpec> near_misses(const Problem& problem) {
  std::vector<MaskSpec> masks = masks_one_off(problem.mask);
  std::erase_if(masks, [&](const MaskSpec& mask) {
    return all_visible_pairs(with_mask(problem, mask)) == all_visible_pairs(problem);
  });
  return masks;
}

std::string why_mask_in_doubt(const Problem& problem, const ForwardInputs& inputs,
                              std::span<const QueryRow> rows, const ForwardRows& got,
                              const std::function<std::string(const ErrorMetrics&)>& why_incorrect,
                              ElementType element) {
  const auto head_dim = static_cast<std::size_t>(problem.head_dim);
  for (const MaskSpec& miss : near_misses(problem)) {
    const Problem other = with_mask(problem, miss);
    const std::vector<std::size_t> changed = changed_rows(problem, other, rows);
    if (changed.empty()) return no_row_tells(problem, miss);
    const ForwardRows some{pick<Half>(got.o, changed, head_dim), pick<float>(got.lse, changed)};
    const ExactRows exact = exact_forward(other, inputs, pick<QueryRow>(rows, changed));
    if (why_incorrect(error_metrics(some, exact, {}, element)).empty()) {
      return agrees_with_both(problem, miss);
    }
  }
  return "";
}

std::string why_mask_in_doubt(
    const Problem& problem, const BackwardInputs& inputs, const GradientRows& rows,
    const HalfGradients& got,
    const std::function<std::string(const GradientErrors&)>& why_incorrect, ElementType element) {
  const auto head_dim = static_cast<std::size_t>(problem.head_dim);
  const BackwardInputs without_forward{inputs.q, inputs.k, inputs.v, inputs.d_o};
  for (const MaskSpec& miss : near_misses(problem)) {
    const Problem other = with_mask(problem, miss);
    const auto queries = changed_rows<QueryRow>(problem, other, rows.dq);
    const auto keys = changed_rows<KeyRow>(problem, other, rows.dkv);
    if (queries.empty() && keys.empty()) return no_row_tells(problem, miss);
    const HalfGradients some{pick<Half>(got.dq, queries, head_dim),
                             pick<Half>(got.dk, keys, head_dim),
                             pick<Half>(got.dv, keys, head_dim)};
    const ExactGradients exact = exact_backward(
        other, without_forward, {pick<QueryRow>(rows.dq, queries), pick<KeyRow>(rows.dkv, keys)});
    const CheckedRows of_queries{queries.size(), {}, element}, of_keys{keys.size(), {}, element};
    if (why_incorrect(gradient_errors(some, exact, of_queries, of_keys)).empty()) {
      return agrees_with_both(problem, miss);
    }
  }
  return "";
}

}  // namespace sparkbench
