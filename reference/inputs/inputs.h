// Inputs drawn from a counter-based generator: an element is a pure function of (seed, tensor,
// batch, position, head, channel), so any slice of any problem is generated alone, and a problem
// with more heads or longer sequences begins with the elements of the smaller one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/attention.h"
#include "kernels/half.h"
#include "reference/tensors/forward_rows.h"

namespace sparkbench {

enum class Distribution {
  kNormal,    // mean 0, standard deviation 1
  kUniform,   // [-1, 1), before the rounding to fp16
  kOutliers,  // normal, one channel of every 32 scaled by kOutlierScale: the same channel for every
              // token of a head, as in the keys and values of language models
};

/// Activations of large language models hold channels "up to 20x" the others (Dettmers et al.,
/// "LLM.int8()", 2022).
inline constexpr float kOutlierScale = 20.0f;

enum class InputTensor : std::uint32_t { kQ, kK, kV, kDO };

/// Names one random tensor of unbounded extent.
struct InputStream {
  Distribution distribution = Distribution::kNormal;
  std::uint64_t seed = 0;
  InputTensor tensor = InputTensor::kQ;
  float scale = 1.0f;  // of every element, before the rounding to fp16, which may make it infinite
};

/// The tensor [batch, seqlen, heads, head_dim], generated on all cores; of packed sequences
/// [total, heads, head_dim], with the elements of the same positions.
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
                        float scale = 1.0f);

/// d_o of a problem, of the same seed as its q, k and v. Gradients are linear in it: it has no
/// scale.
std::vector<Half> make_gradient_input(const Problem& problem, Distribution distribution,
                                      std::uint64_t seed);

/// Whether none is an infinity or a NaN.
bool all_finite(std::span<const Half> tensor);

}  // namespace sparkbench
