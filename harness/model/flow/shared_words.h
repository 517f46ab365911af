// What a block keeps in shared memory, as far as it is known. Its warps are followed one after the
// other, so a word is known only while every store to it so far, by whichever warp, was of one
// known value: what a block writes down once for all of its warps.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/model/flow/lane_words.h"

namespace sparkbench {

class SharedWords {
 public:
  /// A word of each lane, at its address. An address that is not known may be any.
  void store(const LaneWords& address, const LaneWords& words, const ActiveLanes& lanes);
  LaneWords load(const LaneWords& address, LaneMask lanes) const;
  /// Whether some lane's word, or one of `words` behind it, may be known: few ever are.
  bool may_know(const LaneWords& address, int words) const;

 private:
  enum class State : std::uint8_t { kUnwritten, kKnown, kUnknown };
  struct Word {
    std::uint32_t value = 0;
    State state = State::kUnwritten;
  };

  void forget_all();
  void store_one(std::uint32_t place, std::uint32_t value, bool is_known);

  std::vector<Word> words_;                          // by address / 4
  bool is_readable_ = true;                          // false after a store to anywhere
  std::uint32_t known_begin_ = ~0u, known_end_ = 0;  // all known words are between these
};

}  // namespace sparkbench
