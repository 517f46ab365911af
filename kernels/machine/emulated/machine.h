// EmulatedMachine: what a kernel may ask of the hardware (kernels/machine/machine.h), answered on
// the host for one thread of a block. The last, defaulted parameter of each function is the
// statement that called it: that is what findings and counters name.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "kernels/half.h"
#include "kernels/machine/emulated/blocks/block_runner.h"
#include "kernels/machine/emulated/memory/call_site.h"
#include "kernels/machine/emulated/special_functions/exp2_approx.h"
#include "kernels/machine/emulated/special_functions/log2_approx.h"
#include "kernels/machine/emulated/special_functions/reciprocal.h"
#include "kernels/machine/machine.h"
#include "kernels/machine/mma/m8n8k4.h"

namespace sparkbench {

class EmulatedMachine {
 public:
  EmulatedMachine(BlockRunner& runner, int thread) : runner_(runner), thread_(thread) {}

  int thread() const { return thread_; }
  int lane() const { return thread_ % kWarpLanes; }
  int warp() const { return thread_ / kWarpLanes; }
  int block(int axis) const { return runner_.block()[static_cast<std::size_t>(axis)]; }

  void recompute_indices() const {}
  void recompute_indices(int /*multiple_of_32*/) const {}
  template <class T>
  T opaque(T value) const {
    return value;
  }

  /// Tiles may be larger than the launch's shared_bytes; what lies beyond is out of bounds.
  template <class Tiles>
  Tiles& shared() const {
    return *static_cast<Tiles*>(runner_.memory().shared());
  }

  template <class T>
  T load_global(const void* address, CallSite site = CallSite::current()) {
    return runner_.memory().load_global<T>(access<T>(AccessKind::kLoadGlobal, address, site));
  }
  Bits128 load_opaque_global(const void* address, CallSite site = CallSite::current()) {
    return load_global<Bits128>(address, site);
  }
  template <class T>
  void store_global(void* address, T value, CallSite site = CallSite::current()) {
    runner_.memory().store_global(access<T>(AccessKind::kStoreGlobal, address, site), value);
  }
  template <class T>
  T load_shared(const void* address, CallSite site = CallSite::current()) {
    return runner_.memory().load_shared<T>(access<T>(AccessKind::kLoadShared, address, site));
  }
  template <class T>
  void store_shared(void* address, T value, CallSite site = CallSite::current()) {
    runner_.memory().store_shared(access<T>(AccessKind::kStoreShared, address, site), value);
  }
  void add_global(float* address, float value, CallSite site = CallSite::current()) {
    runner_.memory().add_global(access<float>(AccessKind::kAddGlobal, address, site), value);
  }

  void barrier(CallSite site = CallSite::current()) { meet({Collective::kBarrier, 0, site}); }
  void barrier_of_warps(CallSite site = CallSite::current()) {
    meet({Collective::kBarrierOfWarps, 0, site});
  }
  template <int kWarps>
  void team_barrier(CallSite site = CallSite::current()) {
    meet({Collective::kTeamBarrier, kWarps, site});
  }
  void sync_warp(CallSite site = CallSite::current()) { meet({Collective::kSyncWarp, 0, site}); }

  std::uint32_t ballot(bool value, CallSite site = CallSite::current()) {
    auto& exchange = runner_.exchange();
    exchange[static_cast<std::size_t>(lane())] = value;
    if (runner_.arrive(thread_, {Collective::kBallot, 0, site})) ++runner_.counted().ballots;
    runner_.proceed(thread_);
    std::uint32_t votes = 0;
    for (int i = 0; i < kWarpLanes; ++i) votes |= exchange[static_cast<std::size_t>(i)] << i;
    return votes;
  }

  /// A lane_mask that names no lane gives the lane its own value, as the hardware does.
  template <class T>
  T shuffle_xor(T value, int lane_mask, CallSite site = CallSite::current()) {
    return shuffle_from(value, lane() ^ lane_mask, site);
  }
  template <int kLaneBits>
  float shuffle_among(float value, int index, CallSite site = CallSite::current()) {
    return shuffle_from(value, (lane() & ~kLaneBits) | (index & kLaneBits), site);
  }

  template <Major kA, Major kB, Accumulator kAccumulator, int kSteps>
  void mma_m8n8k4(AccumulatorFragment<kAccumulator>& c, const OperandFragment (&a)[kSteps],
                  const OperandFragment (&b)[kSteps], CallSite site = CallSite::current()) {
    AccumulatorFragment<kAccumulator>* const fragment = &c;
    multiply_add<kA, kB, kAccumulator>(kSteps, {&fragment, 1}, a, b, site);
  }

  /// The order of the instructions shows in no result.
  template <Major kA, Major kB, Operand /*kHeld*/, Accumulator kAccumulator, int kSteps, int kM,
            int kN>
  void mma_m8n8k4_outer(AccumulatorFragment<kAccumulator>* const (&c)[kM],
                        const OperandFragment (&a)[kSteps][kM],
                        const OperandFragment (&b)[kSteps][kN],
                        CallSite site = CallSite::current()) {
    static_assert(kM <= kMaxOuterFragments && kN <= kMaxOuterFragments,
                  "the emulator decodes a step's operands before it multiplies");
    multiply_add<kA, kB, kAccumulator>(kSteps, c, std::span(&a[0][0], kSteps * kM),
                                       std::span(&b[0][0], kSteps * kN), site);
  }

  float fma(float a, float b, float c) const {
    ++runner_.lane_calls().fma;
    return std::fma(a, b, c);
  }
  float exp2(float x) const {
    ++runner_.lane_calls().mufu;
    return exp2_approx_ftz(x);
  }
  float log2(float x) const {
    ++runner_.lane_calls().mufu;
    return log2_approx_ftz(x);
  }
  float reciprocal(float x) const {
    ++runner_.lane_calls().mufu;
    return reciprocal_rn(x);
  }
  std::uint32_t pack_halves(float low, float high) const {
    runner_.lane_calls().half_conversions += 2;
    return to_half(low).bits | static_cast<std::uint32_t>(to_half(high).bits) << 16;
  }
  std::uint32_t upper_halves(std::uint32_t low, std::uint32_t high) const {
    return (low >> 16) | (high & 0xffff0000u);
  }
  float low_half(std::uint32_t pair) const {
    ++runner_.lane_calls().half_widenings;
    return to_float(Half{static_cast<std::uint16_t>(pair)});
  }
  float high_half(std::uint32_t pair) const {
    ++runner_.lane_calls().half_widenings;
    return to_float(Half{static_cast<std::uint16_t>(pair >> 16)});
  }

 private:
  template <class T>
  T shuffle_from(T value, int source, const CallSite& site) {
    static_assert(sizeof(T) == sizeof(std::uint32_t), "a shuffle moves one register");
    auto& exchange = runner_.exchange();
    std::memcpy(&exchange[static_cast<std::size_t>(lane())], &value, sizeof value);
    if (runner_.arrive(thread_, {Collective::kShuffle, 0, site})) ++runner_.counted().shuffles;
    runner_.proceed(thread_);
    const bool exists = source >= 0 && source < kWarpLanes;
    std::memcpy(&value, &exchange[static_cast<std::size_t>(exists ? source : lane())],
                sizeof value);
    return value;
  }

  template <class T>
  MemoryAccess access(AccessKind kind, const void* address, const CallSite& site) const {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16,
                  "one instruction moves 4, 8 or 16 bytes");
    return {kind, sizeof(T), address, thread_, site};
  }

  template <Major kA, Major kB, Accumulator kAccumulator>
  void multiply_add(std::size_t steps, std::span<AccumulatorFragment<kAccumulator>* const> c,
                    std::span<const OperandFragment> a, std::span<const OperandFragment> b,
                    const CallSite& site) {
    MmaOperands& operands = runner_.mma_operands();
    const auto deposit = [this](std::span<const OperandFragment> from, auto& to) {
      for (std::size_t i = 0; i < from.size(); ++i) {
        std::memcpy(to.at(i).pair[lane()], from[i].pair, sizeof from[i].pair);
      }
    };
    deposit(a, operands.a);
    deposit(b, operands.b);
    auto& fragments = accumulators<kAccumulator>(operands);
    for (std::size_t x = 0; x < c.size(); ++x) {
      fragments[kWarpLanes * x + static_cast<std::size_t>(lane())] = c[x];
    }
    const std::size_t m = c.size(), n = b.size() / steps;
    const auto shape = static_cast<std::uint32_t>(steps << 10 | m << 6 | n << 3);
    constexpr auto kKind = static_cast<std::uint32_t>(
        static_cast<int>(kA) << 2 | static_cast<int>(kB) << 1 | static_cast<int>(kAccumulator));
    if (runner_.arrive(thread_, {Collective::kMma, shape | kKind, site})) {
      const std::uint64_t instructions = steps * m * n;
      runner_.counted().mma_m8n8k4 += instructions;
      if (kAccumulator == Accumulator::kFp16) runner_.counted().mma_fp16acc += instructions;
      warp_mma_m8n8k4_outer(
          runner_.profile(), kA, kB,
          {std::span(operands.a).first(a.size()), std::span(operands.b).first(b.size()), m, n},
          fragments.data());
    }
    runner_.proceed(thread_);
  }

  template <Accumulator kAccumulator>
  static auto& accumulators(MmaOperands& operands) {
    if constexpr (kAccumulator == Accumulator::kFp32) {
      return operands.c_fp32;
    } else {
      return operands.c_fp16;
    }
  }

  void meet(const Stop& stop) {
    runner_.arrive(thread_, stop);
    runner_.proceed(thread_);
  }

  BlockRunner& runner_;
  int thread_;
};

}  // namespace sparkbench
