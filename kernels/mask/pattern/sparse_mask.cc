#include "kernels/mask/pattern/sparse_mask.h"

#include <utility>

#include "kernels/mask/pattern/pattern_pairs.h"
#include "kernels/mask/pattern/pattern_spec.h"

namespace sparkbench {
namespace {

SparseMask uncounted_mask(std::string_view spec, int seqlen_q, int seqlen_k, int heads) {
  const PatternSpec parsed = parse_pattern_spec(spec);
  Pattern pattern = make_pattern(parsed, seqlen_q, seqlen_k, heads);
  std::string name = name_of(parsed);
  std::vector<MaskPass> passes = mask_passes(pattern, name);
  return {.spec = std::move(name),
          .pattern = std::move(pattern),
          .pairs = {},
          .passes = std::move(passes)};
}

}  // namespace

std::shared_ptr<const SparseMask> make_sparse_mask(std::string_view spec, int seqlen_q,
                                                   int seqlen_k, int heads) {
  SparseMask mask = uncounted_mask(spec, seqlen_q, seqlen_k, heads);
  for (std::size_t i = 0; i < mask.pattern.unions.size(); ++i) {
    mask.pairs.push_back(visible_pairs(mask.pattern, static_cast<int>(i)));
  }
  return std::make_shared<const SparseMask>(std::move(mask));
}

std::shared_ptr<const SparseMask> make_uncounted_sparse_mask(std::string_view spec, int seqlen_q,
                                                             int seqlen_k, int heads) {
  return std::make_shared<const SparseMask>(uncounted_mask(spec, seqlen_q, seqlen_k, heads));
}

}  // namespace sparkbench
