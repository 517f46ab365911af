// EmulatedMachine: the instructions of kernel bodies (kernels/machine/machine.h) on the host, for
// one thread of a block. The last, defaulted parameter of each function is the statement that
// called it, which findings and counters name.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/base/half.h"
#include "kernels/machine/emulated/blocks/block_runner.h"
#include "kernels/machine/emulated/codegen.h"
#include "kernels/machine/emulated/mma/m16n8k16.h"
#include "kernels/machine/emulated/mma/m8n8k4.h"
#include "kernels/machine/emulated/mma/wgmma.h"
#include "kernels/machine/emulated/report/call_site.h"
#include "kernels/machine/emulated/special_functions/exp2_approx.h"
#include "kernels/machine/emulated/special_functions/log2_approx.h"
#include "kernels/machine/emulated/special_functions/reciprocal.h"
#include "kernels/machine/emulated/tensor_core/rows_mma.h"
#include "kernels/machine/machine.h"

namespace sparkbench {

class EmulatedMachine : public EmulatedCodegen {
 public:
  using EmulatedCodegen::EmulatedCodegen;

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
    runner_.memory().add_global(access<float>(AccessKind::kAddGlobal, address, site), {&value, 1});
  }
  void add_global(float* address, const float (&values)[4], CallSite site = CallSite::current()) {
    runner_.memory().add_global(access<Bits128>(AccessKind::kAddGlobal, address, site), values);
  }

  int look_for_turn(const std::uint32_t* word, std::uint32_t turn,
                    CallSite site = CallSite::current()) {
    const auto look = access<std::uint32_t>(AccessKind::kLoadGlobal, word, site);
    runner_.memory().look_for_turn(look);
    auto& exchange = runner_.exchange();
    if (runner_.arrive(thread_, {Collective::kLookForTurn, turn_argument(word, turn), site})) {
      exchange[0] = static_cast<std::uint32_t>(runner_.look_for_turn(look, turn));
    }
    runner_.proceed(thread_);
    return static_cast<int>(exchange[0]);
  }
  void await_turn(const std::uint32_t* word, std::uint32_t turn, bool waits,
                  CallSite site = CallSite::current()) {
    if (!waits) return;
    const auto look = access<std::uint32_t>(AccessKind::kLoadGlobal, word, site);
    runner_.memory().look_for_turn(look);
    if (runner_.arrive(thread_, {Collective::kAwaitTurn, turn_argument(word, turn), site})) {
      runner_.await_turn(look, turn);
    }
    runner_.proceed(thread_);
  }
  void pass_turn(std::uint32_t* word, std::uint32_t turn, bool passes,
                 CallSite site = CallSite::current()) {
    if (!passes) return;
    runner_.memory().pass_turn(access<std::uint32_t>(AccessKind::kStoreGlobal, word, site), turn);
  }

  void publish(void* word, const Bits64& value, CallSite site = CallSite::current()) {
    runner_.memory().publish(access<Bits64>(AccessKind::kStoreGlobal, word, site), value);
  }
  Bits128 look_for_published(const void* words, CallSite site = CallSite::current()) {
    return runner_.memory().look_for_published(
        access<Bits128>(AccessKind::kLoadGlobal, words, site));
  }
  void await_published(const void* words, bool waits, CallSite site = CallSite::current()) {
    if (waits) runner_.await_published(access<Bits128>(AccessKind::kLoadGlobal, words, site));
  }
  void acquire_published() { runner_.memory().acquire_published(thread_); }
  template <class T>
  T load_published(const void* words, CallSite site = CallSite::current()) {
    return runner_.memory().load_published<T>(access<T>(AccessKind::kLoadGlobal, words, site));
  }

  void copy_async(void* shared, const void* global, bool exists,
                  CallSite site = CallSite::current()) {
    runner_.memory().copy_async(access<Bits128>(AccessKind::kCopyToShared, shared, site),
                                access<Bits128>(AccessKind::kLoadGlobal, global, site), exists);
  }
  void commit_copies() { runner_.memory().commit_copies(thread_); }
  template <int kPending>
  void wait_for_copies() {
    runner_.memory().wait_for_copies(thread_, kPending);
  }
  void fence_async_proxy() { runner_.memory().fence_async_proxy(thread_); }

  void barrier(CallSite site = CallSite::current()) { meet({Collective::kBarrier, 0, site}); }
  void barrier_of_warps(CallSite site = CallSite::current()) {
    meet({Collective::kBarrierOfWarps, 0, site});
  }
  template <int kWarps>
  void team_barrier(CallSite site = CallSite::current()) {
    meet({Collective::kTeamBarrier, kWarps, site});
  }
  void arrive_at_barrier(int id, int warps, CallSite site = CallSite::current()) {
    meet({Collective::kArriveAtBarrier, barrier_arguments(id, warps), site});
  }
  void wait_at_barrier(int id, int warps, CallSite site = CallSite::current()) {
    meet({Collective::kWaitAtBarrier, barrier_arguments(id, warps), site});
  }
  void sync_warp(CallSite site = CallSite::current()) { meet({Collective::kSyncWarp, 0, site}); }

  void init_mbarrier(Mbarrier* barrier, int warps, CallSite site = CallSite::current()) {
    if (runner_.arrive(thread_, {Collective::kInitMbarrier, address_of(barrier), site})) {
      runner_.init_mbarrier(first_thread(), barrier, warps, site);
    }
    runner_.proceed(thread_);
  }
  void arrive_at_mbarrier(Mbarrier* barrier, CallSite site = CallSite::current()) {
    if (runner_.arrive(thread_, {Collective::kArriveAtMbarrier, address_of(barrier), site})) {
      runner_.arrive_at_mbarrier(first_thread(), barrier, site);
    }
    runner_.proceed(thread_);
  }
  void expect_bytes(Mbarrier* barrier, int bytes, CallSite site = CallSite::current()) {
    if (runner_.arrive(thread_, {Collective::kExpectBytes, address_of(barrier), site})) {
      runner_.expect_bytes(first_thread(), barrier, bytes, site);
    }
    runner_.proceed(thread_);
  }
  void wait_at_mbarrier(Mbarrier* barrier, int parity, CallSite site = CallSite::current()) {
    meet({Collective::kWaitAtMbarrier, address_of(barrier) | (parity & 1u), site});
  }
  void copy_box_async(void* shared, const TensorMap& map, const BoxPlace& place, Mbarrier* barrier,
                      CallSite site = CallSite::current()) {
    if (runner_.arrive(thread_, {Collective::kCopyBox, address_of(shared), site})) {
      TensorCopy copy{shared, 0, first_thread(), site};
      copy.map = &map;
      copy.place = place;
      runner_.start_copy(copy, barrier);
    }
    runner_.proceed(thread_);
  }
  void copy_bytes_async(void* shared, const void* global, int bytes, Mbarrier* barrier,
                        CallSite site = CallSite::current()) {
    if (runner_.arrive(thread_, {Collective::kCopyBytes, address_of(shared), site})) {
      TensorCopy copy{shared, 0, first_thread(), site};
      copy.global = global;
      copy.bytes = bytes;
      runner_.start_copy(copy, barrier);
    }
    runner_.proceed(thread_);
  }

  /// A lane_mask that names no lane gives the lane its own value, as the hardware does.
  template <class T>
  T shuffle_xor(T value, int lane_mask, CallSite site = CallSite::current()) {
    return shuffle_from(value, lane() ^ lane_mask, site);
  }
  std::uint32_t ballot(bool value, CallSite site = CallSite::current()) {
    auto& exchange = runner_.exchange();
    exchange[static_cast<std::size_t>(lane())] = value ? 1 : 0;
    meet({Collective::kBallot, 0, site});
    std::uint32_t votes = 0;
    for (std::size_t i = 0; i < kWarpLanes; ++i) votes |= exchange[i] << i;
    return votes;
  }
  template <int kLaneBits, class T>
  T shuffle_among(T value, int index, CallSite site = CallSite::current()) {
    return shuffle_from(value, (lane() & ~kLaneBits) | (index & kLaneBits), site);
  }

  std::uint32_t transpose_matrix(std::uint32_t pair, CallSite site = CallSite::current()) {
    auto& exchange = runner_.exchange();
    exchange[static_cast<std::size_t>(lane())] = pair;
    if (runner_.arrive(thread_, {Collective::kShuffle, 0, site})) ++runner_.counted().shuffles;
    runner_.proceed(thread_);
    const int row = lane() / 4, first = 2 * (lane() % 4);  // of the transposed: a column, two rows
    const auto element = [&](int of_row) {
      const int of_lane = 4 * of_row + row / 2;
      return exchange[static_cast<std::size_t>(of_lane)] >> (16 * (row % 2)) & 0xffffu;
    };
    return element(first) | element(first + 1) << 16;
  }

  template <Major kA, Major kB, Operand /*kHeld*/, Accumulator kAccumulator, int kSteps, int kM,
            int kN>
  void mma_m8n8k4_outer(AccumulatorFragment<kAccumulator>* const (&c)[kM],
                        const OperandFragment (&a)[kSteps][kM],
                        const OperandFragment (&b)[kSteps][kN],
                        CallSite site = CallSite::current()) {
    meet_at_m8n8k4<kA, kB>(runner_, thread_, c, a, b, site);
  }
  template <Operand /*kHeld*/, Accumulator kAccumulator, int kSteps, int kM, int kN>
  void mma_m16n8k16_outer(m16n8k16::FragmentC<kAccumulator>* const (&c)[kM],
                          const m16n8k16::FragmentA (&a)[kSteps][kM],
                          const m16n8k16::FragmentB (&b)[kSteps][kN],
                          CallSite site = CallSite::current()) {
    meet_at_m16n8k16(runner_, thread_, c, a, b, site);
  }

  std::uint64_t describe_matrix(const void* shared, int leading_bytes, int stride_bytes) const {
    return wgmma::matrix_descriptor(runner_.memory().shared_address(shared), leading_bytes,
                                    stride_bytes);
  }
  void fence_products(CallSite site = CallSite::current()) {
    meet({Collective::kFenceProducts, 0, site});
  }
  void commit_products(CallSite site = CallSite::current()) {
    if (runner_.arrive(thread_, {Collective::kCommitProducts, 0, site})) runner_.commit_products();
    runner_.proceed(thread_);
  }
  template <int kPending>
  void wait_for_products(CallSite site = CallSite::current()) {
    if (runner_.arrive(thread_, {Collective::kWaitForProducts, kPending, site})) {
      runner_.wait_for_products(kPending);
    }
    runner_.proceed(thread_);
  }
  template <class Element, int kN, Major kMajorB, Major kMajorA = Major::kRow>
  void multiply_async(m16n8k16::FragmentC<Accumulator::kFp32> (&c)[kN / 8], std::uint64_t a,
                      std::uint64_t b, bool accumulate, CallSite site = CallSite::current()) {
    start_product<kN>(
        c, nullptr, {multiply_rows<Element>, kN, kMajorA, kMajorB, false, accumulate, a, b, site});
  }
  template <class Element, int kN, Major kMajorB>
  void multiply_async(m16n8k16::FragmentC<Accumulator::kFp32> (&c)[kN / 8],
                      const m16n8k16::FragmentA& a, std::uint64_t b, bool accumulate,
                      CallSite site = CallSite::current()) {
    start_product<kN>(
        c, &a, {multiply_rows<Element>, kN, Major::kRow, kMajorB, true, accumulate, 0, b, site});
  }

  int lowest_bit(std::uint32_t word) const { return std::countr_zero(word); }
  float fma(float a, float b, float c) const {
    ++runner_.lane_calls().fma;
    return std::fma(a, b, c);
  }
  float max_from_zero(float largest, float a, float b) const {
    const auto of_bits = [](float value) { return static_cast<std::int32_t>(float_bits(value)); };
    return float_from_bits(
        static_cast<std::uint32_t>(std::max({of_bits(largest), of_bits(a), of_bits(b)})));
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
  template <class Element = Half>
  std::uint32_t pack_halves(float low, float high) const {
    runner_.lane_calls().half_conversions += 2;
    return to_element<Element>(low).bits |
           static_cast<std::uint32_t>(to_element<Element>(high).bits) << 16;
  }
  std::uint32_t upper_halves(std::uint32_t low, std::uint32_t high) const {
    return (low >> 16) | (high & 0xffff0000u);
  }
  std::uint32_t permute(std::uint32_t low, std::uint32_t high, std::uint32_t selector) const {
    const std::uint64_t bytes = std::uint64_t{high} << 32 | low;
    std::uint32_t result = 0;
    for (unsigned i = 0; i < 4; ++i) {
      const std::uint32_t nibble = selector >> (4 * i) & 0xfu;
      const auto byte = static_cast<std::uint32_t>(bytes >> (8 * (nibble & 7u)) & 0xffu);
      const std::uint32_t sign = byte >> 7 != 0 ? 0xffu : 0u;
      result |= (nibble < 8 ? byte : sign) << (8 * i);
    }
    return result;
  }
  template <class Element = Half>
  float low_half(std::uint32_t pair) const {
    ++runner_.lane_calls().half_widenings;
    return to_float(Element{static_cast<std::uint16_t>(pair)});
  }
  template <class Element = Half>
  float high_half(std::uint32_t pair) const {
    ++runner_.lane_calls().half_widenings;
    return to_float(Element{static_cast<std::uint16_t>(pair >> 16)});
  }

 private:
  std::uint32_t address_of(const void* shared) const {
    return runner_.memory().shared_address(shared);
  }
  int first_thread() const { return warp() * kWarpLanes; }

  template <int kN>
  void start_product(m16n8k16::FragmentC<Accumulator::kFp32>* c, const m16n8k16::FragmentA* a,
                     const ProductCall& call) {
    static_assert(kN % 8 == 0 && kN >= 8 && kN <= kMaxMmaColumns, "wgmma has these N");
    meet_at_wgmma(runner_, thread_, call, a, c);
  }

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

  static std::uint32_t turn_argument(const std::uint32_t* word, std::uint32_t turn) {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(word)) + turn;
  }

  void meet(const Stop& stop) {
    runner_.arrive(thread_, stop);
    runner_.proceed(thread_);
  }
};

}  // namespace sparkbench
