// The launch parameters of a forward kernel: the same on a GPU and on the emulated machine.
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/problem/head_groups.h"
#include "kernels/problem/tensors.h"
#include "kernels/tile/chunked_view.h"
#include "kernels/tile/log2e.h"
#include "kernels/tile/sparse_list.h"
#include "kernels/tile/work_list.h"

namespace sparkbench {

/// Whether tiles of rows are launched from the last to the first. If the last rows see more keys,
/// their blocks then start first, and short ones fill the last wave.
inline bool launches_last_tile_first(const KeyMask& mask) { return mask.grows(); }

/// If kIsVarlen<Config>, the tensors are varlen (kernels/problem/packed.h). If kIsSparse<Config>,
/// the mask is a pattern.
struct ForwardParams {
  ChunkedView<const Bits16> q, k, v;
  ChunkedView<Bits16> o;
  float* lse;
  int heads;
  HeadGroups groups;
  bool is_last_tile_first;
  KeyMask mask;
  float scale;       // of the scores
  float scale_log2;  // scale * log2(e), so that exp(scale * s) = exp2(scale_log2 * s)
  Dropout dropout;
  int head_chunks;                      // of a tensor's row
  const DropoutOffset* dropout_offset;  // null: dropout.offset
  const WorkItem* items = nullptr;      // varlen; the lengths in `mask` are totals
  SparseLists sparse = {};              // block-sparse; `mask` is then full
  ChunkedView<Bits16> part_o = {};  // partial results of splits (sparse_list.h): [batch, part_rows,
  float* part_lse = nullptr;        // heads, head_dim], and [batch, heads, part_rows]
  int part_rows = 0;
  /// is_last_tile_first as a word that an instruction compares directly, for a Config whose
  /// kKeepsTileOrder is false, because it has no register for a predicate.
  std::uint32_t tile_order_word = 0;
};

/// Throws std::invalid_argument as chunked_view() does.
inline ForwardParams forward_params(const Problem& problem, const ForwardTensors& tensors) {
  const auto queries = [&](const char* name, const auto& tensor) {
    return chunked_view(name, tensor, problem.batch, problem.seqlen_q, problem.heads,
                        problem.head_dim);
  };
  const auto keys = [&](const char* name, const auto& tensor) {
    return chunked_view(name, tensor, problem.batch, problem.seqlen_k, problem.key_heads(),
                        problem.head_dim);
  };
  const KeyMask mask = problem.key_mask();
  ForwardParams params{queries("q", tensors.q),
                       keys("k", tensors.k),
                       keys("v", tensors.v),
                       queries("o", tensors.o),
                       tensors.lse,
                       problem.heads,
                       make_head_groups(problem.heads, problem.key_heads()),
                       launches_last_tile_first(mask),
                       mask,
                       problem.scale(),
                       SPARK_PLANTED(kScaleAppliedTwice, problem.scale() * kLog2E,
                                     problem.scale() * problem.scale() * kLog2E),
                       problem.dropout(),
                       problem.head_dim / kChunkHalves,
                       tensors.dropout_offset};
  params.tile_order_word = params.is_last_tile_first ? 1u : 0u;
  return params;
}

}  // namespace sparkbench
