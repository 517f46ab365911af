// What a kernel may ask of the hardware. A kernel body is a function template over a Machine and
// asks it for everything that is not plain arithmetic; two types answer: GpuMachine (gpu.cuh), one
// intrinsic or PTX instruction a function, and EmulatedMachine (emulated/machine.h), every thread
// a fiber of the host. Both have these members; T is 4, 8 or 16 bytes and trivially copyable,
// pointers are aligned to sizeof(T).
//
//   int thread() const, lane() const, warp() const    thread in block, lane in warp, warp in block
//   int block(int axis) const                         blockIdx, axis 0..2; read anew by each call
//   void recompute_indices()                          changes nothing, but what derives from
//                                                     thread(), lane() and warp() is computed anew
//                                                     from here on, not kept in registers
//                                                     around a loop
//   void recompute_indices(int multiple_of_32)        the same where a number of which 32 is a
//                                                     divisor differs from pass to pass: not even
//                                                     the assembler can then move what derives from
//                                                     these, or from block(), out of the loop
//   T    opaque(T)                                    the same pointer or 4-byte integer, but the
//                                                     compiler no longer knows what it was computed
//                                                     from, and computes nothing from it beforehand
//   Tiles& shared<Tiles>()                            the block's shared memory as a Tiles
//
//   T    load_global<T>(const void*)                  LDG
//   Bits128 load_opaque_global(const void*)           LDG where the compiler cannot tell, after
//                                                     opaque(), global memory from any other
//   void store_global<T>(void*, T)                    STG
//   T    load_shared<T>(const void*)                  LDS
//   void store_shared<T>(void*, T)                    STS
//   void add_global(float*, float)                    RED.ADD.F32, relaxed, device scope
//
// Collectives. Every thread of the block or team (barriers) or of the warp (the others) makes the
// same call.
//   void barrier()                                    bar.sync 0; orders shared memory; all warps
//                                                     come from one place in the code
//   void barrier_of_warps()                           barrier.sync 0: that, for warps that may come
//                                                     from different places
//   void team_barrier<int kWarps>()                   barrier() of a team: the warps whose
//                                                     warp() / kWarps is this one's; 15 teams
//   void sync_warp()                                  bar.warp.sync; orders it within a warp
//   std::uint32_t ballot(bool)                        vote.sync.ballot: bit n is lane n's
//   T    shuffle_xor(T value, int lane_mask)          shfl.sync.bfly; T is 4 bytes
//   float shuffle_among<int kLaneBits>(float, index)  shfl.sync.idx; that of the lane which has the
//                                                     bits kLaneBits of `index` and the others of
//                                                     this lane
//   void mma_m8n8k4<Major kA, Major kB>(c, a, b)      c += sum over n of a[n] b[n], n ascending:
//            AccumulatorFragment<...>& c;             kSteps instructions on one accumulator
//            const OperandFragment (&a)[kSteps], (&b)[kSteps];
//   void mma_m8n8k4_outer<Major kA, Major kB, Operand kHeld>(c, a, b)
//            c[x][y] += sum over n of a[n][x] b[n][y], a step after the other, and in a step, with
//            each fragment of the held operand, all of the other's: no instruction waits for the
//            one before it, and the lanes of an emulated warp meet once for all of them
//            AccumulatorFragment<...>* const (&c)[kM];
//            const OperandFragment (&a)[kSteps][kM], (&b)[kSteps][kN];
//
// Arithmetic as the hardware rounds it. Contraction is off: a fused multiply-add is written fma.
//   float fma(float a, float b, float c)              FFMA, one rounding
//   float exp2(float x)                               ex2.approx.ftz.f32 (MUFU.EX2)
//   float log2(float x)                               lg2.approx.ftz.f32 (MUFU.LG2)
//   float reciprocal(float x)                         1 / x, correctly rounded
//   std::uint32_t pack_halves(float low, float high)  two cvt.rn.f16.f32
//   std::uint32_t upper_halves(low, high)             bits 16..31 of two words as a pair (PRMT)
//   float low_half(std::uint32_t), high_half(...)     exact widening
#pragma once

#include <cstdint>

namespace sparkbench {

/// 8 and 16 bytes that move with one vector instruction.
struct alignas(8) Bits64 {
  std::uint32_t word[2];
};
struct alignas(16) Bits128 {
  std::uint32_t word[4];
};

}  // namespace sparkbench
