// How a varlen pass lays out its workspace: lists of blocks, and the statistics of
// queries. C++17, for both machines.
#pragma once

#include "kernels/base/saturating.h"
#include "kernels/block_sparse/pattern_parts.h"
#include "kernels/hopper/backward/params.h"
#include "kernels/hopper/dispatch.h"
#include "kernels/hopper/dq_form.h"

namespace sparkbench::hopper {

/// The list of a forward pass is all of its workspace.
inline std::uint64_t packed_forward_bytes(const Problem& packed, int batch) {
  std::uint64_t bytes = 0;
  visit_forward<Blocks::kPacked>(packed, [&](auto row, auto /*id*/) {
    bytes = work_list_bytes(packed, batch, kPackedQueries<decltype(row)>);
  });
  return bytes;
}

/// Where the parts of a backward pass's begin, in bytes. Saturates.
struct PackedBackwardWorkspace {
  PackedBackwardWorkspace(const Problem& packed, int batch, DqForm dq) {
    WorkspacePlaces places(0);
    const auto take_keys = [&](auto row) {
      keys = places.take(work_list_bytes(packed, batch, kPackedKeys<decltype(row)>));
    };
    int sum_columns = 0;
    if (dq == DqForm::kSummed) {
      visit_backward_sums<Blocks::kPacked>(packed, [&](auto row, auto /*id*/) {
        take_keys(row);
        sum_columns = decltype(row)::kHeadDim;
      });
    } else {
      visit_backward_dq<Blocks::kPacked>(packed, [&](auto row, auto /*id*/) {
        queries = places.take(work_list_bytes(packed, batch, kPackedQueries<decltype(row)>));
      });
      visit_backward<Blocks::kPacked>(packed, [&](auto row, auto /*id*/) { take_keys(row); });
    }
    const auto tiles = static_cast<std::uint64_t>(packed_positions(packed.seqlen_q, batch) /
                                                  StatisticsTile::kRows);
    statistics = places.take(saturating_product(
        {static_cast<std::uint64_t>(packed.heads), tiles, sizeof(StatisticsTile)}));
    sums_bytes =
        saturating_product({static_cast<std::uint64_t>(packed.heads), tiles, StatisticsTile::kRows,
                            static_cast<std::uint64_t>(sum_columns), sizeof(float)});
    if (sum_columns > 0) dq_sums = places.take(sums_bytes);
    bytes = places.end();
  }

  std::uint64_t queries = 0, keys = 0, statistics, dq_sums = 0, bytes;
  std::uint64_t sums_bytes;  // of dq_sums
};

/// The launch parameters of a varlen backward pass, without its items and lists.
inline BackwardParams packed_backward_params(const Problem& packed, const PackedLengths& lengths,
                                             const BackwardTensors& tensors,
                                             StatisticsTile* statistics, EncodeTensorMap encode) {
  BackwardParams params = backward_params(packed, tensors, statistics,
                                          packed_positions(packed.seqlen_q, lengths.batch), encode);
  params.cu_seqlens_q = lengths.cu_seqlens_q;
  params.sequences = lengths.batch;
  return params;
}

}  // namespace sparkbench::hopper
