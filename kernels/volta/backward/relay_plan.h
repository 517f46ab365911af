// Which backward passes use the dQ semaphore (dq_relay.h), and with how many slots.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/base/ceil_divide.h"
#include "kernels/base/saturating.h"
#include "kernels/volta/backward/dq_relay.h"
#include "kernels/volta/backward/params.h"
#include "kernels/volta/short_blocks.h"

namespace sparkbench::volta {

/// Most keys that a row may see: with more, the semaphore saves little beside the products.
constexpr int relay_window(int head_dim) { return head_dim <= 64 ? kShortBackwardWindow : 1024; }

/// Columns of tensors that instances of so many columns serve from, and keys of their blocks.
constexpr int least_relay_head_dim(int columns) { return columns == 64 ? 40 : 104; }
constexpr int relay_block_keys(int head_dim) { return head_dim <= 64 ? 64 : 128; }

/// Whether a single warp of a block adds to a query's sums. At 128 columns two do, for 64 keys
/// each.
constexpr bool has_ordered_sums(int head_dim) { return relay_block_keys(head_dim) == 64; }

/// Keys that a V100 processes at once, in two blocks of 64 or one of 128 on each of its SMs. With
/// slots for them no block waits for a slot; a GPU with more at once may wait.
inline constexpr int kRelayKeysAtOnce = 80 * 128;

inline int relay_steps(const Problem& problem) { return ceil_divide(problem.seqlen_q, kRelayStep); }

inline int bits_for(std::int64_t count) {
  int bits = 0;
  while ((std::int64_t{1} << bits) < count) ++bits;
  return bits;
}

/// Bits that count all steps of a problem.
inline int all_step_bits(const Problem& problem) {
  return bits_for(std::int64_t{problem.batch} * problem.heads * relay_steps(problem));
}

/// Most keys whose blocks may begin with the first query (for a full mask all keys do). Each of
/// these blocks waits for the one before it, a step longer than that one does. The blocks that
/// follow on an SM begin as much later, and wait no more.
inline constexpr int kMostKeysInStep = 512;

/// True if a sequence has so few keys that zeroing and rounding dQ sums in memory would cost much
/// whatever its rows see, and that its blocks wait little.
inline bool has_short_relay(int head_dim, const KeyMask& mask) {
  const int of_first_query = most_of(mask.prefix, mask.end_offset);
  return mask.seqlen_k <= relay_window(head_dim) &&
         least_of(mask.seqlen_k, of_first_query) <= kMostKeysInStep;
}

/// log2 of the number of slots: for the steps that blocks of `keys_at_once` keys begin, plus all
/// steps that one block visits, so that no block waits for itself. At most one slot for each step.
inline int relay_slot_bits(const Problem& problem, int keys_at_once = kRelayKeysAtOnce) {
  const KeyMask mask = problem.key_mask();
  const std::int64_t of_window =
      std::min(std::int64_t{mask.end_offset} - mask.begin_offset, std::int64_t{mask.seqlen_q});
  const std::int64_t keys = keys_at_once + of_window + relay_block_keys(problem.head_dim);
  const std::int64_t wanted = problem.group_size() * ((keys + kRelayStep - 1) / kRelayStep + 1);
  return std::min(bits_for(wanted), all_step_bits(problem));
}

/// A block does the bwd preprocess for at most the queries of so many key blocks.
inline constexpr int kMostPreparedBlocks = 4;

/// Whether the launch's own blocks do the bwd preprocess (relay_statistics.h): only if a head's
/// last block, the first to add to dQ, has few queries to do; with a full mask it would have all.
inline bool prepares_statistics(int head_dim, const KeyMask& mask) {
  const int block_keys = relay_block_keys(head_dim);
  const int last_key = most_of(0, mask.seqlen_k - 1) / block_keys * block_keys;
  return mask.seqlen_q - mask.rows(last_key).begin <= kMostPreparedBlocks * block_keys;
}

inline DqRelay make_relay(const Problem& problem, int slot_bits, std::uint32_t* turns) {
  const KeyMask mask = problem.key_mask();
  const int steps = relay_steps(problem), group = problem.group_size();
  return {turns,
          (std::uint32_t{1} << slot_bits) - 1,
          steps * group,
          (steps - 1) * group,
          problem.key_heads(),
          ceil_divide(problem.seqlen_k, relay_block_keys(problem.head_dim)),
          mask.end(problem.seqlen_q - 1) - 1,
          prepares_statistics(problem.head_dim, mask)};
}

/// Whether an instance "/relay" of instances.h serves so many columns.
inline bool serves_relay(int head_dim) {
  const auto is_served = [&](int columns) {
    return head_dim >= least_relay_head_dim(columns) && head_dim <= columns;
  };
  return is_served(64) || is_served(128);
}
/// Whether the dQ semaphore is faster than sums of all queries in memory.
inline bool gains_by_relay(int head_dim, const KeyMask& mask) {
  return has_short_window(relay_window(head_dim), mask) || has_short_relay(head_dim, mask);
}

/// Whether a pass uses the dQ semaphore: windows and short sequences in which every row sees a key,
/// and some row one of the last block's (a block that no row sees would still visit the last step).
/// Not if deterministic: the order of these sums is the semaphore's own, and at 128 columns, where
/// two warps of a block add to the same ones, not fixed. The deterministic dQ kernel has the same
/// bits for a sequence among varlen ones, and for the same mask as a pattern.
inline bool has_relay(const Problem& problem, bool is_deterministic) {
  if (is_deterministic || problem.lengths || problem.sparse || problem.seqlen_q == 0 ||
      !serves_relay(problem.head_dim)) {
    return false;
  }
  const KeyMask mask = problem.key_mask();
  const int block_keys = relay_block_keys(problem.head_dim);
  const bool sees = !mask.keys(0).is_empty() && !mask.keys(mask.seqlen_q - 1).is_empty() &&
                    ceil_divide(mask.end(mask.seqlen_q - 1), block_keys) ==
                        ceil_divide(mask.seqlen_k, block_keys);
  const bool has_prefix = 0 < mask.prefix && mask.end_offset < mask.seqlen_k;
  return gains_by_relay(problem.head_dim, mask) && sees && !has_prefix;
}

/// Bytes of the slots' sums.
inline std::size_t relay_sums_bytes(const Problem& problem, int slot_bits) {
  return saturating_product(
      {std::uint64_t{1} << slot_bits, static_cast<std::uint64_t>(kRelayStep),
       static_cast<std::uint64_t>(sum_columns(problem.head_dim / kChunkHalves)), sizeof(float)});
}

}  // namespace sparkbench::volta
