#include "kernels/hopper/packed_emulated.h"

#include <vector>

#include "kernels/hopper/backward/dq_kernel.h"
#include "kernels/hopper/backward/kernel.h"
#include "kernels/hopper/backward/round_dq.h"
#include "kernels/hopper/backward/row_statistics.h"
#include "kernels/hopper/forward/kernel.h"
#include "kernels/hopper/items_emulated.h"
#include "kernels/hopper/packed_workspace.h"
#include "kernels/launch/pass_regions.h"
#include "kernels/varlen/emulated_work_list.h"
#include "kernels/varlen/emulated_work_list_sample.h"

namespace sparkbench::hopper {
namespace {

template <class Config>
LaunchShape packed_shape(const char* id, int heads, const EmulatedWorkList& list) {
  return {.kernel = id,
          .grid = packed_grid(heads, list.size()),
          .threads = Config::kThreads,
          .shared_bytes = sizeof(typename Config::Tiles)};
}

GlobalRegion lengths_region(const PackedLengths& lengths) {
  return {"cu_seqlens_q", const_cast<int*>(lengths.cu_seqlens_q),
          static_cast<std::size_t>(lengths.batch + 1) * sizeof(int), true};
}

/// The launches of a backward pass.
class PackedPass {
 public:
  PackedPass(const Problem& packed, const PackedLengths& lengths, const BackwardTensors& tensors,
             const EmulationOptions& options, DqForm dq, const BackwardSample& sample)
      : packed_(packed),
        lengths_(lengths),
        tensors_(tensors),
        options_(options),
        sample_(sample),
        statistics_(static_cast<std::size_t>(packed.heads) *
                    static_cast<std::size_t>(packed_positions(packed.seqlen_q, lengths.batch) /
                                             StatisticsTile::kRows)),
        dq_sums_(PackedBackwardWorkspace(packed, lengths.batch, dq).sums_bytes / sizeof(float)),
        params_(packed_backward_params(packed, lengths, tensors, statistics_.data(),
                                       encode_emulated_map)) {
    params_.dq_sums = dq_sums_.data();
  }

  void prepare() {
    if (lengths_.batch == 0) return;
    std::vector<GlobalRegion> all = regions();
    all.push_back(lengths_region(lengths_));
    const LaunchShape shape{
        .kernel = "hopper-fp32acc/bwd-statistics/packed",
        .grid = {params_.rows_per_head / StatisticsConfig::kBlockM, packed_.heads, 1},
        .threads = StatisticsConfig::kThreads,
        .shared_bytes = 0};
    add_report(report_, emulate(shape, all, options_, [&](EmulatedMachine& machine) {
                 prepare_statistics(machine, params_);
               }));
  }
  void key_gradients() {
    visit_backward<Blocks::kPacked>(packed_, [&](auto row, auto id) {
      using Config = decltype(row);
      launch<Config>(id, kPackedKeys<Config>, packed_.key_heads(), Config::kStep, sample_.key_tiles,
                     [](EmulatedMachine& machine, const BackwardParams& params) {
                       attention_backward<Config>(machine, params);
                     });
    });
  }
  void query_gradients() {
    visit_backward_dq<Blocks::kPacked>(packed_, [&](auto row, auto id) {
      using Config = decltype(row);
      launch<Config>(id, kPackedQueries<Config>, packed_.heads, Config::kBlockN,
                     sample_.query_tiles,
                     [](EmulatedMachine& machine, const BackwardParams& params) {
                       attention_backward_dq<Config>(machine, params);
                     });
    });
  }
  /// The same of both, with sums of dQ: of the sampled sequences all that adds to them.
  void summed_gradients() {
    if (lengths_.batch == 0) return;
    visit_backward_sums<Blocks::kPacked>(packed_, [&](auto row, auto id) {
      using Config = decltype(row);
      std::vector<SampleTile> tiles = sample_.query_tiles;
      tiles.insert(tiles.end(), sample_.key_tiles.begin(), sample_.key_tiles.end());
      launch<Config>(
          id, kPackedKeys<Config>, packed_.key_heads(), Config::kStep, tiles,
          [](EmulatedMachine& machine, const BackwardParams& params) {
            attention_backward<Config>(machine, params);
          },
          true);
      std::vector<GlobalRegion> all = regions();
      all.push_back(lengths_region(lengths_));
      const LaunchShape shape{.kernel = "hopper-fp32acc/bwd-round-dq/packed",
                              .grid = {params_.rows_per_head / kWarpgroupRows, packed_.heads, 1},
                              .threads = RoundDqConfig::kThreads,
                              .shared_bytes = 0};
      add_report(report_, emulate(shape, all, options_, [&](EmulatedMachine& machine) {
                   round_dq(machine, params_, Config::kHeadDim);
                 }));
    });
  }
  const EmulationReport& report() const { return report_; }

 private:
  template <class Config, class Kernel>
  void launch(const char* id, const WorkListKind& kind, int heads, int step,
              std::span<const SampleTile> tiles, Kernel kernel, bool takes_sequences = false) {
    const EmulatedWorkList list(packed_, lengths_, kind);
    if (list.size() == 0) return;
    add_report(report_, list.emulate(options_));
    params_.items = list.items();
    LaunchShape shape = packed_shape<Config>(id, heads, list);
    const SampledList sampled{list.params(), step};
    takes_sequences ? sampled.restrict_to_sequences(tiles, shape)
                    : sampled.restrict_to(tiles, shape);
    if (!sample_.is_everything() && shape.blocks.empty()) return;
    std::vector<GlobalRegion> all = regions();
    all.push_back(list.region());
    add_report(report_, emulate_items(shape, all, options_, params_, kernel));
  }
  std::vector<GlobalRegion> regions() {
    std::vector<GlobalRegion> all = backward_regions(packed_, tensors_);
    if (!statistics_.empty()) {
      all.push_back({"statistics", statistics_.data(), statistics_.size() * sizeof(StatisticsTile),
                     true, true});
    }
    if (!dq_sums_.empty()) {
      all.push_back({"dq_sums", dq_sums_.data(), dq_sums_.size() * sizeof(float), true, true});
    }
    return all;
  }

  const Problem& packed_;
  const PackedLengths& lengths_;
  const BackwardTensors& tensors_;
  const EmulationOptions& options_;
  const BackwardSample& sample_;
  std::vector<StatisticsTile> statistics_;
  std::vector<float> dq_sums_;
  BackwardParams params_;
  EmulationReport report_;
};

}  // namespace

EmulationReport emulate_packed_forward(const Problem& packed, const PackedLengths& lengths,
                                       const ForwardTensors& tensors,
                                       const EmulationOptions& options,
                                       std::span<const SampleTile> tiles) {
  check_packed(packed, lengths);
  LaunchParams params = launch_params(packed, tensors, encode_emulated_map);
  EmulationReport report;
  visit_forward<Blocks::kPacked>(packed, [&, tiles](auto row, auto id) {
    using Config = decltype(row);
    const EmulatedWorkList list(packed, lengths, kPackedQueries<Config>);
    if (list.size() == 0) return;
    report = list.emulate(options);
    params.items = list.items();
    LaunchShape shape = packed_shape<Config>(id, packed.heads, list);
    SampledList{list.params(), Config::kBlockN}.restrict_to(tiles, shape);
    std::vector<GlobalRegion> all = forward_regions(packed, tensors);
    all.push_back(list.region());
    add_report(report, emulate_items(shape, all, options, params,
                                     [](EmulatedMachine& machine, const LaunchParams& of) {
                                       attention_forward<Config>(machine, of);
                                     }));
  });
  return report;
}

EmulationReport emulate_packed_backward(const Problem& packed, const PackedLengths& lengths,
                                        const BackwardTensors& tensors,
                                        const EmulationOptions& options, DqForm dq,
                                        const BackwardSample& sample) {
  check_packed(packed, lengths);
  PackedPass pass(packed, lengths, tensors, options, dq, sample);
  pass.prepare();
  if (dq == DqForm::kSummed) {
    pass.summed_gradients();
  } else {
    pass.key_gradients();
    pass.query_gradients();
  }
  return pass.report();
}

}  // namespace sparkbench::hopper
