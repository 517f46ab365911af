// wgmma for one thread of an emulated warp. The lanes of each of a warpgroup's four warps meet
// without the other warps: a warp's rows of the product need no other's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/machine/emulated/blocks/block_runner.h"
#include "kernels/machine/emulated/report/call_site.h"
#include "kernels/machine/mma/wgmma.h"

namespace sparkbench {

/// Tells calls apart that lanes of a warp must not mix, but for an unlikely chance.
inline std::uint32_t arguments_of(const ProductCall& call) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15u;
  const auto rest = static_cast<std::uint64_t>(
      call.n << 4 | static_cast<int>(call.major_a) << 3 | static_cast<int>(call.major_b) << 2 |
      static_cast<int>(call.has_a_in_registers) << 1 | static_cast<int>(call.accumulates));
  const std::uint64_t mixed = ((call.a_descriptor * kOdd ^ call.b_descriptor) * kOdd ^ rest) * kOdd;
  return static_cast<std::uint32_t>(mixed >> 32);
}

/// multiply_async (kernels/machine/machine.h) of a thread of the running warp. `a` is null where A
/// is in shared memory.
inline void meet_at_wgmma(BlockRunner& runner, int thread, const ProductCall& call,
                          const m16n8k16::FragmentA* a,
                          m16n8k16::FragmentC<Accumulator::kFp32>* c) {
  WgmmaExchange& lanes = runner.mma_exchange().wgmma;
  const auto lane = static_cast<std::size_t>(thread % kWarpLanes);
  if (a != nullptr) lanes.a[lane] = *a;
  lanes.c[lane] = c;
  if (runner.arrive(thread, {Collective::kMultiplyAsync, arguments_of(call), call.site})) {
    ++runner.counted().wgmma;
    runner.start_product({call, thread / kWarpLanes * kWarpLanes, lanes});
  }
  runner.proceed(thread);
}

}  // namespace sparkbench
