// Blocks of a kernel whose tiles are known, followed through its machine code: what an instance's
// cycles are measured on.
#pragma once

#include <optional>

#include "harness/model/flow/warp_path.h"
#include "harness/model/predict/block_schedule.h"
#include "harness/model/sass/sass_listing.h"
#include "kernels/launch/kernel_instance.h"

namespace sparkbench {

struct Specimen {
  BlockWork work;
  BlockPaths paths;
};

/// With a dQ semaphore all have partial tiles: `few` and `many` equally many, `cut` more than
/// `as_cut`; and `group` has one head more than `few`.
struct Specimens {
  Specimen few, many;                 // full tiles alone
  Specimen cut, as_cut;               // a few full tiles, then cut ones; as many full ones
  std::optional<Specimen> all_parts;  // as many as `cut`, of each of which a scheduler has all
                                      // parts, not one; none of kernels that have one alone
  std::optional<Specimen> stairs;     // as `all_parts`, but schedulers have unequally many
  std::optional<Specimen> few_halves, many_halves;  // half steps alone, of those that have them
  std::optional<Specimen> group;  // as many as `many`, of heads that share keys; none of kernels
                                  // whose blocks have one head
};

/// Whether the instance has tiles: not so the kernels that go over rows.
bool has_tiles(const KernelInstance& instance);

/// Throws std::runtime_error where the code's paths do not have the products that the tiles ask
/// for, and as the following of paths does.
Specimens specimens_of(const SassFunction& function, const KernelInstance& instance);

}  // namespace sparkbench
