#include "kernels/acsr/forward_emulated.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/acsr/instances.h"
#include "kernels/acsr/output.h"
#include "kernels/acsr/scores.h"
#include "kernels/acsr/softmax.h"
#include "kernels/machine/emulated/machine.h"
#include "kernels/pass_regions.h"

namespace sparkbench::acsr {
namespace {

constexpr Half kNeverWritten{0x7e5a};  // a NaN

/// One pass over values that no kernel has written yet.
class ForwardChain {
 public:
  ForwardChain(const Problem& problem, const ForwardTensors& tensors,
               const EmulationOptions& options, std::span<const SampleTile> tiles)
      : problem_(problem),
        tensors_(tensors),
        options_(options),
        rows_(problem),
        tables_(rows_.all_bytes()),
        values_(kChunkPlaces * static_cast<std::size_t>(problem.batch) *
                    rows_.chunks_of_heads(problem.heads),
                kNeverWritten),
        params_(chain_params(problem, tensors, rows_, values_.data(), tables_.data())),
        blocks_(blocks_of(tiles)) {}

  EmulationReport run() {
    bool is_served = visit_scores(problem_.head_dim, [&](auto row, const char* id) {
      using Config = decltype(row);
      launch(shape(id, Config::kThreads, sizeof(ScoresTiles<Config>), 1), false,
             compute_scores<Config, EmulatedMachine>);
    });
    launch(
        shape("acsr-unfused/fwd-softmax", SoftmaxConfig::kThreads, 0, SoftmaxConfig::kBlocksOfRows),
        true, normalize_rows<EmulatedMachine>);
    is_served = is_served && visit_output(problem_.head_dim, [&](auto row, const char* id) {
                  using Config = decltype(row);
                  launch(shape(id, Config::kThreads, sizeof(OutputTiles<Config>), 1), true,
                         compute_output<Config, EmulatedMachine>);
                });
    if (!is_served) {
      throw std::invalid_argument("no kernel of the chain is for head_dim " +
                                  std::to_string(problem_.head_dim));
    }
    return report_;
  }

 private:
  using Blocks = std::set<std::array<int, 3>>;

  /// Those with rows of a tile.
  Blocks blocks_of(std::span<const SampleTile> tiles) const {
    Blocks blocks;
    for (const SampleTile& of : tiles) {
      const int head = of[1], batch = of[2];
      for (int i = 0; i < rows_.blocks_of_head(); ++i) {
        const RowBlock& block = rows_.blocks_of(head)[i];
        const AffineRow* const first = rows_.rows_of(head) + block.first_row;
        const bool has_some = std::any_of(first, first + block.rows, [&of](const AffineRow& row) {
          return row.row / kSampleRows == of[0];
        });
        if (has_some) blocks.insert({i, head, batch});
      }
    }
    return blocks;
  }
  /// `parts` blocks of threads for each block of rows.
  LaunchShape shape(const char* id, int threads, std::size_t shared_bytes, int parts) const {
    LaunchShape shape;
    shape.kernel = id;
    shape.grid = {parts * rows_.blocks_of_head(), problem_.heads, problem_.batch};
    shape.threads = threads;
    shape.shared_bytes = shared_bytes;
    for (const auto& [index, head, batch] : blocks_) {
      for (int part = 0; part < parts; ++part) {
        shape.blocks.push_back({parts * index + part, head, batch});
      }
    }
    return shape;
  }
  template <class Kernel>
  void launch(const LaunchShape& shape, bool reads_values, Kernel kernel) {
    std::vector<GlobalRegion> regions = forward_regions(problem_, tensors_);
    regions.push_back({"rows", tables_.data(), tables_.size(), true, false});
    if (!values_.empty()) {
      regions.push_back(
          {"values", values_.data(), values_.size() * sizeof(Half), reads_values, true});
    }
    const ChainParams params = params_;
    add_report(report_, emulate(shape, regions, options_,
                                [&](EmulatedMachine& machine) { kernel(machine, params); }));
  }

  const Problem& problem_;
  const ForwardTensors& tensors_;
  const EmulationOptions& options_;
  MaskRows rows_;
  std::vector<std::byte> tables_;
  std::vector<Half> values_;
  ChainParams params_;
  Blocks blocks_;
  EmulationReport report_;
};

}  // namespace

EmulationReport emulate_forward(const Problem& problem, const ForwardTensors& tensors,
                                const EmulationOptions& options,
                                std::span<const SampleTile> tiles) {
  return ForwardChain(problem, tensors, options, tiles).run();
}

}  // namespace sparkbench::acsr
