// Random inputs from a counter-based generator. An element is a pure function of (seed, tensor,
// batch, position, head, channel). So any slice of any problem can be generated separately, and a
// larger problem starts with the elements of the smaller one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/half.h"
#include "kernels/problem/attention.h"
#include "reference/tensors/element_type.h"
#include "reference/tensors/forward_rows.h"

namespace sparkbench {

enum class Distribution {
  kNormal,    // mean 0, standard deviation 1
  kUniform,   // [-1, 1), before rounding
  kOutliers,  // normal, with one channel of every 32 scaled by kOutlierScale: the same channel for
              // every token of a head, as in the keys and values of language models
};

/// Large language models' activations have channels "up to 20x" the others (Dettmers et al.,
/// "LLM.int8()", 2022).
inline constexpr float kOutlierScale = 20.0f;

enum class InputTensor : std::uint32_t { kQ, kK, kV, kDO };

/// Identifies one random tensor of unbounded size.
struct InputStream {
  Distribution distribution = Distribution::kNormal;
  std::uint64_t seed = 0;
  InputTensor tensor = InputTensor::kQ;
  float scale = 1.0f;  // factor of every element before rounding, which may make it infinite
  ElementType element = ElementType::kFp16;  // it is rounded to this type, and then to fp16
};

/// The tensor [batch, seqlen, heads, head_dim], generated on all cores; for varlen [total, heads,
/// head_dim], where each token has the element of its position in its sequence.
std::vector<Half> make_input(const InputStream& stream, const TensorShape& shape);

/// The slice [seqlen, head_dim] of one (batch, head).
std::vector<Half> make_input_head(const InputStream& stream, const TensorShape& shape, int batch,
                                  int head);

/// q, k and v of a problem.
struct OwnedInputs {
  std::vector<Half> q, k, v;

  ForwardInputs view() const { return {q, k, v}; }
};
OwnedInputs make_inputs(const Problem& problem, Distribution distribution, std::uint64_t seed,
                        float scale = 1.0f, ElementType element = ElementType::kFp16);

/// d_o of a problem, from the seed of its q, k and v. It has no scale, because gradients are linear
/// in it.
std::vector<Half> make_gradient_input(const Problem& problem, Distribution distribution,
                                      std::uint64_t seed, ElementType element = ElementType::kFp16);

/// Whether no element is an infinity or a NaN.
bool all_finite(std::span<const Half> tensor);

}  // namespace sparkbench
