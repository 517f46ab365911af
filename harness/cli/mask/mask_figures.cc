#include "harness/cli/mask/mask_figures.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "kernels/mask/pattern/passes.h"
#include "kernels/mask/pattern/pattern_pairs.h"

namespace sparkbench {
namespace {

const std::vector<PatternAtom>& union_of_head(const PatternSpec& spec, int head) {
  return spec.unions[static_cast<std::size_t>(head) % spec.unions.size()];
}

/// For one pattern, as often as fits into a fifth of a second, with an upper limit.
void time_analysis(const MaskQuestion& question, int head, MaskFigures& figures) {
  using Clock = std::chrono::steady_clock;
  constexpr int kMostRepetitions = 1000;
  constexpr std::chrono::milliseconds kEnough(200);
  const PatternSpec one = {{union_of_head(question.spec, head)}};
  Clock::duration least = Clock::duration::max();
  const Clock::time_point begin = Clock::now();
  Clock::time_point start = begin;
  do {
    start = Clock::now();
    const Pattern pattern = make_pattern(one, question.seqlen_q, question.seqlen_k, question.heads);
    const TilePlan tiles = plan(pattern, head, question.tile_rows, question.tile_keys);
    least = std::min(least, Clock::now() - start);
    figures.repetitions += tiles.rows > 0;
  } while (figures.repetitions < kMostRepetitions && start - begin < kEnough);
  figures.analysis_us = std::chrono::duration<double, std::micro>(least).count();
}

MaskPasses figures_of_passes(const MaskQuestion& question, const Pattern& pattern, int head) {
  MaskPasses figures;
  for (const PatternPass& pass : passes_of(pattern, head)) {
    figures.strides.push_back(pass.stride);
    figures.executed_pairs +=
        plan(pass.pattern, 0, question.tile_rows, question.tile_keys).executed_pairs();
    figures.warp_executed_pairs += plan(pass.pattern, 0, kWarpRows, kWarpKeys).executed_pairs();
  }
  if (figures.strides.empty()) figures.strides.push_back(1);
  return figures;
}

MaskFigures figures_of_union(const MaskQuestion& question, const Pattern& pattern, int head,
                             const TilePlan& tiles) {
  MaskFigures figures;
  figures.name = name_of({{union_of_head(question.spec, head)}});
  figures.visible_pairs = visible_pairs(pattern, head);
  figures.density =
      static_cast<double>(figures.visible_pairs) / pattern.seqlen_q / pattern.seqlen_k;
  figures.spans = tiles.spans.size();
  figures.most_spans = tiles.most_spans();
  figures.full_tiles = tiles.full_tiles;
  figures.cut_tiles = tiles.cut_tiles;
  figures.executed_pairs = tiles.executed_pairs();
  figures.warp_executed_pairs = plan(pattern, head, kWarpRows, kWarpKeys).executed_pairs();
  figures.metadata_bytes = metadata_bytes(pattern, head, tiles);
  figures.passes = figures_of_passes(question, pattern, head);
  return figures;
}

}  // namespace

double MaskFigures::ratio(std::uint64_t executed) const {
  if (visible_pairs == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(executed) / static_cast<double>(visible_pairs);
}

MaskAnswer answer(const MaskQuestion& question) {
  MaskAnswer found;
  found.pattern = make_pattern(question.spec, question.seqlen_q, question.seqlen_k, question.heads);
  std::vector<TilePlan> plans;
  for (std::size_t i = 0; i < found.pattern.unions.size(); ++i) {
    const int head = static_cast<int>(i);
    plans.push_back(plan(found.pattern, head, question.tile_rows, question.tile_keys));
    found.unions.push_back(figures_of_union(question, found.pattern, head, plans.back()));
    time_analysis(question, head, found.unions.back());
  }
  found.whole = balance_of(work_items(plans, question.heads, false), kVoltaSlots);
  const std::vector<TileItem> items = work_items(plans, question.heads, true);
  found.split = balance_of(items, kVoltaSlots);
  found.longest_item = items.empty() ? 0 : items.front().tiles;
  found.items = items.size();
  return found;
}

}  // namespace sparkbench
