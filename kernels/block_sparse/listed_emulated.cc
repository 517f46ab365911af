#include "kernels/block_sparse/listed_emulated.h"

#include <algorithm>
#include <array>
#include <set>

#include "kernels/launch/pass_regions.h"
#include "kernels/launch/tensor_regions.h"
#include "kernels/machine/emulated/machine.h"
#include "kernels/mask/pattern/sparse_mask.h"

namespace sparkbench {

void append_lists(const SparseTileLists& lists, std::vector<GlobalRegion>& all) {
  append_list("pattern blocks", lists.all_blocks(), all);
  append_list("pattern tiles", lists.all_tiles(), all);
  append_list("pattern words", lists.words(), all);
}

LaunchShape split_shape(const char* kernel, const SparseTileLists& lists, int block_rows,
                        const TensorShape& of, std::span<const SampleTile> tiles) {
  const int blocks_of_split = block_rows / kMergeRows;
  LaunchShape shape{
      .kernel = kernel,
      .grid = {static_cast<int>(lists.splits().size()) * blocks_of_split, of.heads, of.batch},
      .threads = kMergeThreads,
      .shared_bytes = 0};
  std::set<std::array<int, 3>> chosen;
  for (const auto& [tile, head, batch] : tiles) {
    for (int block = 0; block < shape.grid[0]; ++block) {
      const SparseSplit& split = lists.splits()[static_cast<std::size_t>(block / blocks_of_split)];
      const int row = split.first_row + block % blocks_of_split * kMergeRows;
      if (row / kSampleRows == tile && row < of.seqlen) chosen.insert({block, head, batch});
    }
  }
  shape.blocks = {chosen.begin(), chosen.end()};
  return shape;
}

bool has_nothing(const LaunchShape& shape, std::span<const SampleTile> tiles) {
  return shape.grid[0] == 0 || (!tiles.empty() && shape.blocks.empty());
}

LaunchShape list_shape(const ListLaunch& launch, std::span<const SampleTile> tiles) {
  const int blocks = launch.lists.blocks_of_head();
  LaunchShape shape{.kernel = launch.id,
                    .grid = {launch.heads, blocks, launch.batch},
                    .threads = launch.threads,
                    .shared_bytes = launch.shared_bytes};
  std::set<std::array<int, 3>> chosen;
  for (const auto& [tile, head, batch] : tiles) {
    for (int i = 0; i < blocks; ++i) {
      const int first = launch.lists.block(head % launch.lists.unions(), i).first_row;
      if (first / kSampleRows == tile ||
          first == tile * kSampleRows / launch.block_rows * launch.block_rows) {
        chosen.insert({head, i, batch});
      }
    }
  }
  shape.blocks = {chosen.begin(), chosen.end()};
  return shape;
}

EmulationReport emulate_listed_forward(const ListedForward& forward, const Problem& problem,
                                       const ForwardTensors& tensors,
                                       const EmulationOptions& options,
                                       std::span<const SampleTile> tiles) {
  const Problem dense = without_pattern(problem);
  const SparseTileLists lists(*problem.sparse, forward.kind);
  const int rows = lists.part_rows(), block_rows = forward.kind.block_rows;
  PartTensor part_o("o of parts", dense, dense.heads, rows);
  std::vector<float> part_lse(static_cast<std::size_t>(dense.batch) *
                              static_cast<std::size_t>(dense.heads) *
                              static_cast<std::size_t>(rows));
  ForwardParams params = forward_params(dense, tensors);
  params.sparse = lists.on_host();
  give_parts(params, dense, rows, part_o.data(), part_lse.data());
  std::vector<GlobalRegion> all = forward_regions(dense, tensors);
  append_lists(lists, all);
  part_o.append_written(all);
  const auto append_lse = [&](bool is_read, std::vector<GlobalRegion>& regions) {
    regions.push_back(
        {"lse of parts", part_lse.data(), part_lse.size() * sizeof(float), is_read, !is_read});
  };
  if (rows > 0) append_lse(false, all);
  EmulationReport report =
      forward.launch(list_shape({forward.id, forward.threads, forward.shared_bytes, lists,
                                 problem.heads, problem.batch, block_rows},
                                tiles),
                     all, params);
  const LaunchShape merge =
      split_shape("merge-parts", lists, block_rows, query_shape(dense), tiles);
  if (has_nothing(merge, tiles)) return report;
  const MergePartsParams of_merge =
      merge_parts_params(params, dense.seqlen_q, lists.splits().data(), block_rows);
  all = regions_of(std::array{output_region("o", tensors.o, query_shape(dense))});
  all.push_back({"lse", tensors.lse, dense.lse_elements() * sizeof(float), false, true});
  part_o.append_read(all);
  append_lse(true, all);
  append_list("splits", lists.splits(), all);
  add_report(report, emulate(merge, all, options,
                             [&](EmulatedMachine& machine) { merge_parts(machine, of_merge); }));
  return report;
}

}  // namespace sparkbench
