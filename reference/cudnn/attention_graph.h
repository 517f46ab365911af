// Attention as cuDNN's graph interface spells it: the definition of kernels/attention.h, operation
// by operation. cuDNN matches the whole graph and runs one fused kernel for it, so the operations
// and their order are those that NVIDIA's cudnn-frontend builds (node/
// scaled_dot_product_flash_attention.h, MIT license): another spelling of the same mathematics is
// declined or slow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/attention.h"
#include "reference/cudnn/graph.h"
#include "reference/cudnn/ragged_batch.h"
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
  kDelta,      // [batch, heads, longest seqlen_q], fp32: rowsum(dO * O)
  kDqSum,      // [batch, heads, longest seqlen_q, head_dim], fp32: unless deterministic
  kDkOfHeads,  // [batch, heads, seqlen_k, head_dim], fp16: where heads share keys, before
  kDvOfHeads,  // dK and dV are the sums over those that do
  kRows,       // int32, [sequences], of a ragged batch: how many each has
  kKeys,       // int32, [sequences]
};

/// The tensor that says at which element each sequence of a ragged batch begins in tensor `id`:
/// int64, [sequences + 1].
constexpr std::int64_t offsets_id(std::int64_t id) { return 100 + id; }

/// Where the rows of a problem's tensors lie.
struct AttentionStrides {
  RowStrides q, k, v, o, d_o, dq, dk, dv;

  bool operator==(const AttentionStrides&) const = default;
};

/// All tensors contiguous; those of Problem::packed() where there are lengths.
AttentionStrides contiguous_strides(const Problem& problem);

/// What the graphs compute, and for which library: older ones want a finite minus infinity.
struct AttentionPlan {
  const Problem& problem;
  const AttentionStrides& strides;
  std::size_t library_version;
  const RaggedBatch* ragged = nullptr;  // of a problem with lengths, and not without sequences
};

/// The contents of offsets_id(tensor).
struct RaggedOffsets {
  std::int64_t tensor;
  std::vector<std::int64_t> first_elements;
};
std::vector<RaggedOffsets> ragged_offsets(const RaggedBatch& batch,
                                          const AttentionStrides& strides);

/// Elements of D = rowsum(dO * O), and of the sums of dQ.
std::size_t delta_elements(const Problem& problem, const RaggedBatch* ragged);
std::size_t dq_sum_elements(const Problem& problem, const RaggedBatch* ragged);
/// Of dK or dV of every head where heads share keys: 0 where the graph has none.
std::size_t elements_of_heads(const Problem& problem, const RowStrides& gradient);

void add_forward(Graph& graph, const AttentionPlan& plan);
void add_backward(Graph& graph, const AttentionPlan& plan, bool is_deterministic);

}  // namespace sparkbench::cudnn
