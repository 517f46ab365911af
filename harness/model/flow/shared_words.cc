#include "harness/model/flow/shared_words.h"

#include <algorithm>

namespace sparkbench {
namespace {

constexpr std::uint32_t kWordBytes = 4;
constexpr std::uint32_t kMostWords = (std::uint32_t{96} << 10) / kWordBytes;  // of a V100's block

}  // namespace

void SharedWords::forget_all() {
  is_readable_ = false;
  known_begin_ = ~0u;
  known_end_ = 0;
  words_.clear();
}

void SharedWords::store(const LaneWords& address, const LaneWords& words,
                        const ActiveLanes& lanes) {
  if (!is_readable_) return;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!has_lane(lanes.any(), lane)) continue;
    const std::uint32_t place = address.value[lane] / kWordBytes;
    if (!has_lane(address.known, lane) || place >= kMostWords) return forget_all();
    if (place >= words_.size()) words_.resize(std::min(kMostWords, place + place / 2 + kLanes));
    const bool is_known = has_lane(lanes.certain & words.known, lane);
    store_one(place, words.value[lane], is_known);
  }
}

void SharedWords::store_one(std::uint32_t place, std::uint32_t value, bool is_known) {
  Word& word = words_[place];
  if (word.state == State::kUnknown) return;
  const bool agrees = word.state == State::kUnwritten || word.value == value;
  word = {value, is_known && agrees ? State::kKnown : State::kUnknown};
  if (word.state != State::kKnown) return;
  known_begin_ = std::min(known_begin_, place);
  known_end_ = std::max(known_end_, place + 1);
}

bool SharedWords::may_know(const LaneWords& address, int words) const {
  bool may = false;
  for (const std::uint32_t byte : address.value) {
    const std::uint32_t place = byte / kWordBytes;
    may |= place < known_end_ && place + static_cast<std::uint32_t>(words) > known_begin_;
  }
  return may;
}

LaneWords SharedWords::load(const LaneWords& address, LaneMask lanes) const {
  LaneWords loaded;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!has_lane(lanes & address.known, lane)) continue;
    const std::uint32_t place = address.value[lane] / kWordBytes;
    if (place >= words_.size() || words_[place].state != State::kKnown) continue;
    loaded.value[lane] = words_[place].value;
    loaded.known |= LaneMask{1} << lane;
  }
  return loaded;
}

}  // namespace sparkbench
