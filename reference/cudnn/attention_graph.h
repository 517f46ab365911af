// Attention as cuDNN's graph interface spells it: the definition of kernels/attention.h, operation
// by operation. cuDNN matches the whole graph and runs one fused kernel for it, so the operations
// and their order are those that NVIDIA's cudnn-frontend builds (node/
// scaled_dot_product_flash_attention.h, MIT license): another spelling of the same mathematics is
// declined or slow.
#pragma once

#include <optional>
#include <string>

#include "kernels/attention.h"
#include "reference/cudnn/graph.h"
#include "reference/tensors/host_tensor.h"

namespace sparkbench::cudnn {

/// The tensors in memory.
enum TensorId : std::int64_t {
  kQ = 1,
  kK,
  kV,
  kO,
  kLse,
  kSeed,    // int64, where values are dropped
  kOffset,  // int64, where values are dropped
  kDO,
  kDq,
  kDk,
  kDv,
  kDelta,      // [batch, heads, seqlen_q], fp32: rowsum(dO * O)
  kDqSum,      // [batch, heads, seqlen_q, head_dim], fp32: unless deterministic
  kDkOfHeads,  // [batch, heads, seqlen_k, head_dim], fp16: where heads share keys, before
  kDvOfHeads   // dK and dV are the sums over those that do
};

/// Why there is no graph of the problem, or nothing when there is one: cuDNN has no head_dim that
/// is no multiple of 8 (its documentation of fused attention), no rows without a visible key, no
/// dropout under a mask of unequal lengths, and no prefix. `library_version` is
/// that of Api::version.
std::optional<std::string> why_no_graph(const Problem& problem, std::size_t library_version);

/// Where the rows of a problem's tensors lie.
struct AttentionStrides {
  RowStrides q, k, v, o, d_o, dq, dk, dv;

  bool operator==(const AttentionStrides&) const = default;
};

/// All tensors contiguous.
AttentionStrides contiguous_strides(const Problem& problem);

/// What the graphs compute, and for which library: older ones want a finite minus infinity.
struct AttentionPlan {
  const Problem& problem;
  const AttentionStrides& strides;
  std::size_t library_version;
};

void add_forward(Graph& graph, const AttentionPlan& plan);
void add_backward(Graph& graph, const AttentionPlan& plan, bool is_deterministic);

}  // namespace sparkbench::cudnn
