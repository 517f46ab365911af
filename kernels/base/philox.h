// Philox4x32 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC'11, section 3.3): a
// counter-based generator, so any element's random bits are computed independently, in any order.
#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"

namespace sparkbench {

struct PhiloxKey {
  std::uint32_t lo, hi;
};

struct PhiloxBlock {
  std::uint32_t word[4];
};

/// The key is the 64-bit seed.
SPARK_HD PhiloxKey philox_key(std::uint64_t seed) {
  return {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
}

/// The keys of all rounds. They derive from the seed only: a kernel takes them as a parameter, so
/// that they are operands in constant memory and not fourteen registers.
template <int kRounds>
struct PhiloxRoundKeys {
  PhiloxKey round[kRounds];
};

template <int kRounds>
SPARK_HD PhiloxRoundKeys<kRounds> philox_round_keys(PhiloxKey key) {
  PhiloxRoundKeys<kRounds> keys{};
  for (PhiloxKey& round : keys.round) {
    round = key;
    key.lo += 0x9E3779B9u;
    key.hi += 0xBB67AE85u;
  }
  return keys;
}

/// `kRounds` rounds of Philox4x32 of `counter`. Ten is the published default; seven is the fewest
/// that its authors found to pass BigCrush (same paper, table 2).
template <int kRounds>
SPARK_HD PhiloxBlock philox4x32(PhiloxBlock counter, const PhiloxRoundKeys<kRounds>& keys) {
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53u} * counter.word[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57u} * counter.word[2];
    counter = {{static_cast<std::uint32_t>(product1 >> 32) ^ counter.word[1] ^ keys.round[round].lo,
                static_cast<std::uint32_t>(product1),
                static_cast<std::uint32_t>(product0 >> 32) ^ counter.word[3] ^ keys.round[round].hi,
                static_cast<std::uint32_t>(product0)}};
  }
  return counter;
}

template <int kRounds>
SPARK_HD PhiloxBlock philox4x32(PhiloxBlock counter, PhiloxKey key) {
  return philox4x32<kRounds>(counter, philox_round_keys<kRounds>(key));
}

}  // namespace sparkbench
