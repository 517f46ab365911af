#include "kernels/machine/emulated/memory/block_turns.h"

namespace sparkbench {
namespace {

constexpr std::size_t kWordsOfWarp = 2;  // written by look() and by await()

/// A hazard with another thread: what this block has not written, another block may have.
std::optional<SharedShadow::Hazard> race_of(const std::optional<SharedShadow::Hazard>& hazard) {
  return hazard && hazard->other_thread ? hazard : std::nullopt;
}

}  // namespace

BlockTurns::BlockTurns(std::size_t turns, std::size_t bytes_of_turn, int warps,
                       bool adds_in_any_order)
    : bytes_of_turn_(bytes_of_turn),
      warps_(static_cast<std::size_t>(warps)),
      stride_((adds_in_any_order ? 2 : 1) * bytes_of_turn +
              kWordsOfWarp * warps_ * sizeof(std::uint32_t)),
      adds_in_any_order_(adds_in_any_order),
      turns_(turns),
      shadow_(0, warps) {}

void BlockTurns::begin_block() {
  shadow_.begin_block();
  for (const std::size_t turn : had_) turns_[turn] = {};
  had_.clear();
}

void BlockTurns::begin(std::size_t turn, std::size_t kind, const MemoryAccess& access) {
  Turn& awaited = turns_[turn];
  if (awaited.state == State::kNotHad) {
    awaited.place = static_cast<std::uint32_t>(had_.size());
    had_.push_back(turn);
    shadow_.extend_to(had_.size() * stride_);
  }
  awaited.state = State::kHeld;
  const auto warp = static_cast<std::size_t>(access.thread / kWarpLanes);
  shadow_.write(word_of(awaited, kWordsOfWarp * warp + kind), of_word(access));
}

std::optional<SharedShadow::Hazard> BlockTurns::behind_await(const Turn& turn,
                                                             const MemoryAccess& access) {
  const auto own = static_cast<std::size_t>(access.thread / kWarpLanes);
  std::optional<SharedShadow::Hazard> found;
  for (std::size_t i = 0; i < warps_; ++i) {
    const std::size_t first = kWordsOfWarp * ((own + i) % warps_);
    for (std::size_t kind = access.writes() ? 0 : 1; kind < kWordsOfWarp; ++kind) {
      const auto hazard = shadow_.read(word_of(turn, first + kind), of_word(access));
      if (!hazard) return std::nullopt;
      if (!found || !found->other_thread) found = hazard;
    }
  }
  return found;
}

/// The race of `access` with an earlier access of the bytes at `at` in the shadow. If additions may
/// come in any order, each counts as a read of these bytes and a write of a second copy of them;
/// loads check that copy.
std::optional<SharedShadow::Hazard> BlockTurns::race_with(std::size_t at,
                                                          const MemoryAccess& access) {
  const bool adds = access.kind == AccessKind::kAddGlobal;
  std::optional<SharedShadow::Hazard> race;
  const auto take = [&](const std::optional<SharedShadow::Hazard>& hazard) {
    if (!race) race = race_of(hazard);
  };
  if (access.kind != AccessKind::kStoreGlobal) take(shadow_.read(at, access));
  if (adds && adds_in_any_order_) {
    shadow_.write(at + bytes_of_turn_, access);
  } else if (access.writes()) {
    take(shadow_.write(at, access));
  } else if (adds_in_any_order_) {
    take(shadow_.read(at + bytes_of_turn_, access));
  }
  return race;
}

std::optional<BlockTurns::Hazard> BlockTurns::touch(std::size_t turn, std::size_t offset,
                                                    const MemoryAccess& access) {
  const Turn& touched = turns_[turn];
  if (touched.state != State::kHeld) return Hazard{std::nullopt, offset};
  auto race = behind_await(touched, access);
  if (race) return Hazard{race_of(race), offset};
  const std::size_t at = bytes_at(touched) + offset;
  race = race_with(at, access);
  if (!race) return std::nullopt;
  return Hazard{race, (race->offset - bytes_at(touched)) % bytes_of_turn_};
}

std::optional<BlockTurns::Hazard> BlockTurns::pass(std::size_t turn, const MemoryAccess& access) {
  Turn& passed = turns_[turn];
  if (passed.state != State::kHeld) return Hazard{std::nullopt, 0};
  passed.state = State::kPassed;
  std::optional<SharedShadow::Hazard> race;
  for (std::size_t word = 0; word < kWordsOfWarp * warps_; ++word) {
    const auto of_word_hazard = race_of(shadow_.write(word_of(passed, word), of_word(access)));
    if (!race) race = of_word_hazard;
  }
  if (!race) return std::nullopt;
  return Hazard{race, 0};
}

}  // namespace sparkbench
