#include "kernels/baselines/acsr/emulated.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/baselines/acsr/params.h"
#include "kernels/baselines/acsr/plan.h"
#include "kernels/launch/run_emulated.h"

namespace sparkbench::acsr {
namespace {

/// Blocks of rows, or of keys, as {index, head, batch}; empty: all.
using Blocks = std::set<std::array<int, 3>>;

/// A part that is taken again by its name is the same memory: the backward pass finds P. Memory
/// starts as NaN, so that a read before a write shows.
class KeptWorkspace : public HostWorkspace {
 public:
  using Workspace::take;

  void* take(const char* name, std::uint64_t bytes) override {
    void*& part = parts_[name];
    if (part != nullptr) return part;
    part = HostWorkspace::take(name, bytes);
    std::fill_n(static_cast<Half*>(part), bytes / sizeof(Half), Half{0x7e5a});
    return part;
  }

 private:
  std::map<std::string, void*> parts_;
};

/// Finds the blocks that compute a sample's tiles.
class SampledBlocks {
 public:
  explicit SampledBlocks(const PlanRequest& request)
      : problem_(request.problem), tables_(static_cast<const ChainTables&>(*request.tables)) {}

  /// Blocks with rows of these tiles.
  Blocks of_rows(std::span<const SampleTile> tiles) const {
    Blocks blocks;
    for (const SampleTile& of : tiles) {
      for (int i = 0; i < tables_.rows.blocks_of_head(); ++i) {
        const RowBlock& block = tables_.rows.blocks_of(of[1])[i];
        const AffineRow* const first = tables_.rows.rows_of(of[1]) + block.first_row;
        const bool has_some = std::any_of(first, first + block.rows, [&of](const AffineRow& row) {
          return row.row / kSampleRows == of[0];
        });
        if (has_some) blocks.insert({i, of[1], of[2]});
      }
    }
    return blocks;
  }

  /// Blocks with keys of these tiles.
  Blocks of_keys(std::span<const SampleTile> tiles) const {
    Blocks blocks;
    for (const SampleTile& of : tiles) {
      const int first = of[0] * kSampleRows;
      const int end = std::min(first + kSampleRows, problem_.seqlen_k);
      for (int i = 0; i < tables_.keys->blocks_of_head(); ++i) {
        const KeyBlock& block = tables_.keys->blocks_of(of[1] * problem_.group_size())[i];
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
  Blocks of_both(const Blocks& rows, const Blocks& keys) const {
    Blocks all = rows;
    for (const auto& [index, key_head, batch] : keys) {
      for (int member = 0; member < problem_.group_size(); ++member) {
        const int head = key_head * problem_.group_size() + member;
        const KeyBlock& seen = tables_.keys->blocks_of(head)[index];
        for (int i = 0; i < tables_.rows.blocks_of_head(); ++i) {
          const RowBlock& block = tables_.rows.blocks_of(head)[i];
          if (block.first_row < seen.end_row && block.first_row + block.rows > seen.first_row) {
            all.insert({i, head, batch});
          }
        }
      }
    }
    return all;
  }

 private:
  const Problem& problem_;
  const ChainTables& tables_;
};

/// Runs all CTAs of these blocks; of all blocks if there are none.
void run_blocks(const Step& step, const Blocks& blocks, PassRun& pass) {
  LaunchShape shape = shape_of(step);
  const int parts = parts_of(*step.instance);
  for (const auto& [index, head, batch] : blocks) {
    for (int part = 0; part < parts; ++part) {
      shape.blocks.push_back({parts * index + part, head, batch});
    }
  }
  pass.run(step, shape);
}

/// P as the forward pass leaves it, with an O and an LSE that nobody reads.
void compute_probabilities(const PlanRequest& request, const EmulationOptions& options,
                           const Blocks& rows, Workspace& workspace) {
  const Problem& problem = request.problem;
  const BackwardTensors& given = *request.backward;
  std::vector<Half> o(problem.q_elements());
  std::vector<float> lse(problem.lse_elements());
  const ForwardTensors tensors = {given.q, given.k, given.v, contiguous_queries(problem, o.data()),
                                  lse.data()};
  PlanRequest forward = request;
  forward.forward = &tensors;
  PassRun pass(forward, options);
  for (const Step& step : plan(forward, workspace)) {
    if (step.instance->pass() != "spmm") run_blocks(step, rows, pass);
  }
}

EmulationReport run_forward(const PlanRequest& request, const EmulationOptions& options,
                            std::span<const SampleTile> tiles) {
  KeptWorkspace workspace;
  const Blocks rows = SampledBlocks(request).of_rows(tiles);
  PassRun pass(request, options);
  for (const Step& step : plan(request, workspace)) run_blocks(step, rows, pass);
  return pass.take_report();
}

EmulationReport run_backward(const PlanRequest& request, const EmulationOptions& options,
                             const BackwardSample& sample) {
  const SampledBlocks blocks(request);
  const Blocks queries = blocks.of_rows(sample.query_tiles);
  const Blocks keys = blocks.of_keys(sample.key_tiles);
  const bool is_everything = sample.is_everything();
  const Blocks rows = is_everything ? Blocks{} : blocks.of_both(queries, keys);
  KeptWorkspace workspace;
  if (is_everything || !rows.empty()) compute_probabilities(request, options, rows, workspace);
  PassRun pass(request, options);
  for (const Step& step : plan(request, workspace)) {
    const std::string_view name = step.instance->pass();
    const Blocks& own = name == "spmm" ? queries : name == "spmm-transposed" ? keys : rows;
    if (is_everything || !own.empty()) run_blocks(step, own, pass);
  }
  return pass.take_report();
}

}  // namespace

EmulationReport emulate(const PlanRequest& request, const EmulationOptions& options,
                        const BackwardSample& sample) {
  return request.forward != nullptr ? run_forward(request, options, sample.query_tiles)
                                    : run_backward(request, options, sample);
}

}  // namespace sparkbench::acsr
