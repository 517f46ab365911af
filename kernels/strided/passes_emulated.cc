#include "kernels/strided/passes_emulated.h"

#include <set>
#include <string>
#include <vector>

#include "kernels/block_sparse/merge_steps.h"
#include "kernels/launch/run_emulated.h"
#include "kernels/launch/tensor_regions.h"
#include "kernels/strided/pattern_launches.h"
#include "kernels/tile/merge_passes.h"

namespace sparkbench {
namespace {

/// On the host. Every word that is read was written by a launch before.
class PassesMemory {
 public:
  PassesMemory(const Problem& problem, Pass pass)
      : layout_(problem, pass, 0), memory_(layout_.bytes / sizeof(Line)) {}

  const PassesWorkspace& layout() const { return layout_; }
  std::byte* memory() { return memory_.front().bytes; }

 private:
  struct alignas(256) Line {
    std::byte bytes[256];
  };

  PassesWorkspace layout_;
  std::vector<Line> memory_;
};

GlobalRegion rows_region(const char* name, const float* rows, const Problem& problem,
                         bool is_read) {
  return {name, const_cast<float*>(rows), problem.lse_elements() * sizeof(float), is_read,
          !is_read};
}

/// A region that the launch reads and writes.
TensorRegion summed_region(const char* name, const TensorView<Bits16>& view,
                           const TensorShape& shape) {
  TensorRegion region = output_region(name, view, shape);
  region.written_before = true;
  return region;
}

TensorRegion part_region(const char* name, const TensorView<Bits16>& view,
                         const TensorShape& shape) {
  return input_region<Bits16>(name, view, shape);
}

/// Runs a step over the rows of `heads`; for a sample, over those of its tiles.
EmulationReport run_merge(const Step& step, const Problem& problem, int heads,
                          std::span<const GlobalRegion> regions, const EmulationOptions& options,
                          std::span<const SampleTile> tiles) {
  const MergeBlocks blocks{heads};
  LaunchShape shape = shape_of(step);
  std::set<std::array<int, 3>> chosen;
  for (const auto& [tile, head, batch] : tiles) {
    for (int row = tile * kSampleRows; row < (tile + 1) * kSampleRows; row += kMergeRows) {
      if (row < problem.seqlen_q) chosen.insert({blocks.block(row / kMergeRows, head), 0, batch});
    }
  }
  shape.blocks = {chosen.begin(), chosen.end()};
  return run_emulated(step, shape, regions, options);
}

EmulationReport merge(const Problem& problem, const ForwardTensors& tensors,
                      PassesMemory& workspace, const EmulationOptions& options,
                      std::span<const SampleTile> tiles) {
  const MergeParams params = merge_params(problem, tensors, workspace.layout(), workspace.memory());
  const TensorShape queries = query_shape(problem);
  std::vector<TensorRegion> of_passes;
  if (params.passes > 1) of_passes.push_back(summed_region("o", tensors.o, queries));
  std::vector<GlobalRegion> rows{rows_region("lse", tensors.lse, problem, false)};
  for (int i = 0; i < params.passes; ++i) {
    rows.push_back(rows_region("lse of a pass", params.lse[i], problem, true));
    if (i == 0) continue;
    of_passes.push_back(part_region(
        "o of a pass",
        tensors_of_pass(problem, tensors, i, workspace.layout(), workspace.memory()).o, queries));
  }
  std::vector<GlobalRegion> all = regions_of(of_passes);
  all.insert(all.end(), rows.begin(), rows.end());
  return run_merge(merge_passes_step(params, rows_of_tokens(problem, problem.heads)), problem,
                   problem.heads, all, options, tiles);
}

EmulationReport gather(const Problem& problem, const BackwardTensors& tensors, int pass,
                       PassesMemory& workspace, const EmulationOptions& options) {
  const GatherParams params =
      gather_params(problem, tensors, pass, workspace.layout(), workspace.memory());
  const std::vector<GlobalRegion> all{rows_region("lse", tensors.lse, problem, true),
                                      rows_region("lse of a pass", params.lse, problem, false)};
  const Step step = gather_lse_step(params, rows_of_tokens(problem, problem.heads));
  return run_emulated(step, shape_of(step), all, options);
}

EmulationReport sum(const char* name, const Problem& problem, const SumParams& params,
                    const TensorView<Bits16>& x, const TensorShape& shape,
                    const EmulationOptions& options, std::span<const SampleTile> tiles) {
  std::vector<TensorRegion> of_passes{summed_region(name, x, shape)};
  for (int i = 0; i < params.parts; ++i) {
    const auto part = contiguous_view(const_cast<Bits16*>(params.more[i].first), shape.seqlen,
                                      shape.heads, shape.head_dim);
    of_passes.push_back(part_region("gradients of a pass", part, shape));
  }
  return run_merge(sum_gradients_step(params, rows_of_tokens(problem, shape.heads)), problem,
                   shape.heads, regions_of(of_passes), options, tiles);
}

/// A launch of which no queries, or no keys, are sampled computes a tile of them: none would mean
/// all.
void have_one_of_each(BackwardSample& sample) {
  if (sample.query_tiles.empty()) sample.query_tiles.push_back({0, 0, 0});
  if (sample.key_tiles.empty()) sample.key_tiles.push_back({0, 0, 0});
}

}  // namespace

EmulationReport emulate_passes_forward(const Problem& problem, const ForwardTensors& tensors,
                                       const EmulationOptions& options,
                                       std::span<const SampleTile> tiles,
                                       const EmulateForwardView& emulate_view) {
  PassesMemory workspace(problem, Pass::kForward);
  const TokenHeads heads = token_heads(problem, tensors);
  EmulationReport report;
  for (int pass = 0; pass < mask_pass_count(problem); ++pass) {
    const ForwardTensors of_pass =
        tensors_of_pass(problem, tensors, pass, workspace.layout(), workspace.memory());
    for (const ViewLaunch& launch : view_launches(problem, pass, heads)) {
      const std::vector<SampleTile> own =
          launch.tiles_of({tiles.begin(), tiles.end()}, problem.heads);
      if (!tiles.empty() && own.empty()) continue;
      add_report(report, emulate_view(launch.problem, tensors_of_launch(launch, of_pass), own));
    }
  }
  add_report(report, merge(problem, tensors, workspace, options, tiles));
  return report;
}

EmulationReport emulate_passes_backward(const Problem& problem, const BackwardTensors& tensors,
                                        const EmulationOptions& options,
                                        const BackwardSample& sample,
                                        const EmulateBackwardView& emulate_view) {
  PassesMemory workspace(problem, Pass::kBackward);
  const TokenHeads heads = token_heads(problem, tensors);
  EmulationReport report;
  for (int pass = 0; pass < mask_pass_count(problem); ++pass) {
    add_report(report, gather(problem, tensors, pass, workspace, options));
    const BackwardTensors of_pass =
        tensors_of_pass(problem, tensors, pass, workspace.layout(), workspace.memory());
    for (const ViewLaunch& launch : view_launches(problem, pass, heads)) {
      BackwardSample own{launch.tiles_of(sample.query_tiles, problem.heads),
                         launch.tiles_of(sample.key_tiles, problem.key_heads())};
      if (!sample.is_everything() && own.is_everything()) continue;
      if (!sample.is_everything()) have_one_of_each(own);
      add_report(report, emulate_view(launch.problem, tensors_of_launch(launch, of_pass), own));
    }
  }
  if (mask_pass_count(problem) == 1) return report;
  const GradientSums sums = gradient_sums(problem, tensors, workspace.layout(), workspace.memory());
  const TensorShape queries = query_shape(problem), keys = key_shape(problem);
  add_report(report, sum("dq", problem, sums.dq, tensors.dq, queries, options, sample.query_tiles));
  add_report(report, sum("dk", problem, sums.dk, tensors.dk, keys, options, sample.key_tiles));
  add_report(report, sum("dv", problem, sums.dv, tensors.dv, keys, options, sample.key_tiles));
  return report;
}

}  // namespace sparkbench
