// Launch parameters in addition to those of all forward kernels: the work items, and tensor maps.
#pragma once

#include "kernels/hopper/work_items.h"
#include "kernels/machine/tensor_copy/tensor_map.h"
#include "kernels/tile/forward_params.h"

namespace sparkbench::hopper {

/// How a shape becomes a tensor map: for the GPU, or for the emulated machine.
using EncodeTensorMap = TensorMap (*)(const TensorMapShape&);

/// The map of a tensor [batch, rows, heads, head_dim]; none for an empty one, which nothing reads,
/// nor without `encode`, for a plan of which only the workspace counts.
inline TensorMap map_of(const ChunkedView<const Bits16>& view, int batch, int rows, int heads,
                        int head_dim, EncodeTensorMap encode) {
  if (encode == nullptr || batch == 0 || rows == 0) return {};
  const auto bytes = [](std::uint32_t chunks, int extent) {
    return std::uint64_t{extent == 1 ? 1 : chunks} * kChunkHalves * sizeof(Bits16);
  };
  const auto extent = [](int n) { return static_cast<std::uint32_t>(n); };
  return encode({view.first, extent(head_dim), extent(rows), extent(heads), extent(batch),
                 bytes(view.row, rows), bytes(view.head, heads), bytes(view.batch, batch)});
}

struct LaunchParams : ForwardParams {
  ItemGrid grid;
  TensorMap q_map, k_map, v_map;
};

/// All but the grid. Throws std::invalid_argument as forward_params() does.
inline LaunchParams launch_params(const Problem& problem, const ForwardTensors& tensors,
                                  EncodeTensorMap encode) {
  LaunchParams params{};
  static_cast<ForwardParams&>(params) = forward_params(problem, tensors);
  const auto keys = [&](const ChunkedView<const Bits16>& view) {
    return map_of(view, problem.batch, problem.seqlen_k, problem.key_heads(), problem.head_dim,
                  encode);
  };
  params.q_map =
      map_of(params.q, problem.batch, problem.seqlen_q, problem.heads, problem.head_dim, encode);
  params.k_map = keys(params.k);
  params.v_map = keys(params.v);
  return params;
}

}  // namespace sparkbench::hopper
