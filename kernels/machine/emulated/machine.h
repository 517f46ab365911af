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
#include "kernels/machine/emulated/block_runner.h"
#include "kernels/machine/emulated/call_site.h"
#include "kernels/machine/emulated/special_functions.h"
#include "kernels/machine/machine.h"
#include "kernels/tile/fragment.h"

namespace sparkbench {

class EmulatedMachine {
 public:
  EmulatedMachine(BlockRunner& runner, int thread) : runner_(runner), thread_(thread) {}

  int thread() const { return thread_; }
  int lane() const { return thread_ % kWarpLanes; }
  int warp() const { return thread_ / kWarpLanes; }
  int block(int axis) const { return runner_.block()[static_cast<std::size_t>(axis)]; }

  /// Tiles may be larger than the launch's shared_bytes; what lies beyond is out of bounds.
  template <class Tiles>
  Tiles& shared() const {
    return *static_cast<Tiles*>(runner_.memory().shared());
  }

  template <class T>
  T load_global(const void* address, CallSite site = CallSite::current()) {
    return runner_.memory().load_global<T>(access<T>(AccessKind::kLoadGlobal, address, site));
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
    static_assert(sizeof(T) == sizeof(std::uint32_t), "a shuffle moves one register");
    auto& exchange = runner_.exchange();
    std::memcpy(&exchange[static_cast<std::size_t>(lane())], &value, sizeof value);
    if (runner_.arrive(thread_, {Collective::kShuffle, 0, site})) ++runner_.counted().shuffles;
    runner_.proceed(thread_);
    const int source = lane() ^ lane_mask;
    const bool exists = source >= 0 && source < kWarpLanes;
    std::memcpy(&value, &exchange[static_cast<std::size_t>(exists ? source : lane())],
                sizeof value);
    return value;
  }

  template <Major kA, Major kB, Accumulator kAccumulator, int kSteps>
  void mma_m8n8k4(AccumulatorFragment<kAccumulator>& c, const OperandFragment (&a)[kSteps],
                  const OperandFragment (&b)[kSteps], CallSite site = CallSite::current()) {
    static_assert(kSteps <= kMaxMmaSteps,
                  "the emulator gathers a call's operands before it starts");
    constexpr std::uint32_t kArguments =
        static_cast<std::uint32_t>(kSteps) << 3 | static_cast<std::uint32_t>(kA) << 2 |
        static_cast<std::uint32_t>(kB) << 1 | static_cast<std::uint32_t>(kAccumulator);
    MmaOperands& operands = runner_.mma_operands();
    for (std::size_t step = 0; step < kSteps; ++step) {
      std::memcpy(operands.a[step].pair[lane()], a[step].pair, sizeof a[step].pair);
      std::memcpy(operands.b[step].pair[lane()], b[step].pair, sizeof b[step].pair);
    }
    accumulators<kAccumulator>(operands)[lane()] = &c;
    if (runner_.arrive(thread_, {Collective::kMma, kArguments, site})) {
      runner_.counted().mma_m8n8k4 += kSteps;
      warp_mma_m8n8k4(runner_.profile(), kA, kB, std::span(operands.a).first(kSteps),
                      std::span(operands.b).first(kSteps), accumulators<kAccumulator>(operands));
    }
    runner_.proceed(thread_);
  }

  float fma(float a, float b, float c) const { return std::fma(a, b, c); }
  float exp2(float x) const {
    ++runner_.lane_calls().mufu;
    return rounded_exp2(x);
  }
  float log2(float x) const {
    ++runner_.lane_calls().mufu;
    return rounded_log2(x);
  }
  float reciprocal(float x) const {
    ++runner_.lane_calls().mufu;
    return 1.0f / x;
  }
  std::uint32_t pack_halves(float low, float high) const {
    runner_.lane_calls().half_conversions += 2;
    return to_half(low).bits | static_cast<std::uint32_t>(to_half(high).bits) << 16;
  }
  float low_half(std::uint32_t pair) const {
    return to_float(Half{static_cast<std::uint16_t>(pair)});
  }
  float high_half(std::uint32_t pair) const {
    return to_float(Half{static_cast<std::uint16_t>(pair >> 16)});
  }

 private:
  template <class T>
  MemoryAccess access(AccessKind kind, const void* address, const CallSite& site) const {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16,
                  "one instruction moves 4, 8 or 16 bytes");
    return {kind, sizeof(T), address, thread_, site};
  }

  template <Accumulator kAccumulator>
  static AccumulatorFragment<kAccumulator>* (&accumulators(MmaOperands& operands))[kWarpLanes] {
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
