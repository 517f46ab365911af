#include "kernels/strided/pass_dropout.h"

#include "kernels/mask/pattern/sparse_mask.h"

namespace sparkbench {
namespace {

constexpr std::uint64_t kMostPlaces = std::uint64_t{1} << kViewNumberBit;

/// The zones of a view, over its lines.
std::vector<Zone> zones_of(const ResidueView& view) {
  if (!view.sparse) {
    const OpenMask mask = open_mask(view.dense);
    return {zone_of_offsets(most_of(mask.begin, -kUnbounded), least_of(mask.end, kUnbounded))};
  }
  std::vector<Zone> zones;
  for (const Term& term : view.sparse->pattern.unions.front()) zones.push_back(term.flat);
  return zones;
}

std::uint64_t product(int a, int b) {
  return static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b);
}

std::uint64_t power_of_two_from(std::uint64_t value) {
  std::uint64_t power = 1;
  while (power < value) power *= 2;
  return power;
}

/// Number of a view among those over residues, from 1; 0 for the sequence order.
int number_of_view(const std::vector<MaskPass>& passes, int view) {
  int number = 0;
  for (const MaskPass& pass : passes) {
    for (std::size_t i = 0; i < pass.views.size(); ++i) {
      if (pass.stride > 1) ++number;
      if (view-- == 0) return pass.stride > 1 ? number : 0;
    }
  }
  return 0;
}

std::uint32_t number_bits(int number) {
  return static_cast<std::uint32_t>(number) << kViewNumberBit;
}

}  // namespace

std::optional<DropoutViews> dropout_views(const std::vector<MaskPass>& passes, int batch,
                                          int heads) {
  static_assert(2 * kMostMaskPasses < 1 << (32 - kViewNumberBit));
  DropoutViews views;
  views.heads = heads;
  // In the order of the sequence.
  if (product(batch, heads) > kMostPlaces) return std::nullopt;
  int number = 0;
  for (const MaskPass& pass : passes) {
    if (pass.stride == 1) continue;
    for (const ResidueView& view : pass.views) {
      ++number;
      const std::uint64_t of_entry = power_of_two_from(product(view.residues, heads));
      if (of_entry > kMostPlaces / static_cast<std::uint64_t>(batch)) return std::nullopt;
      for (const Zone& zone : zones_of(view)) {
        if (views.count == kMostDropoutZones) return std::nullopt;
        views.zone[views.count++] = {
            pass.stride, view.first_residue,  view.first_residue + view.residues,
            zone,        number_bits(number), static_cast<std::uint32_t>(of_entry)};
      }
    }
  }
  return views;
}

bool has_mask_passes(const Problem& problem) {
  if (!problem.sparse || problem.sparse->passes.empty()) return false;
  return problem.dropout().threshold == 0 ||
         dropout_views(problem.sparse->passes, problem.batch, problem.heads).has_value();
}

DropoutViews dropout_views_of(const Problem& problem) {
  DropoutViews none;
  none.heads = problem.heads;
  if (!problem.sparse || problem.dropout().threshold == 0) return none;
  if (problem.sparse->passes.empty()) return none;
  return dropout_views(problem.sparse->passes, problem.batch, problem.heads).value_or(none);
}

std::uint32_t first_dropout_sequence(const Problem& problem, int view, int entry) {
  const std::uint32_t number = number_bits(number_of_view(problem.sparse->passes, view));
  if (number == 0) return 0;
  const DropoutViews views = dropout_views_of(problem);
  for (int i = 0; i < views.count; ++i) {
    if (views.zone[i].number == number) return views.zone[i].first_sequence(entry);
  }
  return number;  // of a view that shows nothing, and so drops nothing
}

}  // namespace sparkbench
