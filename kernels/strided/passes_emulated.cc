#include "kernels/strided/passes_emulated.h"

#include <array>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "kernels/launch/run_emulated.h"
#include "kernels/launch/tensor_regions.h"
#include "kernels/strided/passes_plan.h"
#include "kernels/tile/merge_passes.h"

namespace sparkbench {
namespace {

/// All that a launch over rows may touch.
std::vector<GlobalRegion> memory_of(const RowsStep& rows, const PlanRequest& request) {
  const Problem& problem = request.problem;
  std::vector<GlobalRegion> all = regions_of(rows.step);
  if (rows.adds()) {
    TensorRegion sum = output_region(rows.name, rows.sum,
                                     rows.is_of_keys ? key_shape(problem) : query_shape(problem));
    sum.written_before = true;  // by the first pass
    for (GlobalRegion& region : regions_of(std::array{sum})) all.push_back(std::move(region));
  }
  const std::size_t lse_bytes = problem.lse_elements() * sizeof(float);
  if (request.forward != nullptr) {
    all.push_back({"lse", request.forward->lse, lse_bytes, false});
  } else if (!rows.adds()) {
    all.push_back({"lse", const_cast<float*>(request.backward->lse), lse_bytes, true});
  }
  return all;
}

/// The blocks of a sample's rows. The log-sum-exp is gathered for all.
LaunchShape rows_shape(const RowsStep& rows, const PlanRequest& request,
                       const BackwardSample& sample) {
  const Problem& problem = request.problem;
  LaunchShape shape = shape_of(rows.step);
  if (request.backward != nullptr && !rows.adds()) return shape;
  const MergeBlocks blocks{rows.is_of_keys ? problem.key_heads() : problem.heads};
  std::set<std::array<int, 3>> chosen;
  for (const auto& [tile, head, batch] : rows.is_of_keys ? sample.key_tiles : sample.query_tiles) {
    for (int row = tile * kSampleRows; row < (tile + 1) * kSampleRows; row += kMergeRows) {
      if (row < problem.seqlen_q) chosen.insert({blocks.block(row / kMergeRows, head), 0, batch});
    }
  }
  shape.blocks = {chosen.begin(), chosen.end()};
  return shape;
}

/// The sample's tiles of a view. A backward pass without a query tile, or without a key tile,
/// computes one: none would mean all.
BackwardSample sample_of(const ViewLaunch& view, const PlanRequest& request,
                         const BackwardSample& sample) {
  BackwardSample own{view.tiles_of(sample.query_tiles, request.problem.heads),
                     view.tiles_of(sample.key_tiles, request.problem.key_heads())};
  if (own.is_everything() || request.forward != nullptr) return own;
  if (own.query_tiles.empty()) own.query_tiles.push_back({0, 0, 0});
  if (own.key_tiles.empty()) own.key_tiles.push_back({0, 0, 0});
  return own;
}

}  // namespace

EmulationReport emulate_views(const PlanRequest& request, const EmulationOptions& options,
                              const BackwardSample& sample, const EmulateView& emulate_view) {
  const Pass pass = request.forward != nullptr ? Pass::kForward : Pass::kBackward;
  const PassesWorkspace layout(request.problem, pass, 0);  // views have workspaces of their own
  HostWorkspace workspace;
  EmulationReport report;
  walk_views(
      request, layout, workspace.take<std::byte>("views", layout.bytes),
      [&](const RowsStep& rows) {
        add_report(report, run_emulated(rows.step, rows_shape(rows, request, sample),
                                        memory_of(rows, request), options));
      },
      [&](const ViewLaunch& view, const PlanRequest& of_view) {
        const BackwardSample own = sample_of(view, request, sample);
        if (own.is_everything() && !sample.is_everything()) return;
        add_report(report, emulate_view(of_view, own));
      });
  return report;
}

}  // namespace sparkbench
