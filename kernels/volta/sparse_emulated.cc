#include "kernels/volta/sparse_emulated.h"

#include <array>
#include <utility>
#include <vector>

#include "kernels/block_sparse/listed_emulated.h"
#include "kernels/launch/pass_regions.h"
#include "kernels/launch/tensor_regions.h"
#include "kernels/machine/emulated/machine.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/volta/backward/rows.h"
#include "kernels/volta/backward/schedules.h"
#include "kernels/volta/backward/workspace.h"
#include "kernels/volta/dispatch.h"
#include "kernels/volta/forward/schedules.h"
#include "kernels/volta/sparse_kinds.h"
#include "kernels/volta/sparse_parts.h"

namespace sparkbench::volta {
namespace {

/// The launches of one backward pass over one workspace, and what they report together.
class SparseBackwardPass {
 public:
  SparseBackwardPass(Accumulator accumulator, const Problem& problem,
                     const BackwardTensors& tensors, const EmulationOptions& options,
                     bool is_deterministic)
      : accumulator_(accumulator),
        problem_(without_pattern(problem)),
        mask_(*problem.sparse),
        wanted_{problem_, options.shared_bytes_per_block},
        tensors_(tensors),
        options_(options),
        statistics_(all_workspace_rows(problem_)),
        dq_sums_(dq_sums_bytes(problem_, is_deterministic) / sizeof(float)),
        params_(backward_params(problem_, tensors,
                                {statistics_.data(), is_deterministic ? nullptr : dq_sums_.data(),
                                 workspace_rows(problem_.seqlen_q)})) {}

  void prepare() {
    visit_statistics(accumulator_, wanted_, [&](auto row, auto id) {
      using Config = decltype(row);
      launch_rows({.kernel = id,
                   .grid = {ceil_divide(workspace_rows(problem_.seqlen_q), Config::kBlockM),
                            problem_.heads, problem_.batch},
                   .threads = Config::kThreads,
                   .shared_bytes = 0},
                  [](EmulatedMachine& machine, const BackwardParams& params) {
                    prepare_statistics<Config>(machine, params);
                  });
    });
  }
  /// `rows`: the queries that take part, of all heads of a group or of one.
  void key_gradients(bool computes_dq, std::span<const SampleTile> tiles) {
    visit_backward<Blocks::kSparse>(accumulator_, computes_dq, wanted_, [&](auto row, auto id) {
      using Config = decltype(row);
      const SparseTileLists lists(mask_, kSparseKeys<Config>);
      params_.walk = walk_of_lists<Config>(lists, 0, problem_.group_size());
      const int rows = lists.part_rows(), heads = problem_.key_heads();
      PartTensor dk("dk of parts", problem_, heads, rows), dv("dv of parts", problem_, heads, rows);
      give_key_parts(params_, problem_, rows, dk.data(), dv.data());
      add_report(report_, key_launch<Config>(id, lists, tiles, {&dk, &dv}));
      const SplitRows split{lists.splits().data(), Config::kBlockKeys, problem_.seqlen_k, rows};
      const TensorShape keys = key_shape(problem_);
      sum_parts_of(lists, split, keys, tiles, {dk, params_.part_dk, params_.dk, tensors_.dk});
      sum_parts_of(lists, split, keys, tiles, {dv, params_.part_dv, params_.dv, tensors_.dv});
    });
  }
  /// A sample of dQ: its queries alone, over all keys that they see. Before the sampled keys, for
  /// it leaves partial sums in dK and dV. The sampled keys tell the counts of the pass.
  void sampled_dq(std::span<const SampleTile> tiles) {
    for (const SampleTile& tile : tiles) {
      const int member = tile[1] % problem_.group_size();
      visit_backward<Blocks::kSparse>(accumulator_, true, wanted_, [&](auto row, auto id) {
        using Config = decltype(row);
        SparseListKind kind = kSparseKeys<Config>;
        kind.only = {tile[0] * kSampleRows, (tile[0] + 1) * kSampleRows};
        kind.splits = false;
        const SparseTileLists lists(mask_, kind);
        std::vector<SampleTile> keys;
        for (int i = 0; i < lists.blocks_of_head(); ++i) {
          const SparseBlock& block = lists.block(tile[1] % lists.unions(), i);
          if (block.tiles == 0) continue;
          keys.push_back({block.first_row / kSampleRows, problem_.key_head(tile[1]), tile[2]});
        }
        params_.walk = walk_of_lists<Config>(lists, member, member + 1);
        if (keys.empty()) return;  // dQ stays zero; an empty list would mean all
        EmulationReport launched = key_launch<Config>(id, lists, keys, {});
        launched.grid_counters = {};
        add_report(report_, launched);
      });
    }
  }
  void dq(std::span<const SampleTile> tiles) {
    visit_backward_dq<Blocks::kSparse>(accumulator_, wanted_, [&](auto row, auto id) {
      using Config = decltype(row);
      const SparseTileLists lists(mask_, kSparseQueries<Config>);
      params_.sparse_queries = lists.on_host();
      PartTensor parts("dq of parts", problem_, problem_.heads, lists.part_rows());
      give_query_parts(params_, problem_, lists.part_rows(), parts.data());
      const BackwardParams params = params_;
      std::vector<GlobalRegion> all = regions(&lists);
      parts.append_written(all);
      add_report(report_,
                 emulate(list_shape({id, Config::kThreads, sizeof(BackwardDqTiles<Config>), lists,
                                     problem_.heads, problem_.batch, Config::kBlockM},
                                    tiles),
                         all, options_, [&](EmulatedMachine& machine) {
                           attention_backward_dq<Config>(machine, params);
                         }));
      sum_parts_of(lists,
                   {lists.splits().data(), Config::kBlockM, problem_.seqlen_q, lists.part_rows()},
                   query_shape(problem_), tiles, {parts, params_.part_dq, params_.dq, tensors_.dq});
    });
  }
  void round() {
    visit_round_dq(accumulator_, wanted_, [&](auto row, auto id) {
      using Config = decltype(row);
      launch_rows({.kernel = id,
                   .grid = {ceil_divide(problem_.seqlen_q, Config::kBlockM), problem_.heads,
                            problem_.batch},
                   .threads = Config::kThreads,
                   .shared_bytes = sizeof(RoundDqTiles<Config>)},
                  [](EmulatedMachine& machine, const BackwardParams& params) {
                    round_dq<Config>(machine, params);
                  });
    });
  }
  EmulationReport take_report() { return std::move(report_); }

 private:
  template <class Kernel>
  void launch_rows(const LaunchShape& shape, Kernel kernel) {
    const BackwardParams params = params_;
    add_report(report_, emulate(shape, regions(nullptr), options_,
                                [&](EmulatedMachine& machine) { kernel(machine, params); }));
  }
  template <class Config>
  EmulationReport key_launch(const char* id, const SparseTileLists& lists,
                             std::span<const SampleTile> tiles,
                             const std::vector<PartTensor*>& parts) {
    const LaunchShape shape =
        list_shape({id, Config::kThreads, sizeof(BackwardTiles<Config>), lists,
                    problem_.key_heads(), problem_.batch, Config::kBlockKeys},
                   tiles);
    params_.sparse_keys = lists.on_host();
    const BackwardParams params = params_;
    std::vector<GlobalRegion> all = regions(&lists);
    for (PartTensor* const part : parts) part->append_written(all);
    return emulate(shape, all, options_,
                   [&](EmulatedMachine& machine) { attention_backward<Config>(machine, params); });
  }
  /// A gradient of which blocks have parts.
  struct SplitGradient {
    PartTensor& parts;
    const ChunkedView<Half>& part;
    const ChunkedView<Half>& x;
    const TensorView<Half>& tensor;
  };
  void sum_parts_of(const SparseTileLists& lists, const SplitRows& rows, const TensorShape& shape,
                    std::span<const SampleTile> tiles, const SplitGradient& gradient) {
    const LaunchShape launch = split_shape("sum-parts", lists, rows.block_rows, shape, tiles);
    if (has_nothing(launch, tiles)) return;
    const SumPartsParams params =
        sum_parts_params(rows, params_.head_chunks, gradient.part, gradient.x);
    std::vector<GlobalRegion> all =
        regions_of(std::array{output_region("gradients", gradient.tensor, shape)});
    gradient.parts.append_read(all);
    append_list("splits", lists.splits(), all);
    add_report(report_, emulate(launch, all, options_,
                                [&](EmulatedMachine& machine) { sum_parts(machine, params); }));
  }
  std::vector<GlobalRegion> regions(const SparseTileLists* lists) {
    std::vector<GlobalRegion> all = backward_regions(problem_, tensors_);
    all.push_back({"statistics", statistics_.data(), statistics_bytes(problem_), true, true});
    if (!dq_sums_.empty()) {
      all.push_back({"dq_sums", dq_sums_.data(), dq_sums_.size() * sizeof(float), true, true});
    }
    if (lists != nullptr) append_lists(*lists, all);
    return all;
  }

  Accumulator accumulator_;
  Problem problem_;
  const SparseMask& mask_;
  Wanted wanted_;
  const BackwardTensors& tensors_;
  const EmulationOptions& options_;
  std::vector<RowStatistics> statistics_;
  std::vector<float> dq_sums_;
  BackwardParams params_;
  EmulationReport report_;
};

}  // namespace

EmulationReport emulate_sparse_forward(Accumulator accumulator, const Problem& problem,
                                       const ForwardTensors& tensors,
                                       const EmulationOptions& options,
                                       std::span<const SampleTile> tiles) {
  const Problem dense = without_pattern(problem);
  EmulationReport report;
  const Wanted wanted{dense, options.shared_bytes_per_block};
  visit_forward<Blocks::kSparse>(accumulator, wanted, [&](auto row, auto id) {
    using Config = decltype(row);
    const ListedForward kernel{
        id, Config::kThreads, sizeof(ForwardTiles<Config>), kSparseForward<Config>,
        [&](const LaunchShape& shape, std::span<const GlobalRegion> regions,
            const ForwardParams& params) {
          return emulate(shape, regions, options, [&](EmulatedMachine& machine) {
            attention_forward<Config>(machine, params);
          });
        }};
    report = emulate_listed_forward(kernel, problem, tensors, options, tiles);
  });
  return report;
}

EmulationReport emulate_sparse_backward(Accumulator accumulator, const Problem& problem,
                                        const BackwardTensors& tensors,
                                        const EmulationOptions& options, bool is_deterministic,
                                        const BackwardSample& sample) {
  SparseBackwardPass pass(accumulator, problem, tensors, options, is_deterministic);
  pass.prepare();
  if (is_deterministic) {
    pass.key_gradients(false, sample.key_tiles);
    pass.dq(sample.query_tiles);
  } else {
    if (!sample.is_everything()) pass.sampled_dq(sample.query_tiles);
    if (!sample.is_everything()) pass.round();
    pass.key_gradients(true, sample.key_tiles);
    if (sample.is_everything()) pass.round();
  }
  return pass.take_report();
}

}  // namespace sparkbench::volta
