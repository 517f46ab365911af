// A pattern for a problem: over its lengths, and with its name in results.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/mask/pattern/mask_passes.h"
#include "kernels/mask/pattern/pattern.h"
#include "kernels/mask/pattern/plan_facts.h"

namespace sparkbench {

class TileSights;  // kernels/jit/tile_sights.h

struct SparseMask {
  std::string spec;  // the normal form, which make_sparse_mask() reads; used in results and names
  Pattern pattern;
  std::vector<std::uint64_t> pairs;   // that a head of each pattern sees; none: not counted
  std::vector<MaskPass> passes = {};  // mask_passes(); none: one launch in sequence order
  std::shared_ptr<const TileSights> sights = nullptr;  // device block mask; null: the host's
  std::shared_ptr<PlanFacts> plan_facts = std::make_shared<PlanFacts>();  // of its plans

  std::uint64_t pairs_of(int head) const {
    return pairs[static_cast<std::size_t>(head) % pairs.size()];
  }
};

/// "sink:4+window:128" over these lengths; `heads` as for make_pattern(). Throws
/// std::invalid_argument as parse_pattern_spec() and make_pattern() do, and, as disjoint() does,
/// for terms that it cannot separate.
std::shared_ptr<const SparseMask> make_sparse_mask(std::string_view spec, int seqlen_q,
                                                   int seqlen_k, int heads = 0);

/// The same without `pairs`, if nobody needs them: counting an expression's pairs takes longest.
std::shared_ptr<const SparseMask> make_uncounted_sparse_mask(std::string_view spec, int seqlen_q,
                                                             int seqlen_k, int heads = 0);

}  // namespace sparkbench
