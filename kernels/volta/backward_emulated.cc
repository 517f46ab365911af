#include "kernels/volta/backward_emulated.h"

#include <algorithm>
#include <set>
#include <string>

#include "kernels/machine/emulated/machine.h"
#include "kernels/volta/backward.h"
#include "kernels/volta/backward_dispatch.h"
#include "kernels/volta/backward_dq.h"
#include "kernels/volta/backward_rows.h"
#include "kernels/volta/backward_workspace.h"
#include "kernels/volta/dispatch.h"

namespace sparkbench::volta {
namespace {

using Tiles = std::vector<std::array<int, 3>>;

/// The launches of one backward pass over one workspace, and what they report together.
class BackwardEmulation {
 public:
  BackwardEmulation(Accumulator accumulator, const Problem& problem, const BackwardTensors& tensors,
                    const EmulationOptions& options, bool is_deterministic)
      : problem_(problem),
        tensors_(tensors),
        options_(options),
        statistics_(all_workspace_rows(problem)),
        dq_sums_(dq_sums_bytes(problem, is_deterministic) / sizeof(float)),
        params_(backward_params(problem, tensors,
                                {statistics_.data(), is_deterministic ? nullptr : dq_sums_.data(),
                                 workspace_rows(problem.seqlen_q)})),
        name_(accumulator == Accumulator::kFp16 ? "volta-fp16acc/bwd" : "volta-fp32acc/bwd") {}

  /// `rows` in all, `rows_per_block` a block; `tiles` of kBackwardSampleRows rows, empty: all.
  template <class Kernel>
  void launch(Kernel kernel, int rows, int rows_per_block, int threads, std::size_t shared_bytes,
              const Tiles& tiles) {
    LaunchShape shape{.kernel = name_,
                      .grid = {ceil_divide(rows, rows_per_block), problem_.heads, problem_.batch},
                      .threads = threads,
                      .shared_bytes = shared_bytes};
    for (const auto& tile : tiles) append_blocks(tile, rows_per_block, shape);
    const BackwardParams params = params_;
    EmulationReport launched = emulate(shape, regions(), options_,
                                       [&](EmulatedMachine& machine) { kernel(machine, params); });
    if (is_restricted_) launched.grid_counters = {};
    add_report(report_, launched);
  }

  /// Launches that follow are no part of the whole pass: the sampled keys tell its counts.
  void restrict_queries(int begin, int end) {
    is_restricted_ = true;
    params_.query_begin = begin;
    params_.query_end = std::min(end, problem_.seqlen_q);
  }
  void lift_restriction() {
    is_restricted_ = false;
    params_.query_begin = 0;
    params_.query_end = problem_.seqlen_q;
  }
  const Problem& problem() const { return problem_; }
  EmulationReport take_report() { return std::move(report_); }

 private:
  static void append_blocks(const std::array<int, 3>& tile, int rows_per_block,
                            LaunchShape& shape) {
    const int first = tile[0] * kBackwardSampleRows / rows_per_block;
    const int end = std::min(first + kBackwardSampleRows / rows_per_block, shape.grid[0]);
    for (int block = first; block < end; ++block) shape.blocks.push_back({block, tile[1], tile[2]});
  }

  /// Each launch is a kernel of its own: what earlier ones wrote is there for it.
  std::vector<GlobalRegion> regions() {
    const BackwardTensors& t = tensors_;
    const std::size_t q_bytes = problem_.q_elements() * sizeof(Half);
    const std::size_t k_bytes = problem_.k_elements() * sizeof(Half);
    const auto input = [](std::string name, const void* base, std::size_t bytes) {
      return GlobalRegion{std::move(name), const_cast<void*>(base), bytes, true, false};
    };
    std::vector<GlobalRegion> all = {
        input("q", t.q.data, q_bytes),
        input("k", t.k.data, k_bytes),
        input("v", t.v.data, k_bytes),
        input("o", t.o.data, q_bytes),
        input("d_o", t.d_o.data, q_bytes),
        input("lse", t.lse, problem_.lse_elements() * sizeof(float)),
        {"dq", t.dq.data, q_bytes, false, true},
        {"dk", t.dk.data, k_bytes, false, true},
        {"dv", t.dv.data, k_bytes, false, true},
        {"statistics", statistics_.data(), statistics_bytes(problem_), true, true}};
    if (!dq_sums_.empty()) {
      all.push_back({"dq_sums", dq_sums_.data(), dq_sums_.size() * sizeof(float), true, true});
    }
    return all;
  }

  const Problem& problem_;
  const BackwardTensors& tensors_;
  const EmulationOptions& options_;
  std::vector<RowStatistics> statistics_;
  std::vector<float> dq_sums_;
  BackwardParams params_;
  bool is_restricted_ = false;
  std::string name_;
  EmulationReport report_;
};

/// Every tile of `rows` rows of the heads that occur in `tiles`.
Tiles tiles_of_same_heads(const Tiles& tiles, int rows) {
  std::set<std::array<int, 2>> heads;
  for (const auto& tile : tiles) heads.insert({tile[1], tile[2]});
  Tiles all;
  for (const auto& head : heads) {
    for (int t = 0; t < ceil_divide(rows, kBackwardSampleRows); ++t) {
      all.push_back({t, head[0], head[1]});
    }
  }
  return all;
}

template <Accumulator kAccumulator, int kHeadDim>
void emulate_statistics(BackwardEmulation& emulation, const Tiles& tiles) {
  emulation.launch(
      [](EmulatedMachine& machine, const BackwardParams& params) {
        prepare_statistics<kAccumulator, kHeadDim>(machine, params);
      },
      workspace_rows(emulation.problem().seqlen_q), kRowsPerBlock, kRowThreads, 0, tiles);
}

template <Accumulator kAccumulator, int kHeadDim>
void emulate_round_dq(BackwardEmulation& emulation, const Tiles& tiles) {
  emulation.launch(
      [](EmulatedMachine& machine, const BackwardParams& params) {
        round_dq<kAccumulator, kHeadDim>(machine, params);
      },
      emulation.problem().seqlen_q, kRowsPerBlock, kRowThreads, sizeof(RoundDqTiles<kHeadDim>),
      tiles);
}

template <class Config>
void emulate_key_gradients(BackwardEmulation& emulation, const Tiles& tiles) {
  emulation.launch(
      [](EmulatedMachine& machine, const BackwardParams& params) {
        attention_backward<Config>(machine, params);
      },
      emulation.problem().seqlen_k, Config::kBlockKeys, Config::kThreads,
      sizeof(BackwardTiles<Config>), tiles);
}

template <class Config>
void emulate_dq(BackwardEmulation& emulation, const Tiles& tiles) {
  emulation.launch(
      [](EmulatedMachine& machine, const BackwardParams& params) {
        attention_backward_dq<Config>(machine, params);
      },
      emulation.problem().seqlen_q, Config::kBlockM, Config::kThreads,
      sizeof(BackwardDqTiles<Config>), tiles);
}

/// A sample of dQ: its queries alone, over all keys of their heads. Before the sampled keys, for
/// it leaves partial sums in dK and dV.
template <class Config>
void emulate_sampled_dq(BackwardEmulation& emulation, const Tiles& query_tiles) {
  for (const auto& tile : query_tiles) {
    const int first = tile[0] * kBackwardSampleRows;
    emulation.restrict_queries(first, first + kBackwardSampleRows);
    emulate_key_gradients<Config>(emulation,
                                  tiles_of_same_heads({tile}, emulation.problem().seqlen_k));
  }
  emulation.lift_restriction();
  emulate_round_dq<Config::kAccumulator, Config::kHeadDim>(emulation, query_tiles);
}

}  // namespace

EmulationReport emulate_backward(Accumulator accumulator, const Problem& problem,
                                 const BackwardTensors& tensors, const EmulationOptions& options,
                                 bool is_deterministic, const BackwardSample& sample) {
  BackwardEmulation emulation(accumulator, problem, tensors, options, is_deterministic);
  Tiles sampled = sample.query_tiles;
  sampled.insert(sampled.end(), sample.key_tiles.begin(), sample.key_tiles.end());
  visit_instance(accumulator, problem, [&](auto mma, auto head_dim, auto dropout) {
    constexpr int kHeadDim = head_dim.value;
    emulate_statistics<mma.value, kHeadDim>(emulation,
                                            tiles_of_same_heads(sampled, problem.seqlen_q));
    if (is_deterministic) {
      visit_backward_that_fits<mma.value, kHeadDim, dropout.value, false>(
          options.shared_bytes_per_block, [&](auto config) {
            emulate_key_gradients<decltype(config)>(emulation, sample.key_tiles);
          });
      visit_backward_dq_that_fits<mma.value, kHeadDim, dropout.value>(
          options.shared_bytes_per_block,
          [&](auto config) { emulate_dq<decltype(config)>(emulation, sample.query_tiles); });
      return;
    }
    visit_backward_that_fits<mma.value, kHeadDim, dropout.value, true>(
        options.shared_bytes_per_block, [&](auto config) {
          using Config = decltype(config);
          if (!sample.is_everything()) emulate_sampled_dq<Config>(emulation, sample.query_tiles);
          emulate_key_gradients<Config>(emulation, sample.key_tiles);
        });
    if (sample.is_everything()) emulate_round_dq<mma.value, kHeadDim>(emulation, {});
  });
  return emulation.take_report();
}

}  // namespace sparkbench::volta
