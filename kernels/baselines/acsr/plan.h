// The launches of the chain's passes (kernels/launch/plan.h).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/baselines/acsr/keys_of_mask.h"
#include "kernels/baselines/acsr/rows_of_mask.h"
#include "kernels/launch/plan.h"

namespace sparkbench::acsr {

/// A mask's rows and, for backward passes, its blocks of keys: in memory one after the other.
struct ChainTables : MaskTables {
  /// Throws std::invalid_argument as MaskRows does.
  ChainTables(const Problem& problem, Pass pass);

  std::vector<std::byte> bytes() const override;

  MaskRows rows;
  std::optional<MaskKeys> keys;
};

/// AttentionKernel::tables.
std::shared_ptr<const MaskTables> make_tables(const Problem& problem, Pass pass);

/// The request has ChainTables. A backward pass begins with P, which it finds where a forward pass
/// has left it: first in its workspace. Throws NoInstance (kernels/launch/serving_instance.h).
std::vector<Step> plan(const PlanRequest& request, Workspace& workspace);

/// Blocks of threads for each block of rows, or of keys.
inline int parts_of(const KernelInstance& instance) { return kBlockRows / instance.block_rows; }
static_assert(kBlockPlaces == kBlockRows, "one for each block of keys");

}  // namespace sparkbench::acsr
