#include "kernels/hopper/backward_emulated.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "kernels/block_sparse/listed_emulated.h"
#include "kernels/hopper/backward/carried_kernel.h"
#include "kernels/hopper/backward/dq_kernel.h"
#include "kernels/hopper/backward/kernel.h"
#include "kernels/hopper/backward/round_dq.h"
#include "kernels/hopper/backward/row_statistics.h"
#include "kernels/hopper/backward_workspace.h"
#include "kernels/hopper/dispatch.h"
#include "kernels/hopper/items_emulated.h"
#include "kernels/launch/forward_launch.h"
#include "kernels/launch/pass_regions.h"
#include "kernels/mask/pattern/sparse_mask.h"

namespace sparkbench::hopper {
namespace {

/// The steps of queries that each block of keys visits for one query head.
template <class Config>
std::vector<double> steps_of_blocks(const Problem& problem) {
  const KeyMask mask = problem.key_mask();
  std::vector<double> work;
  for (int key = 0; key < problem.seqlen_k; key += Config::kBlockKeys) {
    const Range rows =
        mask.rows_of_any({key, std::min(key + Config::kBlockKeys, problem.seqlen_k)});
    const int first = first_tile<Config::kStep>(rows);
    work.push_back(rows.is_empty() ? 0.0 : ceil_divide(rows.end - first, Config::kStep));
  }
  return work;
}

/// The blocks of keys that contain these tiles.
std::vector<std::array<int, 3>> blocks_of_tiles(std::span<const SampleTile> tiles, int block_rows,
                                                int blocks_of_head) {
  std::set<std::array<int, 3>> blocks;
  for (const auto& [tile, head, batch] : tiles) {
    const int end = std::min(ceil_divide((tile + 1) * kSampleRows, block_rows), blocks_of_head);
    for (int block = tile * kSampleRows / block_rows; block < end; ++block) {
      blocks.insert({block, head, batch});
    }
  }
  return {blocks.begin(), blocks.end()};
}

/// The launches of one pass over one workspace, and what they report together.
class BackwardEmulation {
 public:
  BackwardEmulation(const Problem& problem, const BackwardTensors& tensors,
                    const EmulationOptions& options, DqForm dq)
      : problem_(problem.sparse ? without_pattern(problem) : problem),
        mask_(problem.sparse.get()),
        tensors_(tensors),
        options_(options),
        positions_(mask_ != nullptr ? problem.seqlen_q : statistics_rows(problem.seqlen_q)),
        statistics_(static_cast<std::size_t>(problem.batch) *
                    static_cast<std::size_t>(problem.heads) *
                    static_cast<std::size_t>(ceil_divide(positions_, StatisticsTile::kRows))),
        dq_sums_(dense_workspace(problem_, dq).sums_bytes / sizeof(float)),
        params_(backward_params(problem_, tensors, statistics_.data(), positions_,
                                encode_emulated_map)) {
    params_.dq_sums = dq_sums_.data();
    if (mask_ == nullptr) params_.grid.order = item_order(params_.mask, problem_.head_dim);
  }

  void prepare() {
    const std::vector<GlobalRegion> all = regions(nullptr);
    const LaunchShape shape{
        .kernel = "hopper-fp32acc/bwd-statistics",
        .grid = {params_.rows_per_head / StatisticsConfig::kBlockM, problem_.heads, problem_.batch},
        .threads = StatisticsConfig::kThreads,
        .shared_bytes = 0};
    add_report(report_, emulate(shape, all, options_, [&](EmulatedMachine& machine) {
                 prepare_statistics(machine, params_);
               }));
  }

  void key_gradients(std::span<const SampleTile> tiles) {
    visit_backward<Blocks::kDense>(problem_,
                                   [&](auto row, auto id) { launch_keys(row, id, tiles); });
  }
  /// The same with dQ's sums, before they are rounded.
  void summed_gradients(std::span<const SampleTile> key_tiles) {
    visit_backward_sums<Blocks::kDense>(
        problem_, [&](auto row, auto id) { launch_keys(row, id, key_tiles); });
  }
  /// Runs all blocks that see a query of these tiles, for all heads of a group, to add what these
  /// queries contribute to the sums. Leaves partial dK and dV. Its counts are not part of the whole
  /// pass's counts.
  void sum_queries(std::span<const SampleTile> query_tiles) {
    std::set<SampleTile> of_groups;
    for (const auto& [tile, head, batch] : query_tiles) {
      of_groups.insert({tile, problem_.key_head(head), batch});
    }
    for (const auto& [tile, key_head, batch] : of_groups) {
      params_.query_begin = tile * kSampleRows;
      params_.query_end = std::min((tile + 1) * kSampleRows, problem_.seqlen_q);
      std::vector<SampleTile> key_tiles;
      const Range keys = problem_.key_mask().keys_of_any({params_.query_begin, params_.query_end});
      for (int t = keys.begin / kSampleRows; t * kSampleRows < keys.end; ++t) {
        key_tiles.push_back({t, key_head, batch});
      }
      if (key_tiles.empty()) continue;  // dQ stays zero; an empty list would mean all
      summed_gradients(key_tiles);
      report_.grid_counters = {};
    }
    params_.query_begin = 0;
    params_.query_end = problem_.seqlen_q;
  }
  /// dK and dV of these keys, and dQ of these queries, by the runs that have them: for a sample,
  /// one tile of keys each.
  void carried_gradients(std::span<const SampleTile> key_tiles,
                         std::span<const SampleTile> query_tiles) {
    const int of_head = ceil_divide(problem_.seqlen_k, kWarpgroupRows);
    std::set<std::array<int, 3>> runs;
    const auto add = [&](int tile, int head, int batch) {
      if (tile < of_head) runs.insert({tile, head, batch});
    };
    constexpr int kTilesOfSample = kSampleRows / kWarpgroupRows;
    for (const auto& [tile, head, batch] : key_tiles) {
      for (int i = 0; i < kTilesOfSample; ++i) add(kTilesOfSample * tile + i, head, batch);
    }
    for (const auto& [tile, head, batch] : query_tiles) {
      for (int i = 0; i < kTilesOfSample; ++i) {
        const int step = kTilesOfSample * tile + i;
        if (step < of_head) add(tiles_of_step(params_.mask, step).end - 1, head, batch);
      }
    }
    visit_backward_carried(problem_, [&](auto row, auto id) {
      using Config = decltype(row);
      constexpr int kTilesOfRun = 7;
      const int count = runs.empty() ? ceil_divide(of_head, kTilesOfRun) : of_head;
      params_.grid.order = ItemOrder::kHeadsFirst;
      launch({.kernel = id,
              .grid = {count, problem_.heads, problem_.batch},
              .threads = Config::kThreads,
              .shared_bytes = sizeof(typename Config::Tiles),
              .blocks = {runs.begin(), runs.end()}},
             regions(nullptr), [](EmulatedMachine& machine, const BackwardParams& params) {
               attention_backward_carried<Config>(machine, params);
             });
    });
  }
  void round_sums(std::span<const SampleTile> query_tiles) {
    visit_backward_sums<Blocks::kDense>(problem_, [&](auto row, auto /*id*/) {
      const int blocks = params_.rows_per_head / kWarpgroupRows;
      const LaunchShape shape{.kernel = "hopper-fp32acc/bwd-round-dq",
                              .grid = {blocks, problem_.heads, problem_.batch},
                              .threads = RoundDqConfig::kThreads,
                              .shared_bytes = 0,
                              .blocks = blocks_of_tiles(query_tiles, kWarpgroupRows, blocks)};
      add_report(report_, emulate(shape, regions(nullptr), options_, [&](EmulatedMachine& machine) {
                   round_dq(machine, params_, decltype(row)::kHeadDim);
                 }));
    });
  }
  void query_gradients(std::span<const SampleTile> tiles) {
    visit_backward_dq<Blocks::kDense>(problem_, [&](auto row, auto id) {
      using Config = decltype(row);
      const ForwardGrid grid{
          id, Config::kThreads, sizeof(typename Config::Tiles), Config::kBlockM, {Config::kBlockN}};
      launch(forward_shape(problem_, grid, tiles), regions(nullptr), kernel_of_queries<Config>);
    });
  }

  void listed_key_gradients(std::span<const SampleTile> tiles) {
    visit_backward<Blocks::kSparse>(problem_, [&](auto row, auto id) {
      using Config = decltype(row);
      const SparseTileLists lists(*mask_, kSparseKeys<Config>);
      const int rows = lists.part_rows(), heads = problem_.key_heads();
      PartTensor dk("dk of parts", problem_, heads, rows), dv("dv of parts", problem_, heads, rows);
      give_key_parts(params_, problem_, rows, dk.data(), dv.data());
      launch_listed({id, Config::kThreads, sizeof(typename Config::Tiles), lists, heads,
                     problem_.batch, Config::kBlockKeys},
                    tiles, {&dk, &dv}, kernel_of_keys<Config>);
      const SplitRows split{lists.splits().data(), Config::kBlockKeys, problem_.seqlen_k, rows};
      const TensorShape keys = key_shape(problem_);
      sum_parts_of(lists, split, keys, tiles, dk, params_.part_dk, params_.dk, tensors_.dk);
      sum_parts_of(lists, split, keys, tiles, dv, params_.part_dv, params_.dv, tensors_.dv);
    });
  }
  void listed_query_gradients(std::span<const SampleTile> tiles) {
    visit_backward_dq<Blocks::kSparse>(problem_, [&](auto row, auto id) {
      using Config = decltype(row);
      const SparseTileLists lists(*mask_, kSparseQueries<Config>);
      PartTensor dq("dq of parts", problem_, problem_.heads, lists.part_rows());
      give_query_parts(params_, problem_, lists.part_rows(), dq.data());
      launch_listed({id, Config::kThreads, sizeof(typename Config::Tiles), lists, problem_.heads,
                     problem_.batch, Config::kBlockM},
                    tiles, {&dq}, kernel_of_queries<Config>);
      sum_parts_of(lists,
                   {lists.splits().data(), Config::kBlockM, problem_.seqlen_q, lists.part_rows()},
                   query_shape(problem_), tiles, dq, params_.part_dq, params_.dq, tensors_.dq);
    });
  }
  EmulationReport take_report() { return std::move(report_); }

 private:
  template <class Config>
  void launch_keys(Config /*row*/, const char* id, std::span<const SampleTile> tiles) {
    const int blocks = ceil_divide(problem_.seqlen_k, Config::kBlockKeys);
    launch({.kernel = id,
            .grid = {blocks, problem_.key_heads(), problem_.batch},
            .threads = Config::kThreads,
            .shared_bytes = sizeof(typename Config::Tiles),
            .blocks = blocks_of_tiles(tiles, Config::kBlockKeys, blocks),
            .work = steps_of_blocks<Config>(problem_)},
           regions(nullptr), kernel_of_keys<Config>);
  }
  template <class Config>
  static void kernel_of_keys(EmulatedMachine& machine, const BackwardParams& params) {
    attention_backward<Config>(machine, params);
  }
  template <class Config>
  static void kernel_of_queries(EmulatedMachine& machine, const BackwardParams& params) {
    attention_backward_dq<Config>(machine, params);
  }

  template <class Kernel>
  void launch(const LaunchShape& shape, std::span<const GlobalRegion> all, Kernel kernel) {
    add_report(report_, emulate_items(shape, all, options_, params_, kernel));
  }
  template <class Kernel>
  void launch_listed(const ListLaunch& of, std::span<const SampleTile> tiles,
                     const std::vector<PartTensor*>& parts, Kernel kernel) {
    params_.sparse = of.lists.on_host();
    std::vector<GlobalRegion> all = regions(&of.lists);
    for (PartTensor* const part : parts) part->append_written(all);
    launch(list_shape(of, tiles), all, kernel);
  }
  void sum_parts_of(const SparseTileLists& lists, const SplitRows& rows, const TensorShape& shape,
                    std::span<const SampleTile> tiles, PartTensor& parts,
                    const ChunkedView<Half>& part, const ChunkedView<Half>& whole,
                    const TensorView<Half>& tensor) {
    const LaunchShape shape_of_sum = split_shape("sum-parts", lists, rows.block_rows, shape, tiles);
    if (has_nothing(shape_of_sum, tiles)) return;
    const SumPartsParams params = sum_parts_params(rows, params_.head_chunks, part, whole);
    std::vector<GlobalRegion> all =
        regions_of(std::array{output_region("gradients", tensor, shape)});
    parts.append_read(all);
    append_list("splits", lists.splits(), all);
    add_report(report_, emulate(shape_of_sum, all, options_,
                                [&](EmulatedMachine& machine) { sum_parts(machine, params); }));
  }
  std::vector<GlobalRegion> regions(const SparseTileLists* lists) {
    std::vector<GlobalRegion> all = backward_regions(problem_, tensors_);
    all.push_back({"statistics", statistics_.data(), statistics_.size() * sizeof(StatisticsTile),
                   true, true});
    if (!dq_sums_.empty()) {
      all.push_back({"dq_sums", dq_sums_.data(), dq_sums_.size() * sizeof(float), true, true});
    }
    if (lists != nullptr) append_lists(*lists, all);
    return all;
  }

  const Problem problem_;
  const SparseMask* mask_;
  const BackwardTensors& tensors_;
  const EmulationOptions& options_;
  const int positions_;
  std::vector<StatisticsTile> statistics_;
  std::vector<float> dq_sums_;
  BackwardParams params_;
  EmulationReport report_;
};

}  // namespace

EmulationReport emulate_backward(const Problem& problem, const BackwardTensors& tensors,
                                 const EmulationOptions& options, DqForm dq,
                                 const BackwardSample& sample) {
  BackwardEmulation pass(problem, tensors, options, dq);
  pass.prepare();
  const bool is_everything = sample.is_everything();
  if (problem.sparse) {
    if (is_everything || !sample.key_tiles.empty()) pass.listed_key_gradients(sample.key_tiles);
    if (is_everything || !sample.query_tiles.empty()) {
      pass.listed_query_gradients(sample.query_tiles);
    }
  } else if (dq == DqForm::kCarried) {
    pass.carried_gradients(sample.key_tiles, sample.query_tiles);
  } else if (dq == DqForm::kSummed) {
    if (!sample.query_tiles.empty()) {
      pass.sum_queries(sample.query_tiles);
      pass.round_sums(sample.query_tiles);
    }
    if (is_everything || !sample.key_tiles.empty()) pass.summed_gradients(sample.key_tiles);
    if (is_everything) pass.round_sums({});
  } else {
    if (is_everything || !sample.key_tiles.empty()) pass.key_gradients(sample.key_tiles);
    if (is_everything || !sample.query_tiles.empty()) pass.query_gradients(sample.query_tiles);
  }
  return pass.take_report();
}

}  // namespace sparkbench::hopper
