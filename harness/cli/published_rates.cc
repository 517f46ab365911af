#include "harness/cli/published_rates.h"

#include <algorithm>
#include <iterator>

namespace sparkbench {
namespace {

constexpr std::string_view kXformers = "CUTLASS, in xformers and PyTorch's memory-efficient kernel";

/// facebookresearch/xformers at 1bf346f6, tables in the commit message, V100-SXM2-16GB; for
/// head_dim 256 1CatAI/1Cat-vLLM, 72 SMs, the slower of its two figures.
constexpr PublishedRate kRates[] = {
    {64, Pass::kForward, 32.6, kXformers},
    {128, Pass::kForward, 36.5, kXformers},
    {128, Pass::kBackward, 24.6, kXformers},
    {256, Pass::kForward, 44.9, "1Cat-vLLM"},
};

}  // namespace

std::optional<PublishedRate> best_published_on_v100(int head_dim, Pass pass) {
  const auto* const found = std::ranges::find_if(kRates, [&](const PublishedRate& rate) {
    return rate.head_dim == head_dim && rate.pass == pass;
  });
  return found == std::end(kRates) ? std::nullopt : std::optional(*found);
}

}  // namespace sparkbench
