// The bwd preprocess (row statistics) inside the dK/dV kernel, where it uses the dQ semaphore and
// no earlier launch has prepared them. Each key block prepares the statistics of the queries to
// whose dQ it is the first to add, which are the first that it visits, and publishes them. Earlier
// blocks prepare those of the queries after these.
#pragma once

#include "kernels/volta/backward/query_statistics.h"
#include "kernels/volta/backward/relay.h"

namespace sparkbench::volta {

/// A block's part of it, for each head that reads its keys. A warp computes 16 rows at a time; a
/// thread loads two rows of other blocks at a time.
template <class Config, class Machine>
class RelayStatistics {
 public:
  SPARK_DEVICE RelayStatistics(Machine& machine, const BackwardParams& params,
                               const BackwardBlock& block)
      : machine_(machine), params_(params), block_(block) {
    const Range queries = queries_of_block<Config>(machine, params, block);
    queries_ = {first_tile<Config::kStep>(queries),
                (queries.end + Config::kStep - 1) / Config::kStep * Config::kStep};
  }

  /// Publishes the statistics of the block's own queries, and waits for the others. A barrier must
  /// follow.
  SPARK_DEVICE void prepare() {
    const bool has_own = is_own(0, first_of_warp());
    if (has_own) load_own(0, first_of_warp());
    look(0, first_of_thread());
    if (has_own) publish_own(0, first_of_warp());
#pragma unroll 1
    for (int member = 0; member < params_.groups.size; ++member) {
#pragma unroll 1
      for (int first = first_of_warp() + (member == 0 ? kRowsOfWarps : 0); is_own(member, first);
           first += kRowsOfWarps) {
        load_own(member, first);
        publish_own(member, first);
      }
    }
    await(0, first_of_thread());
#pragma unroll 1
    for (int member = 0; member < params_.groups.size; ++member) {
#pragma unroll 1
      for (int first = first_of_thread() + (member == 0 ? kAtOnce * kApart : 0);
           first < queries_.end; first += kAtOnce * kApart) {
        look(member, first);
        await(member, first);
      }
    }
    machine_.acquire_published();
  }

 private:
  /// Rows that the block's warps do at a time; and of a thread, which looks for two pairs at once.
  static constexpr int kRowsOfWarps = kGridRows * Config::kWarps;
  static constexpr int kPair = 2, kAtOnce = 2, kApart = kPair * Config::kThreads;

  SPARK_DEVICE int first_of_warp() const { return queries_.begin + kGridRows * machine_.warp(); }
  SPARK_DEVICE int first_of_thread() const { return queries_.begin + kPair * machine_.thread(); }

  SPARK_DEVICE void load_own(int member, int first) {
    const int seqlen_q = mask_of_keys<Config>(machine_, params_).seqlen_q;
    own_.load(
        machine_, params_, block_.batch, head(member),
        [&](int row) { return first + row < seqlen_q; },
        [&](int row) { return block_.first_q + first + row; });
  }
  SPARK_DEVICE void publish_own(int member, int first) {
    RowStatistics* const group = statistics_of(member, first);
    own_.finish(machine_, params_,
                [&](int at, const Bits64& bits) { machine_.publish(group + at, bits); });
  }
  SPARK_DEVICE void look(int member, int first) {
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int row = first + kApart * i;
      seen_[i] = row < queries_.end && !is_own(member, row)
                     ? machine_.look_for_published(statistics_of(member, row))
                     : Bits128{};
    }
  }
  SPARK_DEVICE void await(int member, int first) {
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      machine_.await_published(statistics_of(member, first + kApart * i), !is_published(seen_[i]));
    }
  }

  SPARK_DEVICE int head(int member) const { return block_.key_head * params_.groups.size + member; }
  SPARK_DEVICE RowStatistics* statistics_of(int member, int query) const {
    const auto of_head = static_cast<std::uint32_t>(block_.batch * params_.heads + head(member));
    return params_.workspace.statistics_of(of_head, block_.workspace_row + query);
  }
  /// Whether the row is one of the block's own. All rows of a step are alike.
  SPARK_DEVICE bool is_own(int member, int query) const {
    return blocks_before(member, query) == 0;
  }
  /// How many blocks add to dQ of the query before this one; -1 after the block's last query.
  SPARK_DEVICE int blocks_before(int member, int query) const {
    if (query >= queries_.end) return -1;
    const int step = query / Config::kStep * Config::kStep;
    return static_cast<int>(
        RelayStep<Config, Machine>(machine_, params_, member, step).turns_before());
  }

  Machine& machine_;
  const BackwardParams& params_;
  BackwardBlock block_;
  Range queries_;  // that the block visits, in whole steps
  StagedStatistics<Config> own_;
  Bits128 seen_[kAtOnce];
};

}  // namespace sparkbench::volta
