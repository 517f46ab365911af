// Attention in cuDNN's graph interface: the definition of kernels/problem/attention.h, operation by
// operation. cuDNN matches the whole graph and runs one fused kernel for it. So the operations and
// their order are those of NVIDIA's cudnn-frontend (node/scaled_dot_product_flash_attention.h, MIT
// license); cuDNN declines other graphs of the same mathematics, or runs them slowly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/problem/attention.h"
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
  kSeed,    // int64, if values are dropped
  kOffset,  // int64, if values are dropped
  kDO,
  kDq,
  kDk,
  kDv,
  kDelta,      // [batch, heads, longest seqlen_q], fp32: rowsum(dO * O)
  kDqSum,      // [batch, heads, longest seqlen_q, head_dim], fp32: unless deterministic
  kDkOfHeads,  // [batch, heads, seqlen_k, head_dim], fp16: if heads share keys, the
  kDvOfHeads,  // gradients of each head before they are summed into dK and dV
  kRows,       // int32, [sequences], for a ragged batch: the rows of each sequence
  kKeys,       // int32, [sequences]: the keys of each sequence
};

/// The tensor with the first element of each sequence of a ragged batch in tensor `id`: int64,
/// [sequences + 1].
constexpr std::int64_t offsets_id(std::int64_t id) { return 100 + id; }

/// Row strides of a problem's tensors.
struct AttentionStrides {
  RowStrides q, k, v, o, d_o, dq, dk, dv;

  bool operator==(const AttentionStrides&) const = default;
};

/// All tensors contiguous; those of Problem::packed() if there are lengths.
AttentionStrides contiguous_strides(const Problem& problem);

/// The problem of the graphs, and the cuDNN version: older ones need a finite minus infinity.
struct AttentionPlan {
  const Problem& problem;
  const AttentionStrides& strides;
  std::size_t library_version;
  const RaggedBatch* ragged = nullptr;  // for a problem with lengths; must have sequences
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
/// Elements of dK or dV of every head if heads share keys; 0 if the graph has no such tensor.
std::size_t elements_of_heads(const Problem& problem, const RowStrides& gradient);

void add_forward(Graph& graph, const AttentionPlan& plan);
void add_backward(Graph& graph, const AttentionPlan& plan, bool is_deterministic);

}  // namespace sparkbench::cudnn
