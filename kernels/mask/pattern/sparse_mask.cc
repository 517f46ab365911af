#include "kernels/mask/pattern/sparse_mask.h"

#include <utility>

#include "kernels/mask/pattern/pattern_pairs.h"
#include "kernels/mask/pattern/pattern_spec.h"

namespace sparkbench {

std::shared_ptr<const SparseMask> make_sparse_mask(std::string_view spec, int seqlen_q,
                                                   int seqlen_k, int heads) {
  const PatternSpec parsed = parse_pattern_spec(spec);
  Pattern pattern = make_pattern(parsed, seqlen_q, seqlen_k, heads);
  std::vector<std::uint64_t> pairs;
  for (std::size_t i = 0; i < pattern.unions.size(); ++i) {
    pairs.push_back(visible_pairs(pattern, static_cast<int>(i)));
  }
  std::string name = name_of(parsed);
  std::vector<MaskPass> passes = mask_passes(pattern, name);
  return std::make_shared<SparseMask>(
      SparseMask{std::move(name), std::move(pattern), std::move(pairs), std::move(passes)});
}

}  // namespace sparkbench
