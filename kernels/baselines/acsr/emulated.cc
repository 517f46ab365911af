#include "kernels/baselines/acsr/emulated.h"

#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/baselines/acsr/emulated_steps.h"
#include "kernels/baselines/acsr/head_dims.h"
#include "kernels/launch/pass_regions.h"

namespace sparkbench::acsr {
namespace {

constexpr Half kNeverWritten{0x7e5a};  // a NaN

using Regions = std::vector<GlobalRegion>;
/// Blocks of a launch, as {index, head, batch}; empty: all.
using Blocks = std::set<std::array<int, 3>>;

/// Shared by both passes: a mask's rows, and memory for a value of each pair.
class EmulatedChain {
 public:
  EmulatedChain(const Problem& problem, const EmulationOptions& options)
      : problem_(problem),
        options_(options),
        rows_(problem),
        tables_(rows_.all_bytes()),
        values_(kChunkPlaces * static_cast<std::size_t>(problem.batch) *
                    rows_.chunks_of_heads(problem.heads),
                kNeverWritten) {
    if (problem.head_dim > kMostHeadDim || problem.head_dim % kChunkHalves != 0) {
      throw std::invalid_argument("no kernel of the chain is for head_dim " +
                                  std::to_string(problem.head_dim));
    }
  }

  /// Blocks with rows of these tiles.
  Blocks row_blocks_of(std::span<const SampleTile> tiles) const {
    Blocks blocks;
    for (const SampleTile& of : tiles) {
      for (int i = 0; i < rows_.blocks_of_head(); ++i) {
        const RowBlock& block = rows_.blocks_of(of[1])[i];
        const AffineRow* const first = rows_.rows_of(of[1]) + block.first_row;
        const bool has_some = std::any_of(first, first + block.rows, [&of](const AffineRow& row) {
          return row.row / kSampleRows == of[0];
        });
        if (has_some) blocks.insert({i, of[1], of[2]});
      }
    }
    return blocks;
  }

  EmulationReport scores(const ChainParams& params, const Blocks& blocks, const Regions& regions) {
    return launch_rows(scores_step(problem_, params), false, params, blocks, regions);
  }
  EmulationReport softmax(const ChainParams& params, const Blocks& blocks, const Regions& regions) {
    return launch_rows(softmax_step(params), true, params, blocks, regions);
  }
  EmulationReport output(const ChainParams& params, const Blocks& blocks, const Regions& regions) {
    return launch_rows(output_step(problem_, params), true, params, blocks, regions);
  }

 protected:
  EmulationReport launch_rows(const EmulatedStep& step, bool reads_values,
                              const ChainParams& params, const Blocks& blocks,
                              const Regions& regions) {
    return launch_rows(step, blocks, with_values(regions, params.values, reads_values));
  }
  EmulationReport launch_rows(const EmulatedStep& step, const Blocks& blocks, Regions regions) {
    LaunchShape shape;
    shape.kernel = step.id;
    shape.grid = {step.parts * rows_.blocks_of_head(), problem_.heads, problem_.batch};
    shape.threads = step.threads;
    shape.shared_bytes = step.shared_bytes;
    for (const auto& [index, head, batch] : blocks) {
      for (int part = 0; part < step.parts; ++part) {
        shape.blocks.push_back({step.parts * index + part, head, batch});
      }
    }
    return launch(shape, std::move(regions), step.kernel);
  }
  Regions with_values(Regions regions, Half* values, bool are_written) const {
    if (values_.empty()) return regions;
    regions.push_back({"values", values, values_.size() * sizeof(Half), are_written, true});
    return regions;
  }
  EmulationReport launch(const LaunchShape& shape, Regions regions, const EmulatedKernel& kernel) {
    regions.push_back({"rows", tables_.data(), tables_.size(), true, false});
    return emulate(shape, regions, options_, kernel);
  }

  const Problem& problem_;
  const EmulationOptions& options_;
  MaskRows rows_;
  std::vector<std::byte> tables_;
  std::vector<Half> values_;
};

class EmulatedForward : public EmulatedChain {
 public:
  using EmulatedChain::EmulatedChain;

  EmulationReport run(const ForwardTensors& tensors, std::span<const SampleTile> tiles) {
    const ChainParams params =
        chain_params(problem_, tensors, rows_, values_.data(), tables_.data());
    const Blocks blocks = row_blocks_of(tiles);
    const Regions regions = forward_regions(problem_, tensors);
    EmulationReport report = scores(params, blocks, regions);
    add_report(report, softmax(params, blocks, regions));
    add_report(report, output(params, blocks, regions));
    return report;
  }
};

class EmulatedBackward : public EmulatedChain {
 public:
  EmulatedBackward(const Problem& problem, const EmulationOptions& options)
      : EmulatedChain(problem, options), keys_(problem, rows_), gradients_(values_) {
    const std::vector<std::byte> of_keys = keys_.all_bytes();
    tables_.insert(tables_.end(), of_keys.begin(), of_keys.end());
  }

  EmulationReport run(const BackwardTensors& tensors, const BackwardSample& sample) {
    const Blocks of_queries = row_blocks_of(sample.query_tiles);
    const Blocks of_keys = key_blocks_of(sample.key_tiles);
    const Blocks rows = sample.is_everything() ? Blocks{} : rows_of(of_queries, of_keys);
    compute_probabilities(tensors, rows);
    const GradientParams params = gradient_params(problem_, tensors, rows_, keys_, values_.data(),
                                                  gradients_.data(), tables_.data());
    const Regions regions = backward_regions(problem_, tensors);
    EmulationReport report = scores(params.scores, rows, regions);
    add_report(report, differentiate(params, rows, regions));
    const bool is_everything = sample.is_everything();
    if (is_everything || !of_queries.empty()) {
      add_report(report, output(params.dq, of_queries, regions));
    }
    if (is_everything || !of_keys.empty()) {
      add_report(report, key_gradient(params.dv, of_keys, regions));
      add_report(report, key_gradient(params.dk, of_keys, regions));
    }
    return report;
  }

 private:
  /// P as the forward pass leaves it, with an O and an LSE that nobody reads.
  void compute_probabilities(const BackwardTensors& tensors, const Blocks& rows) {
    std::vector<Half> o(problem_.q_elements());
    std::vector<float> lse(problem_.lse_elements());
    const ForwardTensors forward = {tensors.q, tensors.k, tensors.v,
                                    contiguous_queries(problem_, o.data()), lse.data()};
    const ChainParams params =
        chain_params(problem_, forward, rows_, values_.data(), tables_.data());
    const Regions regions = forward_regions(problem_, forward);
    scores(params, rows, regions);
    softmax(params, rows, regions);
  }
  EmulationReport differentiate(const GradientParams& params, const Blocks& rows,
                                const Regions& regions) {
    return launch_rows(softmax_gradient_step(params.scores, params.probabilities), rows,
                       with_probabilities(with_values(regions, gradients_.data(), true)));
  }
  EmulationReport key_gradient(const ChainParams& params, const Blocks& blocks,
                               const Regions& regions) {
    const EmulatedStep step = key_gradient_step(problem_, params);
    LaunchShape shape;
    shape.kernel = step.id;
    shape.grid = {keys_.blocks_of_head(), problem_.key_heads(), problem_.batch};
    shape.threads = step.threads;
    shape.shared_bytes = step.shared_bytes;
    shape.blocks = {blocks.begin(), blocks.end()};
    return launch(shape, with_values(regions, params.values, true), step.kernel);
  }
  Regions with_probabilities(Regions regions) {
    if (values_.empty()) return regions;
    regions.push_back(
        {"probabilities", values_.data(), values_.size() * sizeof(Half), true, false});
    return regions;
  }

  /// Blocks with keys of these tiles.
  Blocks key_blocks_of(std::span<const SampleTile> tiles) const {
    Blocks blocks;
    for (const SampleTile& of : tiles) {
      const int first = of[0] * kSampleRows;
      const int end = std::min(first + kSampleRows, problem_.seqlen_k);
      for (int i = 0; i < keys_.blocks_of_head(); ++i) {
        const KeyBlock& block = keys_.blocks_of(of[1] * problem_.group_size())[i];
        for (int place = block.first_place;
             block.stride > 0 && place < block.first_place + kBlockPlaces; ++place) {
          const int key = block.residue + block.stride * place;
          if (key < first || key >= end) continue;
          blocks.insert({i, of[1], of[2]});
          break;
        }
      }
    }
    return blocks;
  }
  /// The blocks of rows whose values these need.
  Blocks rows_of(const Blocks& of_queries, const Blocks& of_keys) const {
    Blocks all = of_queries;
    for (const auto& [index, key_head, batch] : of_keys) {
      for (int member = 0; member < problem_.group_size(); ++member) {
        const int head = key_head * problem_.group_size() + member;
        const KeyBlock& keys = keys_.blocks_of(head)[index];
        for (int i = 0; i < rows_.blocks_of_head(); ++i) {
          const RowBlock& block = rows_.blocks_of(head)[i];
          if (block.first_row < keys.end_row && block.first_row + block.rows > keys.first_row) {
            all.insert({i, head, batch});
          }
        }
      }
    }
    return all;
  }

  MaskKeys keys_;
  std::vector<Half> gradients_;
};

}  // namespace

EmulationReport emulate(const PlanRequest& request, const EmulationOptions& options,
                        const BackwardSample& sample) {
  const Problem& problem = request.problem;
  return request.forward != nullptr
             ? EmulatedForward(problem, options).run(*request.forward, sample.query_tiles)
             : EmulatedBackward(problem, options).run(*request.backward, sample);
}

}  // namespace sparkbench::acsr
