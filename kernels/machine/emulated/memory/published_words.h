// Words of 8 bytes that blocks publish for later blocks (publish() of machine.h), as one block sees
// them. Checks that its threads load only words that the block has published, or has seen published
// and acquired, and after the thread that did so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/machine/emulated/memory/memory_access.h"
#include "kernels/machine/emulated/memory/shared_shadow.h"

namespace sparkbench {

class PublishedWords {
 public:
  static constexpr std::uint32_t kBytes = 8;  // of a word

  /// 0 words where a launch has none.
  PublishedWords(std::size_t words, int warps) : places_(words), shadow_(0, warps) {}

  bool exist() const { return !places_.empty(); }
  /// Barriers order who saw a word and who loads it: it is told of each.
  SharedShadow& shadow() { return shadow_; }
  void begin_block();

  /// Whether a thread of the block has published the word, or acquired it.
  bool knows(std::size_t word) const { return places_[word] != kNone; }
  /// The thread has published the word.
  void publish(std::size_t word, const MemoryAccess& access);
  /// It has seen that another block has, and may load the word once it has acquired it.
  void see(std::size_t word, const MemoryAccess& access) { seen_.push_back({word, access}); }
  void acquire(int thread);
  /// An error: the block has not, or the hazard's other thread has without a barrier between.
  std::optional<SharedShadow::Hazard> load(std::size_t word, const MemoryAccess& access);

 private:
  static constexpr std::uint32_t kNone = 0;

  struct Seen {
    std::size_t word;
    MemoryAccess access;
  };

  static MemoryAccess of_word(const MemoryAccess& access) {
    return {access.kind, kBytes, access.address, access.thread, access.site};
  }
  /// Offset in the shadow, which has only the words that the block has published or acquired.
  std::size_t bytes_at(std::uint32_t place) const { return (place - 1) * std::size_t{kBytes}; }

  std::vector<std::uint32_t> places_;  // index from 1 among words that the block knows, or kNone
  std::vector<std::size_t> known_;     // the words, by that index
  std::vector<Seen> seen_;             // and not acquired
  SharedShadow shadow_;
};

}  // namespace sparkbench
