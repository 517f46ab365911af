// m16n8k16 as one thread of an emulated warp comes to it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/machine/emulated/blocks/block_runner.h"
#include "kernels/machine/emulated/report/call_site.h"
#include "kernels/machine/mma/m16n8k16.h"

namespace sparkbench {

/// Multiplies the fragments of all lanes of the warp.
template <Accumulator kAccumulator>
void multiply_m16n8k16(const ArithmeticProfile& profile, M16n8k16Exchange& exchange, int steps,
                       int m, int n) {
  const auto& fragments = accumulators_of<kAccumulator>(exchange);
  const m16n8k16::FragmentA* a[kWarpLanes];
  const m16n8k16::FragmentB* b[kWarpLanes];
  m16n8k16::FragmentC<kAccumulator>* c[kWarpLanes];
  for (int i = 0; i < steps * m * n; ++i) {
    const int step = i / (m * n), x = i / n % m, y = i % n;
    for (std::size_t lane = 0; lane < kWarpLanes; ++lane) {
      a[lane] = exchange.a[lane] + step * m + x;
      b[lane] = exchange.b[lane] + step * n + y;
      c[lane] = fragments[lane][x] + y;
    }
    warp_mma_m16n8k16(profile, a, b, c);
  }
}

/// mma_m16n8k16_outer (kernels/machine/machine.h) of a thread of the running warp. The order of the
/// instructions within a step shows in no result.
template <Accumulator kAccumulator, int kSteps, int kM, int kN>
void meet_at_m16n8k16(BlockRunner& runner, int thread,
                      m16n8k16::FragmentC<kAccumulator>* const (&c)[kM],
                      const m16n8k16::FragmentA (&a)[kSteps][kM],
                      const m16n8k16::FragmentB (&b)[kSteps][kN], const CallSite& site) {
  static_assert(kM < 256 && kN < 256 && kSteps < 32768, "kArguments tells them apart");
  M16n8k16Exchange& exchange = runner.mma_exchange().m16n8k16;
  const auto lane = static_cast<std::size_t>(thread % kWarpLanes);
  exchange.a[lane] = &a[0][0];
  exchange.b[lane] = &b[0][0];
  accumulators_of<kAccumulator>(exchange)[lane] = c;
  constexpr auto kArguments =
      static_cast<std::uint32_t>(kSteps << 17 | kM << 9 | kN << 1 | static_cast<int>(kAccumulator));
  if (runner.arrive(thread, {Collective::kMmaM16n8k16, kArguments, site})) {
    runner.counted().add_mma(&Counters::mma_m16n8k16, kAccumulator, kSteps * kM * kN);
    multiply_m16n8k16<kAccumulator>(runner.profile(), exchange, kSteps, kM, kN);
  }
  runner.proceed(thread);
}

}  // namespace sparkbench
