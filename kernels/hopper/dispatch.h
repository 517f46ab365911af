// From a problem to the row of instances.h that serves it.
#pragma once

#include <string_view>

#include "kernels/hopper/instance_table.h"
#include "kernels/launch/serving_instance.h"

namespace sparkbench::hopper {

/// What an instance must have to serve. Any GPU with wgmma has enough shared memory for all.
InstanceWish wish_of(const Problem& problem, std::string_view pass, int products,
                     BlockSource blocks = BlockSource::kDense);

/// The first instance that serves, without row runs and without carried dQ. Null if there is none.
const KernelInstance* find_instance(const InstanceWish& wish);

/// The same. Throws NoInstance where there is none.
const KernelInstance& instance_for(const InstanceWish& wish);

/// The forward row whose blocks go over rows in runs (row_form.h). Null where there is none.
const KernelInstance* find_runs(const Problem& problem);

/// The fused row of dK, dV and dQ (dq_form.h): for windows and bands of few keys, or few keys in
/// all, if each step of 64 queries sees the tile of its own keys and no heads share keys. Null
/// where there is none.
const KernelInstance* find_carried(const Problem& problem);

/// Most tiles of 64 keys, from a multiple of 64 on, that 64 queries of a band see. For other masks,
/// more tiles than there are.
int tiles_of_band(const KeyMask& mask);
int tiles_of_keys(const KeyMask& mask);

}  // namespace sparkbench::hopper
