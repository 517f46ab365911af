#include "kernels/volta/packed_emulated.h"

#include <utility>
#include <vector>

#include "kernels/launch/pass_regions.h"
#include "kernels/machine/emulated/machine.h"
#include "kernels/varlen/emulated_work_list.h"
#include "kernels/varlen/emulated_work_list_sample.h"
#include "kernels/volta/backward/rows.h"
#include "kernels/volta/backward/schedules.h"
#include "kernels/volta/backward/workspace.h"
#include "kernels/volta/dispatch.h"
#include "kernels/volta/forward/schedules.h"
#include "kernels/volta/packed_lists.h"

namespace sparkbench::volta {
namespace {

/// The launches of one backward pass over one workspace, and what they report together.
class PackedBackwardPass {
 public:
  PackedBackwardPass(Accumulator accumulator, const Problem& packed, const PackedLengths& lengths,
                     const BackwardTensors& tensors, const EmulationOptions& options,
                     bool is_deterministic, const BackwardSample& sample)
      : accumulator_(accumulator),
        packed_(packed),
        wanted_{packed, options.shared_bytes_per_block},
        lengths_(lengths),
        tensors_(tensors),
        options_(options),
        sample_(sample),
        queries_(packed, lengths, kQueryList),
        statistics_(all_workspace_rows(workspace_problem(packed, lengths.batch))),
        dq_sums_(dq_sums_bytes(workspace_problem(packed, lengths.batch), is_deterministic) /
                 sizeof(float)),
        params_(
            backward_params(packed, tensors,
                            {statistics_.data(), is_deterministic ? nullptr : dq_sums_.data(),
                             workspace_rows(workspace_problem(packed, lengths.batch).seqlen_q)})) {
    params_.query_items = queries_.items();
  }

  void prepare() {
    add_report(report_, queries_.emulate(options_));
    visit_statistics<Blocks::kPacked>(accumulator_, wanted_, [&](auto row, auto id) {
      using Config = decltype(row);
      launch({id, Config::kThreads, 0}, packed_.heads * kBlocksOfItem<Config>, queries_,
             [](EmulatedMachine& machine, const BackwardParams& params) {
               prepare_statistics<Config>(machine, params);
             },
             {kSampleRows, {}, true});
    });
  }
  void key_gradients(bool computes_dq) {
    visit_backward<Blocks::kPacked>(accumulator_, computes_dq, wanted_, [&](auto row, auto id) {
      using Config = decltype(row);
      const EmulatedWorkList keys(packed_, lengths_, kKeyList<Config>);
      add_report(report_, keys.emulate(options_));
      params_.key_items = keys.items();
      launch({id, Config::kThreads, sizeof(BackwardTiles<Config>)}, packed_.key_heads(), keys,
             [](EmulatedMachine& machine, const BackwardParams& params) {
               attention_backward<Config>(machine, params);
             },
             {Config::kStep, sample_.key_tiles});
    });
  }
  void dq() {
    visit_backward_dq<Blocks::kPacked>(accumulator_, wanted_, [&](auto row, auto id) {
      using Config = decltype(row);
      launch({id, Config::kThreads, sizeof(BackwardDqTiles<Config>)},
             packed_.heads * kBlocksOfItem<Config>, queries_,
             [](EmulatedMachine& machine, const BackwardParams& params) {
               attention_backward_dq<Config>(machine, params);
             },
             {Config::kBlockN, sample_.query_tiles});
    });
  }
  void round() {
    visit_round_dq<Blocks::kPacked>(accumulator_, wanted_, [&](auto row, auto id) {
      using Config = decltype(row);
      launch({id, Config::kThreads, sizeof(RoundDqTiles<Config>)},
             packed_.heads * kBlocksOfItem<Config>, queries_,
             [](EmulatedMachine& machine, const BackwardParams& params) {
               round_dq<Config>(machine, params);
             },
             {kSampleRows, {}, true});
    });
  }
  EmulationReport take_report() { return std::move(report_); }

 private:
  struct Instance {
    const char* id;
    int threads;
    std::size_t shared_bytes;
  };

  /// What of the list's blocks runs: of rows, every head of the sampled sequences.
  struct Part {
    int step;  // that a block walks at a time
    std::span<const SampleTile> tiles;
    bool is_of_rows = false;
  };

  template <class Kernel>
  void launch(const Instance& of, int blocks_of_item, const EmulatedWorkList& list, Kernel kernel,
              const Part& part) {
    if (list.size() == 0) return;
    LaunchShape shape{.kernel = of.id,
                      .grid = packed_grid(blocks_of_item, list.size()),
                      .threads = of.threads,
                      .shared_bytes = of.shared_bytes};
    const SampledList sampled{list, part.step};
    if (part.is_of_rows) {
      sampled.restrict_to_sequences(sample_.query_tiles, shape);
    } else {
      sampled.restrict_to(part.tiles, shape);
    }
    if (!sample_.is_everything() && shape.blocks.empty()) return;
    std::vector<GlobalRegion> all = regions();
    all.push_back(list.region());
    const BackwardParams params = params_;
    add_report(report_, emulate(shape, all, options_,
                                [&](EmulatedMachine& machine) { kernel(machine, params); }));
  }

  std::vector<GlobalRegion> regions() {
    std::vector<GlobalRegion> all = backward_regions(packed_, tensors_);
    append_workspace("statistics", statistics_, all);
    append_workspace("dq_sums", dq_sums_, all);
    return all;
  }
  /// Each launch is a kernel of its own: what earlier ones wrote is there for it.
  template <class T>
  static void append_workspace(const char* name, std::vector<T>& part,
                               std::vector<GlobalRegion>& all) {
    if (!part.empty()) all.push_back({name, part.data(), part.size() * sizeof(T), true, true});
  }

  Accumulator accumulator_;
  const Problem& packed_;
  Wanted wanted_;
  const PackedLengths& lengths_;
  const BackwardTensors& tensors_;
  const EmulationOptions& options_;
  const BackwardSample& sample_;
  EmulatedWorkList queries_;
  std::vector<RowStatistics> statistics_;
  std::vector<float> dq_sums_;
  BackwardParams params_;
  EmulationReport report_;
};

}  // namespace

EmulationReport emulate_packed_forward(Accumulator accumulator, const Problem& packed,
                                       const PackedLengths& lengths, const ForwardTensors& tensors,
                                       const EmulationOptions& options,
                                       std::span<const SampleTile> tiles) {
  check_packed(packed, lengths);
  ForwardParams params = forward_params(packed, tensors);
  EmulationReport report;
  const Wanted wanted{packed, options.shared_bytes_per_block};
  visit_forward<Blocks::kPacked>(accumulator, wanted, [&, tiles](auto row, auto id) {
    using Config = decltype(row);
    const EmulatedWorkList list(packed, lengths, kForwardList<Config>);
    if (list.size() == 0) return;
    report = list.emulate(options);
    params.items = list.items();
    LaunchShape shape{.kernel = id,
                      .grid = packed_grid(packed.heads, list.size()),
                      .threads = Config::kThreads,
                      .shared_bytes = sizeof(ForwardTiles<Config>)};
    SampledList{list, Config::kBlockN}.restrict_to(tiles, shape);
    std::vector<GlobalRegion> all = forward_regions(packed, tensors);
    all.push_back(list.region());
    add_report(report, emulate(shape, all, options, [&](EmulatedMachine& machine) {
                 attention_forward<Config>(machine, params);
               }));
  });
  return report;
}

EmulationReport emulate_packed_backward(Accumulator accumulator, const Problem& packed,
                                        const PackedLengths& lengths,
                                        const BackwardTensors& tensors,
                                        const EmulationOptions& options, bool is_deterministic,
                                        const BackwardSample& sample) {
  check_packed(packed, lengths);
  PackedBackwardPass pass(accumulator, packed, lengths, tensors, options, is_deterministic, sample);
  pass.prepare();
  pass.key_gradients(!is_deterministic);
  if (is_deterministic) {
    pass.dq();
  } else {
    pass.round();
  }
  return pass.take_report();
}

}  // namespace sparkbench::volta
