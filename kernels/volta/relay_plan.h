// Which backward passes have dQ in relay (dq_relay.h), and with how many slots.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/ceil_divide.h"
#include "kernels/saturating.h"
#include "kernels/volta/backward_params.h"
#include "kernels/volta/dq_relay.h"
#include "kernels/volta/short_blocks.h"

namespace sparkbench::volta {

/// Keys that a row sees at most: of more, what a relay saves beside the products is little.
constexpr int relay_window(int head_dim) { return head_dim <= 64 ? kShortBackwardWindow : 1024; }

/// Columns of tensors that instances of so many columns serve from, and keys of their blocks.
constexpr int least_relay_head_dim(int columns) { return columns == 64 ? 40 : 104; }
constexpr int relay_block_keys(int head_dim) { return head_dim <= 64 ? 64 : 128; }

/// Whether one warp alone of a block adds to a query's sums. At 128 columns two do, of 64 keys
/// each.
constexpr bool has_ordered_sums(int head_dim) { return relay_block_keys(head_dim) == 64; }

/// Keys that a V100 has at once, in two blocks of 64 or one of 128 on each of its SMs. With slots
/// for them no block waits for one; where more are at once, some may.
inline constexpr int kRelayKeysAtOnce = 80 * 128;

inline int relay_steps(const Problem& problem) { return ceil_divide(problem.seqlen_q, kRelayStep); }

inline int bits_for(std::int64_t count) {
  int bits = 0;
  while ((std::int64_t{1} << bits) < count) ++bits;
  return bits;
}

/// Of all steps that there are.
inline int all_step_bits(const Problem& problem) {
  return bits_for(std::int64_t{problem.batch} * problem.heads * relay_steps(problem));
}

/// 2^this slots: for the steps that blocks of so many keys begin, and for those between a step's
/// first block and its last, so that no block waits for itself. Or for all steps that there are.
inline int relay_slot_bits(const Problem& problem, int keys_at_once = kRelayKeysAtOnce) {
  const KeyMask mask = problem.key_mask();
  const std::int64_t of_window = std::int64_t{mask.end_offset} - mask.begin_offset;
  const std::int64_t keys = keys_at_once + of_window + relay_block_keys(problem.head_dim);
  const std::int64_t wanted = problem.group_size() * ((keys + kRelayStep - 1) / kRelayStep + 1);
  return std::min(bits_for(wanted), all_step_bits(problem));
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
          mask.end(problem.seqlen_q - 1) - 1};
}

/// Whether a pass has dQ in relay: in windows all of whose rows see a key, of as many columns as
/// "/relay" of instances.h serves. Its sums have an order of their own, and at 128 columns, where
/// two warps of a block add to the same ones, none: a deterministic pass forms dQ alone, which has
/// the same bits packed with other sequences and of the same mask as a pattern.
inline bool has_relay(const Problem& problem, bool is_deterministic) {
  const auto is_served = [&](int columns) {
    return problem.head_dim >= least_relay_head_dim(columns) && problem.head_dim <= columns;
  };
  if (is_deterministic || problem.lengths || problem.sparse || problem.seqlen_q == 0 ||
      !(is_served(64) || is_served(128))) {
    return false;
  }
  const KeyMask mask = problem.key_mask();
  return has_short_window(relay_window(problem.head_dim), mask) && !mask.keys(0).is_empty() &&
         !mask.keys(mask.seqlen_q - 1).is_empty();
}

/// Of the sums of slots, and of the words behind them that tell turns.
inline std::size_t relay_sums_bytes(const Problem& problem, int slot_bits) {
  return saturating_product(
      {std::uint64_t{1} << slot_bits, static_cast<std::uint64_t>(kRelayStep),
       static_cast<std::uint64_t>(sum_columns(problem.head_dim / kChunkHalves)), sizeof(float)});
}
inline std::size_t relay_turns_bytes(const Problem& problem) {
  return sizeof(std::uint32_t) << relay_slot_bits(problem);
}

}  // namespace sparkbench::volta
