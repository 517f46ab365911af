#include "kernels/mask/pattern/tile_plan.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "kernels/base/ceil_divide.h"
#include "kernels/mask/pattern/key_runs.h"
#include "kernels/mask/pattern/span_writer.h"

namespace sparkbench {
namespace {

constexpr int kComputedSpans = 4;
constexpr std::uint64_t kSpanBytes = 16, kBoundsBytes = 8, kWordBytes = 8;

bool is_closed_form(const std::vector<Term>& terms) {
  return std::all_of(terms.begin(), terms.end(),
                     [](const Term& term) { return term.is_closed_form(); });
}

/// Extrapolates from some tiles of rows, evenly spaced, plus a sixteenth: exact if rows see evenly
/// more.
template <class LookAt>
std::size_t expected_spans(int row_tiles, int keys, KeyRuns& runs, const LookAt& look_at) {
  constexpr int kSamples = 4;
  if (row_tiles < 16 * kSamples) return 0;
  std::size_t spans = 0;
  for (int i = 0; i < kSamples; ++i) {
    look_at(static_cast<int>(std::int64_t{row_tiles} * (2 * i + 1) / (2 * kSamples)));
    spans += join_to_tiles(runs, keys);
  }
  return spans * static_cast<std::size_t>(row_tiles) / kSamples * 17 / 16;
}

}  // namespace

std::span<const Span> TilePlan::spans_of(int row_tile) const {
  const auto index = static_cast<std::size_t>(row_tile);
  const auto first = static_cast<std::size_t>(first_spans[index]);
  return std::span(spans).subspan(first, static_cast<std::size_t>(first_spans[index + 1]) - first);
}

int TilePlan::tiles_of(int row_tile) const {
  int tiles = 0;
  for (const Span& span : spans_of(row_tile)) tiles += span.tiles();
  return tiles;
}

int TilePlan::most_spans() const {
  int most = 0;
  for (std::size_t i = 1; i < first_spans.size(); ++i) {
    most = std::max(most, first_spans[i] - first_spans[i - 1]);
  }
  return most;
}

std::uint64_t TilePlan::executed_pairs() const {
  return tiles() * static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(keys);
}

TilePlan plan(const Pattern& pattern, int head, int rows, int keys) {
  if (rows < 1 || keys < 1) {
    throw std::invalid_argument("a tile of " + std::to_string(rows) + " x " + std::to_string(keys) +
                                "; allowed: 1 x 1 and more");
  }
  TilePlan plan{pattern.seqlen_q, pattern.seqlen_k, rows, keys};
  const int row_tiles = ceil_divide(pattern.seqlen_q, rows);
  plan.first_spans.reserve(static_cast<std::size_t>(row_tiles) + 1);
  plan.first_spans.push_back(0);
  KeyRunFinder finder(pattern, head, keys);
  KeyRuns runs;
  const auto look_at = [&](int tile) {
    const Range of_tile = {tile * rows, std::min(tile * rows + rows, pattern.seqlen_q)};
    finder.find(of_tile, runs);
  };
  if (is_closed_form(pattern.terms(head)))
    plan.spans.reserve(expected_spans(row_tiles, keys, runs, look_at));
  SpanWriter writer(plan);
  for (int tile = 0; tile < row_tiles; ++tile) {
    look_at(tile);
    writer.add_spans(runs);
    plan.first_spans.push_back(static_cast<int>(plan.spans.size()));
  }
  return plan;
}

std::uint64_t metadata_bytes(const Pattern& pattern, int head, const TilePlan& plan) {
  const std::vector<Term>& terms = pattern.terms(head);
  if (is_closed_form(terms) && plan.most_spans() <= kComputedSpans) return 0;
  std::uint64_t bytes = kSpanBytes * plan.spans.size();
  for (const Term& term : terms) {
    if (term.bounds != nullptr) bytes += kBoundsBytes * static_cast<std::uint64_t>(plan.seqlen_q);
  }
  const bool has_bits = std::any_of(terms.begin(), terms.end(), [](const Term& term) {
    return term.bits != nullptr || term.where != nullptr;
  });
  if (has_bits) {
    const auto words_of_row = static_cast<std::uint64_t>(ceil_divide(plan.keys, kWordKeys));
    bytes += kWordBytes * plan.cut_tiles * static_cast<std::uint64_t>(plan.rows) * words_of_row;
  }
  return bytes;
}

}  // namespace sparkbench
