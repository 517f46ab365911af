// Memory that blocks use in turns (await_turn() and pass_turn() of machine.h), as one block sees
// it. Checks that its threads touch the memory only in the block's turn: after a warp that awaited
// it, and before the thread that passes it on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/machine/emulated/memory/memory_access.h"
#include "kernels/machine/emulated/memory/shared_shadow.h"

namespace sparkbench {

class BlockTurns {
 public:
  /// A touch outside the block's turn, or without a barrier after another thread's access.
  struct Hazard {
    std::optional<SharedShadow::Hazard> earlier;  // none: outside the turn
    std::size_t offset;                           // in the turn's bytes
  };

  /// `turns` of so many bytes each; 0 where a launch has none. `adds_in_any_order`: a thread may
  /// add to what another adds to, without a barrier between.
  BlockTurns(std::size_t turns, std::size_t bytes_of_turn, int warps, bool adds_in_any_order);

  bool exist() const { return !turns_.empty(); }
  /// Barriers order what threads do in a turn: it is told of each.
  SharedShadow& shadow() { return shadow_; }
  void begin_block();

  /// The warp of `access.thread` has seen that the turn has come, and may store and add; or has
  /// awaited it, and may load, too.
  void look(std::size_t turn, const MemoryAccess& access) { begin(turn, 0, access); }
  void await(std::size_t turn, const MemoryAccess& access) { begin(turn, 1, access); }
  std::optional<Hazard> touch(std::size_t turn, std::size_t offset, const MemoryAccess& access);
  std::optional<Hazard> pass(std::size_t turn, const MemoryAccess& access);

 private:
  enum class State : std::uint8_t { kNotHad, kHeld, kPassed };
  struct Turn {
    State state = State::kNotHad;
    std::uint32_t place = 0;  // index among those that the block has had
  };

  /// The shadow has, for each turn that the block has had: its bytes; a second copy of them if
  /// additions may come in any order; and two words for each warp. look() and await() write these
  /// words, touch() reads them, pass() writes them.
  std::size_t bytes_at(const Turn& turn) const { return turn.place * stride_; }
  std::size_t word_of(const Turn& turn, std::size_t word) const {
    return bytes_at(turn) + (adds_in_any_order_ ? 2 : 1) * bytes_of_turn_ +
           word * sizeof(std::uint32_t);
  }
  void begin(std::size_t turn, std::size_t kind, const MemoryAccess& access);
  static MemoryAccess of_word(const MemoryAccess& access) {
    return {access.kind, sizeof(std::uint32_t), access.address, access.thread, access.site};
  }
  std::optional<SharedShadow::Hazard> race_with(std::size_t at, const MemoryAccess& access);
  std::optional<SharedShadow::Hazard> behind_await(const Turn& turn, const MemoryAccess& access);

  std::size_t bytes_of_turn_, warps_, stride_;
  bool adds_in_any_order_;
  std::vector<Turn> turns_;
  std::vector<std::size_t> had_;  // by Turn::place
  SharedShadow shadow_;
};

}  // namespace sparkbench
