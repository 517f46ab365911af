#include "kernels/volta/backward_emulated.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <string>

#include "kernels/launch/forward_launch.h"
#include "kernels/launch/pass_regions.h"
#include "kernels/machine/emulated/machine.h"
#include "kernels/volta/backward/rows.h"
#include "kernels/volta/backward/schedules.h"
#include "kernels/volta/backward/workspace.h"
#include "kernels/volta/dispatch.h"

namespace sparkbench::volta {
namespace {

using Tiles = std::vector<SampleTile>;

/// Of each block of keys, the steps of queries that it walks for one query head: its counts are
/// affine in them.
template <class Config>
std::vector<double> steps_of_blocks(const Problem& problem) {
  const KeyMask mask = problem.key_mask();
  std::vector<double> work;
  for (int key = 0; key < problem.seqlen_k; key += Config::kBlockKeys) {
    const int end = std::min(key + Config::kBlockKeys, problem.seqlen_k);
    const Range rows = mask.rows_of_any({key, end});
    const int first = first_tile<Config::kStep>(rows);
    work.push_back(rows.is_empty() ? 0.0 : ceil_divide(rows.end - first, Config::kStep));
  }
  return work;
}

/// The launches of one backward pass over one workspace, and what they report together.
class BackwardEmulation {
 public:
  /// `sums_bytes`: of those of dQ, 0 where there are none.
  BackwardEmulation(const Problem& problem, const BackwardTensors& tensors,
                    const EmulationOptions& options, std::size_t sums_bytes)
      : problem_(problem),
        tensors_(tensors),
        options_(options),
        statistics_(all_workspace_rows(problem)),
        dq_sums_(sums_bytes / sizeof(float)),
        params_(backward_params(problem, tensors,
                                {statistics_.data(), sums_bytes == 0 ? nullptr : dq_sums_.data(),
                                 workspace_rows(problem.seqlen_q)})) {}

  /// Blocks hand on the sums of dQ in launches that follow: no numbers before they are set to zero.
  void begin_relay(int slot_bits) {
    turns_.assign(std::size_t{1} << slot_bits, 0);
    params_.relay = make_relay(problem_, slot_bits, turns_.data());
    std::fill(dq_sums_.begin(), dq_sums_.end(), std::numeric_limits<float>::quiet_NaN());
  }
  /// Blocks in relay publish the statistics.
  void clear_statistics() {
    std::memset(static_cast<void*>(statistics_.data()), kUnpublishedByte,
                statistics_bytes(problem_));
  }
  /// As blocks of keys from `key_block` on leave it.
  void pass_turns_behind(int key_block) {
    const RelayGeometry geometry{params_.mask, params_.relay.last_key,
                                 relay_block_keys(problem_.head_dim)};
    for (int head = 0; head < problem_.batch * problem_.key_heads(); ++head) {
      for (int step = 0; step < relay_steps(problem_); ++step) {
        const int passed = std::max(0, geometry.last_block(step * kRelayStep) + 1 - key_block);
        for (int member = 0; member < problem_.group_size(); ++member) {
          const DqSlot slot = dq_slot(params_.relay, problem_.group_size(), head, member, step);
          turns_[slot.slot] = slot.first_turn + static_cast<std::uint32_t>(passed);
        }
      }
    }
  }

  /// What a launch takes besides the problem: `rows` in all, `rows_per_block` a block.
  struct Shape {
    const char* id;
    int rows, rows_per_block, threads;
    std::size_t shared_bytes;
    std::vector<double> work = {};  // of each block of rows; empty: equal
    bool is_of_keys = false;        // one block for all heads of a group
  };

  /// `tiles`, empty: all.
  template <class Kernel>
  void launch(Kernel kernel, const Shape& of_rows, const Tiles& tiles) {
    const int rows_per_block = of_rows.rows_per_block;
    LaunchShape shape{
        .kernel = of_rows.id,
        .grid = {ceil_divide(of_rows.rows, rows_per_block),
                 of_rows.is_of_keys ? problem_.key_heads() : problem_.heads, problem_.batch},
        .threads = of_rows.threads,
        .shared_bytes = of_rows.shared_bytes,
        .work = of_rows.work};
    for (const auto& tile : tiles) append_blocks(tile, rows_per_block, shape);
    launch(kernel, shape);
  }

  /// `tells_grid`: of launches of parts of one grid one tells what all of it counts.
  template <class Kernel>
  void launch(Kernel kernel, const LaunchShape& shape, bool tells_grid = true) {
    const BackwardParams params = params_;
    EmulationReport launched = emulate(shape, regions(), options_,
                                       [&](EmulatedMachine& machine) { kernel(machine, params); });
    if (is_restricted_ || !tells_grid) launched.grid_counters = {};
    add_report(report_, launched);
  }

  /// Only the queries of a tile take part in launches that follow. These are no part of the whole
  /// pass: the sampled keys tell its counts.
  void restrict_queries(const SampleTile& tile) {
    is_restricted_ = true;
    params_.query_begin = tile[0] * kSampleRows;
    params_.query_end = std::min((tile[0] + 1) * kSampleRows, problem_.seqlen_q);
    const int member = tile[1] % problem_.group_size();
    params_.walk = group_walk(problem_.seqlen_q, member, member + 1);
  }
  void lift_restriction() {
    is_restricted_ = false;
    params_.query_begin = 0;
    params_.query_end = problem_.seqlen_q;
    params_.walk = group_walk(problem_.seqlen_q, 0, problem_.group_size());
  }
  const Problem& problem() const { return problem_; }
  /// What has been launched is no part of the pass.
  void forget_report() { report_ = {}; }
  EmulationReport take_report() { return std::move(report_); }

 private:
  static void append_blocks(const SampleTile& tile, int rows_per_block, LaunchShape& shape) {
    const int first = tile[0] * kSampleRows / rows_per_block;
    const int end = std::min(first + kSampleRows / rows_per_block, shape.grid[0]);
    for (int block = first; block < end; ++block) shape.blocks.push_back({block, tile[1], tile[2]});
  }

  /// Each launch is a kernel of its own: what earlier ones wrote is there for it.
  std::vector<GlobalRegion> regions() {
    std::vector<GlobalRegion> all = backward_regions(problem_, tensors_);
    all.push_back({"statistics", statistics_.data(), statistics_bytes(problem_), true, true});
    all.back().is_published = params_.relay.prepares_statistics;
    if (!dq_sums_.empty()) {
      all.push_back({"dq_sums", dq_sums_.data(), dq_sums_.size() * sizeof(float), true, true});
    }
    if (!turns_.empty()) append_turns(turns_, !has_ordered_sums(problem_.head_dim), all);
    return all;
  }

  const Problem& problem_;
  const BackwardTensors& tensors_;
  const EmulationOptions& options_;
  std::vector<RowStatistics> statistics_;
  std::vector<float> dq_sums_;
  std::vector<std::uint32_t> turns_;
  BackwardParams params_;
  bool is_restricted_ = false;
  EmulationReport report_;
};

/// Every tile of queries of the heads that occur in a sample, and that read key heads of it.
Tiles tiles_of_same_heads(const Problem& problem, const BackwardSample& sample) {
  std::set<std::array<int, 2>> heads;
  for (const auto& tile : sample.query_tiles) heads.insert({tile[1], tile[2]});
  for (const auto& tile : sample.key_tiles) {
    const int first = tile[1] * problem.group_size();
    for (int m = 0; m < problem.group_size(); ++m) heads.insert({first + m, tile[2]});
  }
  Tiles all;
  for (const auto& head : heads) {
    for (int t = 0; t < sample_tiles_of(problem.seqlen_q); ++t) {
      all.push_back({t, head[0], head[1]});
    }
  }
  return all;
}

/// The tiles of keys that a row of the query tile sees: none where no row sees any.
Tiles tiles_of_visible_keys(const Problem& problem, const SampleTile& queries) {
  const int first = queries[0] * kSampleRows;
  const Range rows = {first, std::min(first + kSampleRows, problem.seqlen_q)};
  const Range keys = problem.key_mask().keys_of_any(rows);
  Tiles tiles;
  if (keys.is_empty()) return tiles;
  for (int t = keys.begin / kSampleRows; t * kSampleRows < keys.end; ++t) {
    tiles.push_back({t, problem.key_head(queries[1]), queries[2]});
  }
  return tiles;
}

/// Blocks of keys of a head that lie side by side.
struct KeyBlocks {
  int key_head, batch;
  Range blocks;
};

/// Those that make the gradients of a sample: of queries, all that these see. So a block never
/// rounds dQ of queries of the sample before it has all of it.
std::vector<KeyBlocks> key_blocks_of(const Problem& problem, const BackwardSample& sample) {
  std::set<std::array<int, 3>> blocks;  // batch, key head, block
  const int block_keys = relay_block_keys(problem.head_dim);
  const int of_tile = kSampleRows / block_keys, all = ceil_divide(problem.seqlen_k, block_keys);
  for (const SampleTile& keys : sample.key_tiles) {
    for (int i = of_tile * keys[0]; i < std::min(all, of_tile * (keys[0] + 1)); ++i) {
      blocks.insert({keys[2], keys[1], i});
    }
  }
  const KeyMask mask = problem.key_mask();
  const DqRelay relay = make_relay(problem, all_step_bits(problem), nullptr);
  const RelayGeometry geometry{mask, relay.last_key, block_keys};
  for (const SampleTile& queries : sample.query_tiles) {
    const int begin = kSampleRows * queries[0];
    for (int row = begin; row < std::min(begin + kSampleRows, problem.seqlen_q);
         row += kRelayStep) {
      for (int i = geometry.first_block(row); i <= geometry.last_block(row); ++i) {
        blocks.insert({queries[2], problem.key_head(queries[1]), i});
      }
    }
  }
  std::vector<KeyBlocks> found;
  for (const auto& [batch, key_head, block] : blocks) {
    const bool goes_on = !found.empty() && found.back().batch == batch &&
                         found.back().key_head == key_head && found.back().blocks.end == block;
    if (goes_on) {
      ++found.back().blocks.end;
    } else {
      found.push_back({key_head, batch, {block, block + 1}});
    }
  }
  return found;
}

/// One backward pass, launch by launch.
class BackwardPass {
 public:
  BackwardPass(Accumulator accumulator, const Wanted& wanted, BackwardEmulation& emulation)
      : accumulator_(accumulator),
        wanted_(wanted),
        problem_(emulation.problem()),
        emulation_(emulation) {}

  void prepare(const Tiles& tiles) const {
    visit_statistics(accumulator_, wanted_, [&](auto row, auto id) {
      using Config = decltype(row);
      emulation_.launch(
          [](EmulatedMachine& machine, const BackwardParams& params) {
            prepare_statistics<Config>(machine, params);
          },
          {id, workspace_rows(problem_.seqlen_q), Config::kBlockM, Config::kThreads, 0}, tiles);
    });
  }

  void key_gradients(bool computes_dq, const Tiles& tiles) const {
    visit_backward(accumulator_, computes_dq, wanted_, [&](auto row, auto id) {
      using Config = decltype(row);
      emulation_.launch(
          [](EmulatedMachine& machine, const BackwardParams& params) {
            attention_backward<Config>(machine, params);
          },
          {id, problem_.seqlen_k, Config::kBlockKeys, Config::kThreads,
           sizeof(BackwardTiles<Config>), steps_of_blocks<Config>(problem_), true},
          tiles);
    });
  }

  /// dK, dV and dQ by blocks that hand it on.
  void relayed_gradients(const BackwardSample& sample) const {
    visit_backward_relay(accumulator_, wanted_, [&](auto row, auto id) {
      using Config = decltype(row);
      const auto kernel = [](EmulatedMachine& machine, const BackwardParams& params) {
        attention_backward<Config>(machine, params);
      };
      std::vector<double> work = steps_of_blocks<Config>(problem_);
      std::reverse(work.begin(), work.end());
      const auto blocks = static_cast<int>(work.size());
      LaunchShape shape{.kernel = id,
                        .grid = {blocks, problem_.key_heads(), problem_.batch},
                        .threads = Config::kThreads,
                        .shared_bytes = sizeof(BackwardTiles<Config>),
                        .work = std::move(work)};
      if (sample.is_everything()) return emulation_.launch(kernel, shape);
      bool is_first = true;
      for (const KeyBlocks& keys : key_blocks_of(problem_, sample)) {
        shape.blocks.clear();
        for (int i = keys.blocks.begin; i < keys.blocks.end; ++i) {
          shape.blocks.push_back({blocks - 1 - i, keys.key_head, keys.batch});
        }
        emulation_.pass_turns_behind(keys.blocks.end);
        emulation_.launch(kernel, shape, is_first);
        is_first = false;
      }
    });
  }

  void dq(const Tiles& tiles) const {
    visit_backward_dq(accumulator_, wanted_, [&](auto row, auto id) {
      using Config = decltype(row);
      emulation_.launch(
          [](EmulatedMachine& machine, const BackwardParams& params) {
            attention_backward_dq<Config>(machine, params);
          },
          {id, problem_.seqlen_q, Config::kBlockM, Config::kThreads,
           sizeof(BackwardDqTiles<Config>),
           tiles_of_blocks(problem_, Config::kBlockM, {Config::kBlockN}, false)},
          tiles);
    });
  }

  void round(const Tiles& tiles) const {
    visit_round_dq(accumulator_, wanted_, [&](auto row, auto id) {
      using Config = decltype(row);
      emulation_.launch(
          [](EmulatedMachine& machine, const BackwardParams& params) {
            round_dq<Config>(machine, params);
          },
          {id, problem_.seqlen_q, Config::kBlockM, Config::kThreads, sizeof(RoundDqTiles<Config>)},
          tiles);
    });
  }

  /// A sample of dQ: its queries alone, over all keys that they see. Before the sampled keys, for
  /// it leaves partial sums in dK and dV.
  void sampled_dq(const Tiles& query_tiles) const {
    for (const SampleTile& tile : query_tiles) {
      const Tiles key_tiles = tiles_of_visible_keys(problem_, tile);
      if (key_tiles.empty()) continue;  // dQ stays zero; an empty list would mean all
      emulation_.restrict_queries(tile);
      key_gradients(true, key_tiles);
    }
    emulation_.lift_restriction();
    round(query_tiles);
  }

 private:
  Accumulator accumulator_;
  Wanted wanted_;
  const Problem& problem_;
  BackwardEmulation& emulation_;
};

}  // namespace

EmulationReport emulate_backward(Accumulator accumulator, const Problem& problem,
                                 const BackwardTensors& tensors, const EmulationOptions& options,
                                 bool is_deterministic, const BackwardSample& sample) {
  if (has_relay(problem, is_deterministic) &&
      visit_backward_relay(accumulator, {problem, options.shared_bytes_per_block},
                           [](auto, auto) {})) {
    const int slot_bits =
        sample.is_everything() ? relay_slot_bits(problem) : all_step_bits(problem);
    return emulate_backward_relay(accumulator, problem, tensors, options, slot_bits, sample);
  }
  BackwardEmulation emulation(problem, tensors, options, dq_sums_bytes(problem, is_deterministic));
  const BackwardPass pass(accumulator, {problem, options.shared_bytes_per_block}, emulation);
  pass.prepare(tiles_of_same_heads(problem, sample));
  if (is_deterministic) {
    pass.key_gradients(false, sample.key_tiles);
    pass.dq(sample.query_tiles);
  } else {
    if (!sample.is_everything()) pass.sampled_dq(sample.query_tiles);
    pass.key_gradients(true, sample.key_tiles);
    if (sample.is_everything()) pass.round({});
  }
  return emulation.take_report();
}

EmulationReport emulate_backward_relay(Accumulator accumulator, const Problem& problem,
                                       const BackwardTensors& tensors,
                                       const EmulationOptions& options, int slot_bits,
                                       const BackwardSample& sample) {
  BackwardEmulation emulation(problem, tensors, options, relay_sums_bytes(problem, slot_bits));
  const BackwardPass pass(accumulator, {problem, options.shared_bytes_per_block}, emulation);
  const bool is_sampled = !sample.is_everything();
  const bool blocks_prepare = prepares_statistics(problem.head_dim, problem.key_mask());
  if (blocks_prepare && !is_sampled) {
    emulation.clear_statistics();
  } else {
    // Of a sample's blocks, too, which publish theirs among those of blocks that do not run.
    pass.prepare(tiles_of_same_heads(problem, sample));
    if (blocks_prepare) emulation.forget_report();
  }
  emulation.begin_relay(slot_bits);
  pass.relayed_gradients(sample);
  return emulation.take_report();
}

}  // namespace sparkbench::volta
