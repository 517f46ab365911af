#include "kernels/hopper/dispatch.h"

#include <limits>
#include <string>

#include "kernels/base/ceil_divide.h"
#include "kernels/hopper/block_plan.h"
#include "kernels/mask/pattern/grid.h"

namespace sparkbench::hopper {
namespace {

/// Whether there are as many rows as keys, and each step of 64 queries sees the tile of its own 64
/// keys. (In a residue under a window, rows may see only keys before their own.)
bool steps_see_their_own(const KeyMask& mask) {
  if (mask.seqlen_q != mask.seqlen_k || mask.seqlen_q == 0) return false;
  const int last = (mask.seqlen_q - 1) % kWarpgroupRows;  // query of the last step
  const bool sees_before = mask.begin_offset <= 0;
  return sees_before && (last + mask.end_offset >= 1 || mask.prefix >= mask.seqlen_k);
}

}  // namespace

int tiles_of_band(const KeyMask& mask) {
  if (mask.prefix > 0) return std::numeric_limits<int>::max();
  const int last_query = kWarpgroupRows - 1;
  return floor_divide(last_query + mask.end_offset - 1, kWarpgroupRows) -
         floor_divide(mask.begin_offset, kWarpgroupRows) + 1;
}

int tiles_of_keys(const KeyMask& mask) { return ceil_divide(mask.seqlen_k, kWarpgroupRows); }

InstanceWish wish_of(const Problem& problem, std::string_view pass, int products,
                     BlockSource blocks) {
  return {pass,  products, Accumulator::kFp32, problem, std::numeric_limits<std::size_t>::max(),
          blocks};
}

const KernelInstance* find_instance(const InstanceWish& wish) {
  return sparkbench::find_instance(instances(), wish, [](const KernelInstance& instance) {
    return !instance.has_runs && instance.most_visits == 0;
  });
}

const KernelInstance& instance_for(const InstanceWish& wish) {
  if (const KernelInstance* const found = find_instance(wish)) return *found;
  throw NoInstance("no Hopper kernel is for head_dim " + std::to_string(wish.problem.head_dim) +
                   " in this element type");
}

const KernelInstance* find_runs(const Problem& problem) {
  return sparkbench::find_instance(
      instances(), wish_of(problem, "fwd", kForwardProducts),
      [](const KernelInstance& instance) { return instance.has_runs; });
}

const KernelInstance* find_carried(const Problem& problem) {
  const KeyMask mask = problem.key_mask();
  if (problem.heads != problem.key_heads() || !steps_see_their_own(mask)) return nullptr;
  const int of_band = tiles_of_band(mask), all = tiles_of_keys(mask);
  return sparkbench::find_instance(
      instances(), wish_of(problem, "bwd", kSummedProducts), [&](const KernelInstance& instance) {
        return instance.most_visits > 0 &&
               (of_band <= instance.most_visits || all <= instance.most_tiles);
      });
}

}  // namespace sparkbench::hopper
