// m8n8k4 as one thread of an emulated warp comes to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "kernels/machine/emulated/blocks/block_runner.h"
#include "kernels/machine/emulated/report/call_site.h"
#include "kernels/machine/mma/m8n8k4.h"

namespace sparkbench {

/// mma_m8n8k4_outer (kernels/machine/machine.h) of a thread of the running warp. The order of the
/// instructions shows in no result.
template <Major kA, Major kB, Accumulator kAccumulator, int kSteps, int kM, int kN>
void meet_at_m8n8k4(BlockRunner& runner, int thread,
                    AccumulatorFragment<kAccumulator>* const (&c)[kM],
                    const OperandFragment (&a)[kSteps][kM], const OperandFragment (&b)[kSteps][kN],
                    const CallSite& site) {
  static_assert(kM <= kMaxOuterFragments && kN <= kMaxOuterFragments,
                "the emulator decodes a step's operands before it multiplies");
  static_assert(kSteps * kM <= kMaxMmaFragments && kSteps * kN <= kMaxMmaFragments);
  M8n8k4Exchange& exchange = runner.mma_exchange().m8n8k4;
  const auto lane = static_cast<std::size_t>(thread % kWarpLanes);
  for (std::size_t i = 0; i < kSteps * kM; ++i) {
    std::memcpy(exchange.a[i].pair[lane], (&a[0][0])[i].pair, sizeof a[0][0].pair);
  }
  for (std::size_t i = 0; i < kSteps * kN; ++i) {
    std::memcpy(exchange.b[i].pair[lane], (&b[0][0])[i].pair, sizeof b[0][0].pair);
  }
  auto& fragments = accumulators_of<kAccumulator>(exchange);
  for (std::size_t x = 0; x < kM; ++x) fragments[kWarpLanes * x + lane] = c[x];
  constexpr auto kArguments =
      static_cast<std::uint32_t>(kSteps << 10 | kM << 6 | kN << 3 | static_cast<int>(kA) << 2 |
                                 static_cast<int>(kB) << 1 | static_cast<int>(kAccumulator));
  if (runner.arrive(thread, {Collective::kMmaM8n8k4, kArguments, site})) {
    runner.counted().add_mma(&Counters::mma_m8n8k4, kAccumulator, kSteps * kM * kN);
    warp_mma_m8n8k4_outer(runner.profile(), kA, kB,
                          {std::span(exchange.a).first(kSteps * kM),
                           std::span(exchange.b).first(kSteps * kN), kM, kN},
                          fragments.data());
  }
  runner.proceed(thread);
}

}  // namespace sparkbench
