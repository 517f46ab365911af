#include "kernels/mask/pattern/tile_plan.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "kernels/ceil_divide.h"
#include "kernels/mask/pattern/key_runs.h"

namespace sparkbench {
namespace {

constexpr int kComputedSpans = 4;
constexpr std::uint64_t kSpanBytes = 16, kBoundsBytes = 8, kWordBytes = 8;

/// Runs of keys to the tiles that they fill.
void fill_tiles(std::vector<Range>& runs, int keys) {
  join(runs);
  for (Range& run : runs) run = {ceil_divide(run.begin, keys), run.end / keys};
}

/// Touched tiles, and among them the full ones, as spans.
void add_spans(const KeyRuns& tiles, TilePlan& plan) {
  const auto add = [&](int begin, int end, TileCover cover) {
    if (begin >= end) return;
    plan.spans.push_back({begin, end, cover});
    (cover == TileCover::kFull ? plan.full_tiles : plan.cut_tiles) +=
        static_cast<std::uint64_t>(end - begin);
  };
  std::size_t next = 0;
  for (const Range& touched : tiles.touched) {
    int at = touched.begin;
    for (; next < tiles.full.size() && tiles.full[next].begin < touched.end; ++next) {
      if (tiles.full[next].is_empty()) continue;
      add(at, tiles.full[next].begin, TileCover::kCut);
      add(tiles.full[next].begin, tiles.full[next].end, TileCover::kFull);
      at = tiles.full[next].end;
    }
    add(at, touched.end, TileCover::kCut);
  }
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
  KeyRuns runs;
  for (int tile = 0; tile < row_tiles; ++tile) {
    const Range of_tile = {tile * rows, std::min(tile * rows + rows, pattern.seqlen_q)};
    runs.clear();
    for (const Term& term : pattern.terms(head)) add_key_runs(pattern, term, of_tile, keys, runs);
    join(runs.touched);
    fill_tiles(runs.full, keys);
    add_spans(runs, plan);
    plan.first_spans.push_back(static_cast<int>(plan.spans.size()));
  }
  return plan;
}

std::uint64_t metadata_bytes(const Pattern& pattern, int head, const TilePlan& plan) {
  const std::vector<Term>& terms = pattern.terms(head);
  const bool is_closed_form = std::all_of(terms.begin(), terms.end(),
                                          [](const Term& term) { return term.is_closed_form(); });
  if (is_closed_form && plan.most_spans() <= kComputedSpans) return 0;
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
