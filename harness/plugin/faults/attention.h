// Attention as the host and a GPU's thread compute it, one row at a time, with a fault (faults.h)
// or none. Written to be checked by eye: no tile is shared, no score is kept.
#pragma once

#include <cmath>
#include <cstdint>

#include "harness/plugin/faults/faults.h"
#include "harness/plugin/sparkbench_kernel.h"
#include "kernels/base/half.h"
#include "kernels/base/host_device.h"
#include "kernels/problem/dropout.h"
#ifdef __CUDACC__
#include <cuda_fp16.h>
#endif

namespace sparkbench::faults {

constexpr int kTile = 16;
constexpr int kMostHeadDim = 256;

/// An element of type `dtype`, as its 16 bits.
SPARK_HD float from_bits(std::int32_t dtype, std::uint16_t bits) {
  if (dtype == SPARKBENCH_BF16) return float_from_bits(std::uint32_t{bits} << 16);
#ifdef __CUDA_ARCH__
  return __half2float(__ushort_as_half(bits));
#else
  return to_float(Half{bits});
#endif
}
/// To nearest, ties to even.
SPARK_HD std::uint16_t to_bits(std::int32_t dtype, float value) {
  if (dtype == SPARKBENCH_BF16) {
    const std::uint32_t bits = float_bits(value), odd = (bits >> 16) & 1u;
    return static_cast<std::uint16_t>(value == value ? (bits + 0x7fffu + odd) >> 16 : 0x7fffu);
  }
#ifdef __CUDA_ARCH__
  return __half_as_ushort(__float2half_rn(value));
#else
  return to_half(value).bits;
#endif
}

/// One call of a pass.
struct Call {
  sparkbench_problem problem;
  sparkbench_tensors tensors;
  Fault fault;
  const float* workspace;  // one float
  void* kept;              // what a cheat keeps from call to call
  int number;              // of the calls for this problem, from 1
  Dropout dropout;

  SPARK_HD bool has(Fault which) const { return fault == which; }
  SPARK_HD int group() const { return problem.heads / problem.heads_k; }
  SPARK_HD int tiles() const { return (problem.seqlen_k + kTile - 1) / kTile; }
  SPARK_HD int padding() const { return tiles() * kTile - problem.seqlen_k; }

  SPARK_HD float element(std::uint16_t bits) const { return from_bits(problem.dtype, bits); }
  SPARK_HD std::uint16_t bits_of(float value) const { return to_bits(problem.dtype, value); }
  SPARK_HD float rounded(float value) const { return element(bits_of(value)); }
  /// Towards zero.
  SPARK_HD std::uint16_t truncated_bits(float value) const {
    const std::uint16_t bits = bits_of(value);
    const bool is_up = fabsf(element(bits)) > fabsf(value);
    return is_up && (bits & 0x7fffu) != 0 ? static_cast<std::uint16_t>(bits - 1) : bits;
  }
};

struct Row {
  int batch, head, index;
};

SPARK_HD int key_head(const Call& call, int head) {
  if (call.has(Fault::kHeadModulo)) return head % call.problem.heads_k;
  if (call.has(Fault::kHeadZero)) return 0;
  const int right = head / call.group();
  const bool is_last = head % call.group() == call.group() - 1;
  if (call.has(Fault::kHeadOff) && is_last) return (right + 1) % call.problem.heads_k;
  return right;
}

template <class Tensor>
SPARK_HD std::int64_t offset_of(const Tensor& t, int b, int s, int h) {
  return b * t.batch_stride + s * t.seqlen_stride + h * t.head_stride;
}
template <class Tensor>
SPARK_HD float at(const Call& call, const Tensor& t, int b, int s, int h, int d) {
  return call.element(static_cast<const std::uint16_t*>(t.data)[offset_of(t, b, s, h) + d]);
}
SPARK_HD std::uint16_t& bits_at(const sparkbench_output& t, int b, int s, int h, int d) {
  return static_cast<std::uint16_t*>(t.data)[offset_of(t, b, s, h) + d];
}

/// The tensor with the strides of a contiguous [batch, rows, heads, head_dim].
template <class Tensor>
SPARK_HD Tensor contiguous(Tensor t, int rows, int heads, int head_dim) {
  t.head_stride = head_dim;
  t.seqlen_stride = std::int64_t{heads} * head_dim;
  t.batch_stride = rows * t.seqlen_stride;
  return t;
}
/// The tensor with the strides of another one.
template <class Tensor>
SPARK_HD Tensor strided_as(const Tensor& other, Tensor t) {
  t.batch_stride = other.batch_stride;
  t.seqlen_stride = other.seqlen_stride;
  t.head_stride = other.head_stride;
  return t;
}
SPARK_HD sparkbench_output contiguous_queries(const Call& call, const sparkbench_output& t) {
  return contiguous(t, call.problem.seqlen_q, call.problem.heads, call.problem.head_dim);
}

SPARK_HD float key_at(const Call& call, const Row& row, int k, int d) {
  const int b = call.has(Fault::kBatchZero) ? 0 : row.batch, h = key_head(call, row.head);
  if (call.has(Fault::kKStride)) {
    const std::int64_t begin =
        std::int64_t{b} * call.problem.seqlen_q * call.tensors.k.seqlen_stride;
    const std::int64_t end =
        std::int64_t{call.problem.batch} * call.problem.seqlen_k * call.tensors.k.seqlen_stride;
    const std::int64_t index = begin + offset_of(call.tensors.k, 0, k, h) + d;
    return call.element(static_cast<const std::uint16_t*>(call.tensors.k.data)[index % end]);
  }
  if (call.has(Fault::kKContiguous)) {
    const sparkbench_problem& of = call.problem;
    return at(call, contiguous(call.tensors.k, of.seqlen_k, of.heads_k, of.head_dim), b, k, h, d);
  }
  return at(call, call.tensors.k, b, k, h, d);
}
SPARK_HD float value_at(const Call& call, const Row& row, int k, int d) {
  if (call.has(Fault::kVIsK)) return key_at(call, row, k, d);
  const int b = call.has(Fault::kBatchZero) ? 0 : row.batch;
  sparkbench_input v = call.tensors.v;
  if (call.has(Fault::kVStridesOfK)) v = strided_as(call.tensors.k, v);
  return at(call, v, b, k, key_head(call, row.head), d);
}

SPARK_HD bool sees_bounds(const Call& call, const Row& row, int k) {
  const sparkbench_problem& of = call.problem;
  const int p = call.has(Fault::kTopLeft) ? row.index : row.index + of.seqlen_k - of.seqlen_q;
  if (of.mask_kind == SPARKBENCH_MASK_PREFIX) {
    return k <= p || (k < of.mask_prefix && !call.has(Fault::kPrefixIgnored));
  }
  int left = of.mask_left, right = of.mask_right;
  if (right == 0 && call.has(Fault::kSeesOneMore)) right = 1;
  if (left > 0 && call.has(Fault::kWindowOneMore)) left += 1;
  if (left > 0 && call.has(Fault::kWindowOneLess)) left -= 1;
  if (call.has(Fault::kLeftIgnored)) left = -1;
  if (right > 0 && call.has(Fault::kRightIgnored)) right = -1;
  if (right == 0 && call.has(Fault::kSeesOneLess) && k == p) return false;
  if (call.has(Fault::kMaskByTile)) {
    const int tile = k / kTile * kTile;
    return (left < 0 || tile + kTile > p - left) && (right < 0 || tile <= p + right);
  }
  return (left < 0 || k >= p - left) && (right < 0 || k <= p + right);
}

SPARK_HD bool sees(const Call& call, const Row& row, int k) {
  const sparkbench_problem& of = call.problem;
  if (call.has(Fault::kFirstKeys) && k >= 64) return false;
  if (call.has(Fault::kLastKeyMissed) && of.seqlen_k % kTile != 0 && k == of.seqlen_k - 1) {
    return false;
  }
  if (of.mask_kind == SPARKBENCH_MASK_FULL || call.has(Fault::kMaskIgnored)) return true;
  if (call.has(Fault::kLastTileUnmasked) && k / kTile == call.tiles() - 1) return true;
#ifndef __CUDA_ARCH__
  if (of.mask_kind == SPARKBENCH_MASK_PATTERN) {
    const int head = call.has(Fault::kHeadZeroMask) ? 0 : row.head;
    return of.sees(of.mask_context, row.batch, head, row.index, k) != 0;
  }
#endif
  return sees_bounds(call, row, k);
}

SPARK_HD float scale_of(const Call& call) {
  const sparkbench_problem& of = call.problem;
  const auto dim = static_cast<float>(of.head_dim);
  if (call.has(Fault::kNoScale)) return 1.0f;
  if (call.has(Fault::kScaleByDim)) return 1.0f / dim;
  if (call.has(Fault::kScaleTwice)) return of.softmax_scale * of.softmax_scale;
  if (call.has(Fault::kScalePadded)) {
    const int padded = (of.head_dim + 63) / 64 * 64;
    return 1.0f / sqrtf(static_cast<float>(padded));
  }
  return of.softmax_scale;
}

SPARK_HD float score(const Call& call, const Row& row, int k) {
  const int dims = call.problem.head_dim - (call.has(Fault::kLastDimMissed) ? 8 : 0);
  const float scale = scale_of(call);
  float sum = 0.0f;
  for (int d = 0; d < dims; ++d) {
    float q = at(call, call.tensors.q, row.batch, row.index, row.head, d);
    if (call.has(Fault::kScaleInQ)) q = call.rounded(q * scale);
    sum += q * key_at(call, row, k, d);
    if (call.has(Fault::kFp16Scores)) sum = call.rounded(sum);
  }
  if (!call.has(Fault::kScaleInQ)) sum *= scale;
  if (!sees(call, row, k)) return call.has(Fault::kNegativeMask) ? sum - 10.0f : -INFINITY;
  return sum;
}

/// What P's element is multiplied by.
SPARK_HD float kept(const Call& call, const Row& row, int k) {
  if (call.dropout.threshold == 0 || call.has(Fault::kDropoutIgnored)) return 1.0f;
  const int head = call.has(Fault::kDropoutOneHead) ? 0 : row.head;
  auto i = static_cast<std::uint32_t>(row.index), j = static_cast<std::uint32_t>(k);
  if (call.has(Fault::kDropoutTransposed)) {
    const std::uint32_t swap = i;
    i = j;
    j = swap;
  }
  const auto of_head = static_cast<std::uint32_t>(row.batch * call.problem.heads + head);
  bool keeps = dropout_keeps(call.dropout, of_head, i, j);
  if (call.has(Fault::kDropoutInverted)) keeps = !keeps;
  if (!keeps) return 0.0f;
  return call.has(Fault::kDropoutUnscaled) ? 1.0f : call.dropout.keep_scale;
}

SPARK_HD float exponential(const Call& call, float x) {
  return call.has(Fault::kExpBase2) ? exp2f(x) : expf(x);
}

/// The operand of the product with V for p = exp(score - max).
SPARK_HD float stored_p(const Call& call, float p) {
  if (call.has(Fault::kSmallSkipped) && p < 1.0f / 64) return 0.0f;
  if (call.has(Fault::kCoarseP) && p > 0.0f) {
    int exponent = 0;
    const float fraction = frexpf(p, &exponent);
    return ldexpf(rintf(fraction * 16.0f) / 16.0f, exponent);
  }
  const bool is_half = call.has(Fault::kHalfP) || call.has(Fault::kHalfPSummed);
  return is_half ? call.rounded(p) : p;
}

/// The state of an online softmax.
struct Online {
  float max = -INFINITY, sum = 0.0f;
  float o[kMostHeadDim];
};

/// Scores from here on are compared with this maximum.
SPARK_HD float next_max(const Call& call, const Online& row, float largest, bool is_first) {
  if (call.has(Fault::kNoMax)) return 0.0f;
  if (call.has(Fault::kFirstTileMax) && !is_first) return row.max;
  if (call.has(Fault::kLazyMax) && row.max != -INFINITY && largest < row.max + 8.0f) return row.max;
  return fmaxf(row.max, largest);
}

SPARK_HD void visit_tile(const Call& call, const Row& row, int first, bool is_first,
                         Online& state) {
  float s[kTile], largest = -INFINITY;
  for (int i = 0; i < kTile; ++i) {
    const int k = first + i;
    const float behind = call.has(Fault::kPaddingCounted) ? 0.0f : -INFINITY;
    s[i] = k < call.problem.seqlen_k ? score(call, row, k) : behind;
    largest = fmaxf(largest, s[i]);
  }
  const float max = next_max(call, state, largest, is_first);
  if (max == -INFINITY) return;
  const float rescale = state.max == -INFINITY ? 1.0f : exponential(call, state.max - max);
  if (!call.has(Fault::kSumNotRescaled)) state.sum *= rescale;
  for (int d = 0; d < call.problem.head_dim && !call.has(Fault::kOutputNotRescaled); ++d) {
    state.o[d] *= rescale;
  }
  state.max = max;
  for (int i = 0; i < kTile; ++i) {
    if (s[i] == -INFINITY) continue;
    const int k = first + i < call.problem.seqlen_k ? first + i : 0;
    const float p = exponential(call, s[i] - max), stored = stored_p(call, p);
    const float keep = kept(call, row, k);
    const bool counts = !(call.has(Fault::kDropoutInSum) && keep == 0.0f);
    if (counts) state.sum += call.has(Fault::kHalfPSummed) ? stored : p;
    if (first + i >= call.problem.seqlen_k) continue;  // V past the end is 0
    for (int d = 0; d < call.problem.head_dim; ++d) {
      state.o[d] += stored * keep * value_at(call, row, k, d);
      if (call.has(Fault::kFp16Sum)) state.o[d] = call.rounded(state.o[d]);
    }
  }
}

SPARK_HD void start(Online& state) {
  state.max = -INFINITY;
  state.sum = 0.0f;
  for (float& o : state.o) o = 0.0f;
}

/// Tiles [begin, end) of the keys.
SPARK_HD void visit_tiles(const Call& call, const Row& row, int begin, int end, Online& state) {
  start(state);
  for (int i = 0; i < end - begin; ++i) {
    const int tile = call.has(Fault::kReverse) ? end - 1 - i : begin + i;
    visit_tile(call, row, tile * kTile, i == 0, state);
  }
}

SPARK_HD void combine(const Call& call, Online& state, const Online& other) {
  if (other.max == -INFINITY) return;
  const float max = fmaxf(state.max, other.max);
  const float mine = state.max == -INFINITY ? 0.0f : exponential(call, state.max - max);
  const float its = exponential(call, other.max - max);
  state.sum = state.sum * mine + other.sum * its;
  for (int d = 0; d < call.problem.head_dim; ++d) {
    state.o[d] = state.o[d] * mine + other.o[d] * its;
  }
  state.max = max;
}

/// Index of a row's LSE.
SPARK_HD std::int64_t lse_index(const Call& call, const Row& row) {
  const sparkbench_problem& of = call.problem;
  if (call.has(Fault::kLseTransposed)) {
    return (std::int64_t{row.batch} * of.seqlen_q + row.index) * of.heads + row.head;
  }
  return (std::int64_t{row.batch} * of.heads + row.head) * of.seqlen_q + row.index;
}

SPARK_HD float lse_of(const Call& call, const Online& state) {
  if (call.has(Fault::kEmptyRowLse) && state.sum == 0.0f) return 0.0f;
  if (call.has(Fault::kLseNoMax)) return logf(state.sum);
  if (call.has(Fault::kLseNoLog)) return state.max + state.sum;
  if (call.has(Fault::kLseIsMax)) return state.max;
  if (state.sum == 0.0f) return -INFINITY;
  const float lse = state.max + logf(state.sum);
  return call.has(Fault::kLseBase2) ? lse * 1.4426950408889634f : lse;
}

SPARK_HD void store_output(const Call& call, const Row& row, int d, float value) {
  const sparkbench_problem& of = call.problem;
  const std::uint16_t bits =
      call.has(Fault::kTruncated) ? call.truncated_bits(value) : call.bits_of(value);
  if (call.has(Fault::kOTransposed)) {
    const std::int64_t index =
        ((std::int64_t{row.batch} * of.heads + row.head) * of.seqlen_q + row.index) * of.head_dim;
    static_cast<std::uint16_t*>(call.tensors.o.data)[index + d] = bits;
    return;
  }
  const sparkbench_output& o = call.tensors.o;
  bits_at(call.has(Fault::kOContiguous) ? contiguous_queries(call, o) : o, row.batch, row.index,
          row.head, d) = bits;
}

SPARK_HD bool is_left_out(const Call& call, const Row& row) {
  const bool is_last = row.index == call.problem.seqlen_q - 1;
  if (call.has(Fault::kLastRowMissed)) return is_last && call.problem.seqlen_q % kTile != 0;
  return call.has(Fault::kThirdCall) && is_last && call.number % 3 == 0;
}

SPARK_HD void mean_of_values(const Call& call, const Row& row, Online& state) {
  for (int k = 0; k < call.problem.seqlen_k; ++k) {
    for (int d = 0; d < call.problem.head_dim; ++d) state.o[d] += value_at(call, row, k, d);
  }
  state.sum = static_cast<float>(call.problem.seqlen_k);
}

/// O and LSE of a row.
SPARK_HD void forward_row(const Call& call, const Row& row) {
  if (is_left_out(call, row)) return;
  Online state;
  if (call.has(Fault::kTwoHalves)) {
    Online other;
    visit_tiles(call, row, 0, call.tiles() / 2, state);
    visit_tiles(call, row, call.tiles() / 2, call.tiles(), other);
    combine(call, state, other);
  } else {
    visit_tiles(call, row, 0, call.tiles(), state);
  }
  const bool is_empty = state.sum == 0.0f && state.max == -INFINITY;
  call.tensors.lse[lse_index(call, row)] = lse_of(call, state);
  if (is_empty && call.has(Fault::kEmptyRowMean)) mean_of_values(call, row, state);
  const bool divides = !call.has(Fault::kNotDivided);
  for (int d = 0; d < call.problem.head_dim; ++d) {
    float o = state.o[d];
    if (call.has(Fault::kReadsWorkspace)) o += *call.workspace;
    const bool is_zero = is_empty && !call.has(Fault::kEmptyRowNan) && state.sum == 0.0f;
    store_output(call, row, d, is_zero ? o : (divides ? o / state.sum : o));
  }
}

/// P of the backward pass, before dropout.
SPARK_HD float backward_p(const Call& call, const Row& row, int k) {
  const float lse = call.tensors.lse[lse_index(call, row)];
  if (lse == -INFINITY) return 0.0f;
  float s = 0.0f;
  if (call.has(Fault::kBackwardUnmasked)) {
    Call full = call;
    full.problem.mask_kind = SPARKBENCH_MASK_FULL;
    s = score(full, row, k);
  } else {
    s = score(call, row, k);
  }
  if (call.has(Fault::kScaleInBackward))
    s *= 1.0f / sqrtf(static_cast<float>(call.problem.head_dim));
  const float base = call.has(Fault::kPNotNormalised) ? floorf(lse) : lse;
  return exponential(call, s - base);
}

/// The row sum of dO O.
SPARK_HD float delta_of(const Call& call, const Row& row) {
  const int head = call.has(Fault::kDeltaOfHead) ? 0 : row.head;
  float delta = 0.0f;
  for (int d = 0; d < call.problem.head_dim; ++d) {
    delta += at(call, call.tensors.o, row.batch, row.index, head, d) *
             at(call, call.tensors.d_o, row.batch, row.index, head, d);
  }
  return call.has(Fault::kNoDelta) ? 0.0f : delta;
}

/// An element of dS, and of P after dropout.
struct Pair {
  float ds, p;
};
SPARK_HD Pair backward_pair(const Call& call, const Row& row, int k, float delta) {
  const float p = backward_p(call, row, k);
  if (p == 0.0f) return {0.0f, 0.0f};
  const float keep = call.has(Fault::kDropoutNotBackward) ? 1.0f : kept(call, row, k);
  float dp = 0.0f;
  for (int d = 0; d < call.problem.head_dim; ++d) {
    dp += at(call, call.tensors.d_o, row.batch, row.index, row.head, d) * value_at(call, row, k, d);
  }
  if (!call.has(Fault::kDropoutDvOnly)) dp *= keep;
  return {p * (dp - delta), p * keep};
}

/// dQ of a row.
SPARK_HD void dq_row(const Call& call, const Row& row) {
  float dq[kMostHeadDim];
  for (float& each : dq) each = 0.0f;
  const float delta = delta_of(call, row);
  for (int k = 0; k < call.problem.seqlen_k; ++k) {
    const float ds = backward_pair(call, row, k, delta).ds;
    if (ds == 0.0f) continue;
    for (int d = 0; d < call.problem.head_dim; ++d) dq[d] += ds * key_at(call, row, k, d);
  }
  float scale = call.has(Fault::kDqUnscaled) ? 1.0f : scale_of(call);
  if (call.has(Fault::kDqSign)) scale = -scale;
  if (call.has(Fault::kNondeterministic)) {
    scale *= 1.0f + 1e-3f * static_cast<float>(call.number % 4);
  }
  sparkbench_output to_dq = call.tensors.dq;
  if (call.has(Fault::kDqContiguous)) to_dq = contiguous_queries(call, to_dq);
  for (int d = 0; d < call.problem.head_dim; ++d) {
    std::uint16_t& to = bits_at(to_dq, row.batch, row.index, row.head, d);
    to = call.bits_of(scale * dq[d] + (call.has(Fault::kDqAdds) ? call.element(to) : 0.0f));
  }
}

/// dK and dV of a key; `row.head` is the key head.
SPARK_HD void dk_dv_row(const Call& call, const Row& row) {
  float dk[kMostHeadDim], dv[kMostHeadDim];
  for (float& each : dk) each = 0.0f;
  for (float& each : dv) each = 0.0f;
  for (int head = 0; head < call.problem.heads; ++head) {
    if (key_head(call, head) != row.head) continue;
    const bool is_last = head % call.group() == call.group() - 1;
    const bool adds_dk = is_last || !call.has(Fault::kDkLastHead);
    const bool adds_dv = is_last || !call.has(Fault::kDvLastHead);
    for (int q = 0; q < call.problem.seqlen_q; ++q) {
      const Row of = {row.batch, head, q};
      const Pair pair = backward_pair(call, of, row.index, delta_of(call, of));
      const bool is_far = call.has(Fault::kDkPartial) && q >= 64;
      for (int d = 0; d < call.problem.head_dim; ++d) {
        const float query = at(call, call.tensors.q, row.batch, q, head, d);
        const float d_o = call.has(Fault::kDvOfO)
                              ? at(call, call.tensors.o, row.batch, q, head, d)
                              : at(call, call.tensors.d_o, row.batch, q, head, d);
        if (adds_dk && !is_far) dk[d] += pair.ds * query;
        if (adds_dv) dv[d] += pair.p * d_o;
      }
    }
  }
  const float scale = call.has(Fault::kDkUnscaled) ? 1.0f : scale_of(call);
  const bool swaps = call.has(Fault::kDkDvSwapped);
  const sparkbench_output& to_dk = swaps ? call.tensors.dv : call.tensors.dk;
  sparkbench_output to_dv = swaps ? call.tensors.dk : call.tensors.dv;
  if (call.has(Fault::kDvStridesOfDk)) to_dv = strided_as(to_dk, to_dv);
  for (int d = 0; d < call.problem.head_dim; ++d) {
    bits_at(to_dk, row.batch, row.index, row.head, d) = call.bits_of(scale * dk[d]);
    bits_at(to_dv, row.batch, row.index, row.head, d) = call.bits_of(dv[d]);
  }
}

/// What else a pass does: once a call, after the rows.
SPARK_HD void finish(const Call& call) {
  const sparkbench_problem& of = call.problem;
  const std::int64_t elements = std::int64_t{of.batch} * of.seqlen_q * of.heads * of.head_dim;
  auto* o = static_cast<std::uint16_t*>(call.tensors.o.data);
  if (call.has(Fault::kWritesBehind)) o[elements] = 0;
  if (call.has(Fault::kWritesInput)) {
    const_cast<std::uint16_t*>(static_cast<const std::uint16_t*>(call.tensors.k.data))[0] ^= 1u;
  }
}

}  // namespace sparkbench::faults
