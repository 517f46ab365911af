#include "kernels/machine/emulated/memory/published_words.h"

namespace sparkbench {

void PublishedWords::begin_block() {
  shadow_.begin_block();
  for (const std::size_t word : known_) places_[word] = kNone;
  known_.clear();
  seen_.clear();
}

void PublishedWords::publish(std::size_t word, const MemoryAccess& access) {
  std::uint32_t& place = places_[word];
  if (place == kNone) {
    known_.push_back(word);
    place = static_cast<std::uint32_t>(known_.size());
    shadow_.extend_to(known_.size() * kBytes);
  }
  shadow_.write(bytes_at(place), of_word(access));
}

void PublishedWords::acquire(int thread) {
  std::erase_if(seen_, [&](const Seen& seen) {
    if (seen.access.thread != thread) return false;
    publish(seen.word, seen.access);
    return true;
  });
}

std::optional<SharedShadow::Hazard> PublishedWords::load(std::size_t word,
                                                         const MemoryAccess& access) {
  const std::uint32_t place = places_[word];
  if (place != kNone) return shadow_.read(bytes_at(place), of_word(access));
  return SharedShadow::Hazard{.kind = FindingKind::kUninitializedRead,
                              .offset = 0,
                              .other_thread = std::nullopt,
                              .other_site = access.site,
                              .other_writes = false};
}

}  // namespace sparkbench
