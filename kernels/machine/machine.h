// The instructions of kernel bodies. A kernel body is a function template over a Machine and calls
// it for everything that is not plain arithmetic; two types implement it: GpuMachine (gpu.cuh), one
// intrinsic or PTX instruction a function, and EmulatedMachine (emulated/machine.h), every thread
// a fiber of the host. Both have these members; T is 4, 8 or 16 bytes and trivially copyable,
// pointers are aligned to sizeof(T). Hints to the compiler: codegen.h.
//
//   int thread() const, lane() const, warp() const    thread in block, lane in warp, warp in block
//   int block(int axis) const                         blockIdx, axis 0..2; read again by each call
//   Tiles& shared<Tiles>()                            the block's shared memory as a Tiles
//
//   T    load_global<T>(const void*)                  LDG
//   void store_global<T>(void*, T)                    STG
//   T    load_shared<T>(const void*)                  LDS
//   void store_shared<T>(void*, T)                    STS
//   void add_global(float*, float)                    RED.ADD.F32, relaxed, device scope
//   void add_global(float*, const float (&)[4])       four adjacent sums, each as that; the
//                                                     address is aligned to 16; sm_90 on
//
// Global memory that blocks use one after the other, ordered by a word that counts turns: a
// semaphore, as CUTLASS's `Semaphore` of a serial split-K. The word only grows. A block may wait
// for turns that blocks before it pass (counted x fastest): these have started when it does.
//   int look_for_turn(const uint32_t*, turn)          ld.relaxed.gpu by all lanes of a warp: how
//                                                     many turns ago `turn` came; negative: not
//                                                     yet. If it came, the warp may store and add
//                                                     to the turn's memory, after a branch on the
//                                                     result, but not load it: it has not acquired
//   void await_turn(const uint32_t*, turn, waits)     if `waits`, ld.acquire.gpu by all lanes of a
//                                                     warp until the word is at least `turn`: then
//                                                     all earlier turns' writes are visible
//   void pass_turn(uint32_t*, turn, passes)           if `passes`, st.release.gpu, by one thread,
//                                                     after a barrier that follows all that the
//                                                     block does in its turn
//
// Words of 8 bytes that a block publishes, each once, for later blocks. Until then all their bits
// are ones (kUnpublished), which no published value is.
//   void publish(void*, Bits64)                       st.release.gpu
//   Bits128 look_for_published(const void*)           ld.relaxed.gpu of two words, which may not be
//                                                     published yet (is_published())
//   void await_published(const void*, waits)          if `waits`, the same until both are there;
//                                                     only for words of earlier blocks, as turns
//   void acquire_published()                          fence.acq_rel.gpu: after it this thread, and
//                                                     after a barrier the block, may load the words
//                                                     that the thread has seen published
//   T    load_published<T>(const void*)               LDG of one or two words that the block has
//                                                     acquired or published, or that were written
//                                                     before the launch
//
// Asynchronous copies of 16 bytes; sm_80 on. A thread waits for its own copies; other threads see
// them after a barrier that follows.
//   void copy_async(void* shared, const void* global, bool exists)    cp.async.cg; of zeros where
//                                                     none exists: `global` is not read
//   void commit_copies()                              cp.async.commit_group: those since the last
//                                                     commit are a group
//   void wait_for_copies<int kPending>()              cp.async.wait_group: for all groups but the
//                                                     last kPending
//   void fence_async_proxy()                          fence.proxy.async.shared::cta, sm_90a: what
//                                                     this thread wrote to shared memory, or copied
//                                                     and waited for, multiply_async() may read
//                                                     after a barrier
//
// Copies of the tensor memory accelerator, and barriers in shared memory that tell of them; sm_90
// on. All lanes of a warp make the same call, by which one of them acts.
//   void init_mbarrier(Mbarrier*, int warps)          mbarrier.init: `warps` arrive in each phase;
//                                                     others use it after a barrier of the block
//   void arrive_at_mbarrier(Mbarrier*)                mbarrier.arrive of the warp: what its lanes
//                                                     did is ordered before what those do who wait
//   void expect_bytes(Mbarrier*, int bytes)           mbarrier.expect_tx: that the phase waits for
//   void wait_at_mbarrier(Mbarrier*, int parity)      mbarrier.try_wait.parity until the last phase
//                                                     of this parity has ended; before the first
//                                                     phase it is as if one of parity 1 had
//   void copy_box_async(void* shared, const TensorMap&, const BoxPlace&, Mbarrier*)
//                                                     cp.async.bulk.tensor.4d, 64 rows of 64
//                                                     halves, swizzled by 128 bytes, zeros outside
//                                                     the tensor (tensor_copy/tensor_map.h): as
//                                                     multiply_async() reads it, without a fence.
//                                                     `shared` is aligned to 1024 bytes, the map is
//                                                     a kernel's parameter
//   void copy_bytes_async(void* shared, const void* global, int bytes, Mbarrier*)
//                                                     cp.async.bulk: a multiple of 16, aligned to
//                                                     16
//
// Collectives. Every thread of the block or team (barriers) or of the warp (the others) makes the
// same call.
//   void barrier()                                    bar.sync 0; orders shared memory; all warps
//                                                     come from one place in the code
//   void barrier_of_warps()                           barrier.sync 0: that, for warps that may come
//                                                     from different places
//   void team_barrier<int kWarps>()                   barrier() of a team: the warps whose
//                                                     warp() / kWarps is this one's; 15 teams
//   void arrive_at_barrier(int id, int warps)         barrier.arrive, at `id`, 1 to 15: goes on
//   void wait_at_barrier(int id, int warps)           barrier.sync: until `warps` warps have come,
//                                                     from any places; what these did before is
//                                                     ordered before what those that wait do next
//   void sync_warp()                                  bar.warp.sync; orders it within a warp
//   T    shuffle_xor(T value, int lane_mask)          shfl.sync.bfly; T is 4 bytes
//   std::uint32_t ballot(bool)                        vote.sync.ballot: bit i is lane i's
//   T    shuffle_among<int kLaneBits>(T, index)       shfl.sync.idx; that of the lane which has the
//                                                     bits kLaneBits of `index` and the others of
//                                                     this lane; T is float or int
//   std::uint32_t transpose_matrix(std::uint32_t)     movmatrix.sync.aligned.m8n8.trans.b16, sm_75
//                                                     on: lane 4r + c has columns 2c, 2c + 1 of row
//                                                     r of an 8 x 8 matrix, and of the transposed
//   void mma_m8n8k4_outer<Major kA, Major kB, Operand kHeld>(c, a, b)       mma/m8n8k4.h; sm_70 on,
//            AccumulatorFragment<...>* const (&c)[kM];                      from sm_80 on CUDA
//            cores const OperandFragment (&a)[kSteps][kM], (&b)[kSteps][kN];
//   void mma_m16n8k16_outer<Operand kHeld>(c, a, b)                         mma/m16n8k16.h; sm_80
//   on
//            m16n8k16::FragmentC<...>* const (&c)[kM];
//            const m16n8k16::FragmentA (&a)[kSteps][kM];
//            const m16n8k16::FragmentB (&b)[kSteps][kN];
// These two are an outer product of fragments for each k step, steps in ascending order:
//   c[x][y] += a[n][x] b[n][y],  an mma.sync instruction for each n, x and y.
// Within a step kHeld's fragment varies slowest, and no instruction waits for the one before it. An
// emulated warp meets once for all of them. A GPU without the instruction traps; the emulator
// throws std::invalid_argument where the launch's arithmetic profile lacks it.
//
// Products of a warpgroup, four warps from a multiple of four on; mma/wgmma.h, sm_90a only. What
// they read in shared memory must stay, and c be left alone, until they have been waited for.
//   std::uint64_t describe_matrix(const void* shared, int leading_bytes, int stride_bytes)
//                                                     the descriptor of an operand
//   void fence_products()                             wgmma.fence: before the first product, and
//                                                     where registers of c or a were written since
//   void multiply_async<Element, int kN, Major kB, Major kA = Major::kRow>(c, a, b, accumulate)
//            m16n8k16::FragmentC<kFp32> (&c)[kN / 8];                 wgmma.mma_async.m64nNk16:
//            std::uint64_t a, or const m16n8k16::FragmentA& a;        c = a b, or c += a b where it
//            std::uint64_t b;                                         accumulates; A in registers
//            bool accumulate;                                         has no kA
//   void commit_products()                            wgmma.commit_group, as of copies
//   void wait_for_products<int kPending>()            wgmma.wait_group
//
// Arithmetic as the hardware rounds it. Contraction is off: a fused multiply-add is written fma.
//   float fma(float a, float b, float c)              FFMA, one rounding
//   float max_from_zero(float largest, float a, float b)
//                                                     the largest, which is not negative, of three,
//                                                     by their bits as integers: one VIMNMX3 on
//                                                     sm_90. A positive NaN is above all
//   float exp2(float x)                               ex2.approx.ftz.f32 (MUFU.EX2)
//   float log2(float x)                               lg2.approx.ftz.f32 (MUFU.LG2)
//   float reciprocal(float x)                         1 / x, correctly rounded
//   std::uint32_t pack_halves<Element = Half>(float low, float high)
//                                                     two cvt.rn.f16.f32, or to another type
//   std::uint32_t upper_halves(low, high)             bits 16..31 of two words as a pair (PRMT)
//   std::uint32_t permute(low, high, selector)        PRMT: byte i is byte (selector nibble i) % 8
//                                                     of the 8 of both words, or that byte's sign
//                                                     eight times where the nibble is 8 or more
//   float low_half<Element = Half>(std::uint32_t), high_half<Element>(...)
//                                                     exact widening
//   int lowest_bit(std::uint32_t)                     which bit that is set is the lowest, of a
//                                                     word with any
#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"

namespace sparkbench {

/// 8 and 16 bytes that move with one vector instruction.
struct alignas(8) Bits64 {
  std::uint32_t word[2];
};
struct alignas(16) Bits128 {
  std::uint32_t word[4];
};

/// A half of a word that nobody has published.
inline constexpr std::uint32_t kUnpublished = ~std::uint32_t{0};
inline constexpr int kUnpublishedByte = 0xff;  // of memset()

/// Whether both of two words are.
SPARK_HD bool is_published(const Bits128& words) {
  return (words.word[0] & words.word[1]) != kUnpublished &&
         (words.word[2] & words.word[3]) != kUnpublished;
}

}  // namespace sparkbench
