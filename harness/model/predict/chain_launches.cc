#include "harness/model/predict/pass_launches.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "harness/model/predict/block_tiles.h"
#include "kernels/base/ceil_divide.h"
#include "kernels/base/half.h"
#include "kernels/baselines/acsr/plan.h"
#include "kernels/baselines/acsr/volta/config.h"
#include "kernels/baselines/acsr/volta/instances.h"

namespace sparkbench {
namespace {

constexpr double kChunkBytes = 16, kLseRowBytes = sizeof(float);
/// A longer row is read twice.
constexpr int kRowChunksHeld = 32 * acsr::SoftmaxConfig::kLaneChunks;
constexpr int kGradientChunksHeld = 32 * acsr::SoftmaxGradientConfig::kLaneChunks;

/// Rows of which each sees all places of the core.
BlockWork work_of(const acsr::AffineRow* of_union, const acsr::RowBlock& block) {
  Range core{0, std::numeric_limits<int>::max()};
  for (int i = block.first_row; i < block.first_row + block.rows; ++i) {
    core = {std::max(core.begin, of_union[i].first), std::min(core.end, of_union[i].end)};
  }
  return count_tiles({block.begin, block.end}, core, acsr::kTileKeys);
}

/// The chain of one problem.
class Chain {
 public:
  Chain(const Problem& problem, const acsr::ChainTables& tables)
      : problem_(problem), tables_(tables), rows_(tables.rows) {
    for (int head = 0; head < problem.heads; ++head) {
      const acsr::AffineRow* const rows = rows_.rows_of(head);
      for (int i = 0; i < rows_.blocks_of_head(); ++i) {
        blocks_.push_back(work_of(rows, rows_.blocks_of(head)[i]));
        tiles_ += static_cast<double>(blocks_.back().full_tiles + blocks_.back().cut_tiles);
      }
      for (int i = 0; i < problem.seqlen_q; ++i) add_row(rows[i]);
    }
  }

  PassLaunch launch_of(const KernelInstance& instance) const {
    const std::string_view pass = instance.pass();
    if (pass == "softmax") return softmax(instance);
    if (pass == "softmax-gradient") return softmax_gradient(instance);
    return pass == "spmm-transposed" ? key_product(instance) : product(instance);
  }

 private:
  /// Values are written, or read, and of either tensor each row: of keys, L2 gives each block's
  /// tiles.
  PassLaunch product(const KernelInstance& instance) const {
    const double of_tiles = problem_.batch * tiles_ * acsr::kTileKeys * half_row();
    const double of_values = problem_.batch * value_bytes_;
    return {&instance,
            {blocks_, static_cast<std::uint64_t>(problem_.batch)},
            query_bytes() + key_bytes() + of_values,
            query_bytes() + of_tiles + of_values};
  }
  PassLaunch softmax(const KernelInstance& instance) const {
    const double bytes = problem_.batch * softmax_bytes_;
    return of_rows(instance, bytes);
  }
  PassLaunch softmax_gradient(const KernelInstance& instance) const {
    return of_rows(instance, problem_.batch * gradient_bytes_);
  }
  /// With the transpose: a block of keys goes over the rows that see some of them, of each head.
  PassLaunch key_product(const KernelInstance& instance) const {
    const acsr::MaskKeys& keys = *tables_.keys;
    std::vector<BlockWork> blocks;
    double tiles = 0;
    for (int head = 0; head < problem_.heads; head += problem_.group_size()) {
      for (int i = 0; i < keys.blocks_of_head(); ++i) {
        const acsr::KeyBlock& block = keys.blocks_of(head)[i];
        const int of_head = ceil_divide(block.end_row - block.first_row, acsr::kTileRows);
        blocks.push_back({problem_.group_size() * of_head, 0, problem_.group_size() - 1});
        tiles += static_cast<double>(blocks.back().full_tiles);
      }
    }
    const double of_tiles = problem_.batch * tiles * acsr::kTileRows * half_row();
    const double of_values = problem_.batch * value_bytes_;
    return {&instance,
            {std::move(blocks), static_cast<std::uint64_t>(problem_.batch)},
            query_bytes() + key_bytes() + of_values,
            of_tiles + key_bytes() + of_values};
  }

  double half_row() const { return static_cast<double>(sizeof(Half)) * problem_.head_dim; }
  /// Bytes of a tensor with a row for each query, or key.
  double query_bytes() const {
    return static_cast<double>(problem_.batch) * problem_.heads * problem_.seqlen_q * half_row();
  }
  double key_bytes() const {
    return static_cast<double>(problem_.batch) * problem_.key_heads() * problem_.seqlen_k *
           half_row();
  }
  PassLaunch of_rows(const KernelInstance& instance, double bytes) const {
    return {&instance, {blocks_, static_cast<std::uint64_t>(problem_.batch)}, bytes, bytes};
  }
  void add_row(const acsr::AffineRow& row) {
    const double bytes = kChunkBytes * row.chunks();
    value_bytes_ += bytes;
    softmax_bytes_ += (row.chunks() > kRowChunksHeld ? 3 : 2) * bytes + kLseRowBytes;
    gradient_bytes_ += (row.chunks() > kGradientChunksHeld ? 5 : 3) * bytes;
  }

  const Problem& problem_;
  const acsr::ChainTables& tables_;
  const acsr::MaskRows& rows_;
  std::vector<BlockWork> blocks_;  // of the heads of a batch entry
  double tiles_ = 0, value_bytes_ = 0, softmax_bytes_ = 0, gradient_bytes_ = 0;
};

}  // namespace

std::vector<PassLaunch> launches_of_chain(const Problem& problem, const MaskTables& tables,
                                          const std::vector<Step>& plan) {
  const Chain chain(problem, static_cast<const acsr::ChainTables&>(tables));
  std::vector<PassLaunch> launches;
  launches.reserve(plan.size());
  for (const Step& step : plan) launches.push_back(chain.launch_of(*step.instance));
  return launches;
}

}  // namespace sparkbench
