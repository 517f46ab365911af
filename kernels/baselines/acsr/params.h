// The launch parameters of the chain's kernels: the same on a GPU and on the emulated machine.
#pragma once

#include <cmath>

#include "kernels/baselines/acsr/keys_of_mask.h"
#include "kernels/baselines/acsr/rows_of_mask.h"
#include "kernels/problem/head_groups.h"
#include "kernels/problem/tensors.h"
#include "kernels/tile/chunked_view.h"

namespace sparkbench::acsr {

/// Blocks of rows are grid axis x, heads axis y, batch entries axis z.
struct ChainParams {
  ChunkedView<const Bits16> q, k, v;
  ChunkedView<Bits16> o;
  float* lse;
  Half* values;  // S and then P, or dP and then dS
  const RowBlock* blocks;
  const AffineRow* rows;
  const KeyBlock* key_blocks;  // of gradients of keys
  int blocks_of_head, key_blocks_of_head, heads, seqlen_q, seqlen_k;
  int head_chunks;  // of a tensor's row
  HeadGroups groups, unions;
  std::int64_t chunks_of_turn, chunks_of_batch;  // of values
  float scale;                                   // of scores
  float hidden;                                  // instead of a score that is not seen
  float output_scale;                            // of a product over the values
};

/// Views of tensors in the memory of the device that runs the chain. Throws std::invalid_argument
/// as chunked_view() does.
class ChunkedTensors {
 public:
  explicit ChunkedTensors(const Problem& problem) : problem_(problem) {}

  template <class T>
  ChunkedView<T> queries(const char* name, const TensorView<T>& tensor) const {
    return chunked_view(name, tensor, problem_.batch, problem_.seqlen_q, problem_.heads,
                        problem_.head_dim);
  }
  template <class T>
  ChunkedView<T> keys(const char* name, const TensorView<T>& tensor) const {
    return chunked_view(name, tensor, problem_.batch, problem_.seqlen_k, problem_.key_heads(),
                        problem_.head_dim);
  }

 private:
  const Problem& problem_;
};

/// All but tensors. `memory` has MaskRows::all_bytes().
inline ChainParams params_of_mask(const Problem& problem, const MaskRows& rows, Half* values,
                                  const void* memory) {
  const auto* const bytes = static_cast<const std::byte*>(memory);
  ChainParams params = {};
  params.values = values;
  params.blocks = reinterpret_cast<const RowBlock*>(bytes);
  params.rows = reinterpret_cast<const AffineRow*>(bytes + rows.rows_at());
  params.blocks_of_head = rows.blocks_of_head();
  params.heads = problem.heads;
  params.seqlen_q = problem.seqlen_q;
  params.seqlen_k = problem.seqlen_k;
  params.head_chunks = problem.head_dim / kChunkHalves;
  params.groups = make_head_groups(problem.heads, problem.key_heads());
  params.unions = make_head_groups(rows.unions(), 1);
  params.chunks_of_turn = static_cast<std::int64_t>(rows.chunks_of_turn());
  params.chunks_of_batch = static_cast<std::int64_t>(rows.chunks_of_heads(problem.heads));
  params.scale = problem.scale();
  params.hidden = -INFINITY;
  params.output_scale = 1.0f;
  return params;
}

/// The launches of a forward pass. Throws as ChunkedTensors.
inline ChainParams chain_params(const Problem& problem, const ForwardTensors& tensors,
                                const MaskRows& rows, Half* values, const void* memory) {
  const ChunkedTensors of(problem);
  ChainParams params = params_of_mask(problem, rows, values, memory);
  params.q = of.queries("q", tensors.q);
  params.k = of.keys("k", tensors.k);
  params.v = of.keys("v", tensors.v);
  params.o = of.queries("o", tensors.o);
  params.lse = tensors.lse;
  return params;
}

/// The launch of softmax's gradient.
struct SoftmaxGradientParams {
  ChainParams scores;         // dP = dO V^T, and dS = P (dP - rowsum(P dP)) in its place
  const Half* probabilities;  // P, laid out as dP
};

/// The launches of a backward pass, which begins with P.
struct GradientParams {
  SoftmaxGradientParams softmax;  // whose scores are those of the first launch, too
  ChainParams dq;                 // scale dS K
  ChainParams dv, dk;             // P^T dO, scale dS^T Q
};

/// `probabilities` are the values that a forward pass has left; `gradients` has room for as many.
/// `memory` has MaskRows::all_bytes(), followed by MaskKeys::all_bytes(). Throws as ChunkedTensors.
inline GradientParams gradient_params(const Problem& problem, const BackwardTensors& tensors,
                                      const MaskRows& rows, const MaskKeys& keys,
                                      Half* probabilities, Half* gradients, const void* memory) {
  const ChunkedTensors of(problem);
  ChainParams scores = params_of_mask(problem, rows, gradients, memory);
  scores.scale = 1.0f;
  scores.hidden = 0.0f;
  scores.output_scale = problem.scale();
  ChainParams dq = scores, dk = scores;
  scores.q = of.queries("d_o", tensors.d_o);
  scores.k = of.keys("v", tensors.v);
  dq.v = of.keys("k", tensors.k);
  dq.o = of.queries("dq", tensors.dq);
  dk.key_blocks =
      reinterpret_cast<const KeyBlock*>(static_cast<const std::byte*>(memory) + rows.bytes());
  dk.key_blocks_of_head = keys.blocks_of_head();
  ChainParams dv = dk;
  dk.q = of.queries("q", tensors.q);
  dk.o = of.keys("dk", tensors.dk);
  dv.values = probabilities;
  dv.output_scale = 1.0f;
  dv.q = scores.q;
  dv.o = of.keys("dv", tensors.dv);
  return {{scores, probabilities}, dq, dv, dk};
}

}  // namespace sparkbench::acsr
