// BlockMemory's part for what blocks hand to later blocks: memory with turns, and published words.
#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "kernels/machine/emulated/memory/block_memory.h"

namespace sparkbench {
namespace {

/// The word's current contents.
Bits64 read_word(const void* address) {
  auto* const word = static_cast<std::uint64_t*>(const_cast<void*>(address));
  const std::uint64_t now = std::atomic_ref(*word).load(std::memory_order_acquire);
  Bits64 bits;
  std::memcpy(&bits, &now, sizeof bits);
  return bits;
}
Bits128 read_words(const void* address) {
  const Bits64 first = read_word(address);
  const Bits64 second = read_word(static_cast<const std::byte*>(address) + sizeof first);
  return {{first.word[0], first.word[1], second.word[0], second.word[1]}};
}

}  // namespace

const GlobalMemory::Region* BlockMemory::admit_word(const MemoryAccess& access) {
  const auto* const word = static_cast<const std::uint32_t*>(access.address);
  const GlobalMemory::Region* const turned = global_.find_turned(word);
  const GlobalMemory::Region* const region = turned == nullptr ? nullptr : global_.find(access);
  if (region == nullptr || !access.aligned()) {
    refuse(access, region != nullptr);
    return nullptr;
  }
  if (options_.count) log_.record(access, region->device_address(access));
  return turned;
}

int BlockMemory::turns_since(const MemoryAccess& access, std::uint32_t turn) {
  auto* const word = static_cast<std::uint32_t*>(const_cast<void*>(access.address));
  const GlobalMemory::Region* const region = global_.find_turned(word);
  if (region == nullptr) return 0;
  const auto now = std::atomic_ref(*word).load(std::memory_order_acquire);
  const auto since = static_cast<std::int32_t>(now - turn);
  if (since >= 0 && turns_.exist()) turns_.look(region->turn_of(word), access);
  return since;
}

void BlockMemory::await_turn(const MemoryAccess& access, std::uint32_t turn,
                             const std::function<bool()>& earlier_blocks_run) {
  auto* const word = static_cast<std::uint32_t*>(const_cast<void*>(access.address));
  const GlobalMemory::Region* const region = global_.find_turned(word);
  if (region == nullptr) return;
  const auto has_come = [&] {
    const auto now = std::atomic_ref(*word).load(std::memory_order_acquire);
    return static_cast<std::int32_t>(now - turn) >= 0;
  };
  while (!has_come()) {
    const bool may_come = earlier_blocks_run();
    if (has_come()) break;
    if (!may_come) {
      findings_.add(FindingKind::kMissedTurn, access.site, access.thread, [&]() -> FindingDetail {
        return {.address = global_.describe(access.location()),
                .message = fmt::format(
                    "turn {} of the word, which is {}: no earlier block passes it", turn, *word)};
      });
      break;
    }
    std::this_thread::yield();
  }
  if (turns_.exist()) turns_.await(region->turn_of(word), access);
}

void BlockMemory::pass_turn(const MemoryAccess& access, std::uint32_t turn) {
  const GlobalMemory::Region* const region = admit_word(access);
  if (region == nullptr) return;
  auto* const word = static_cast<std::uint32_t*>(const_cast<void*>(access.address));
  if (turns_.exist()) {
    const std::size_t at = region->turn_of(word);
    const auto hazard = turns_.pass(at, access);
    if (hazard) report(access, "passing of a turn", region->address_of_turn(at), *hazard);
  }
  std::atomic_ref(*word).store(turn, std::memory_order_release);
}

bool BlockMemory::admit_published(const MemoryAccess& access) {
  if (last_region_ == nullptr || !last_region_->contains(access)) {
    last_region_ = global_.find(access);
  }
  if (last_region_ != nullptr && !last_region_->is_published()) return admit_global(access);
  if (last_region_ == nullptr || !access.aligned()) {
    refuse(access, last_region_ != nullptr);
    return false;
  }
  if (options_.count) log_.record(access, last_region_->device_address(access));
  return true;
}

void BlockMemory::see_published(const MemoryAccess& access) {
  if (!published_.exist() || !last_region_->is_published()) return;
  for (std::size_t at = 0; at < access.bytes; at += PublishedWords::kBytes) {
    published_.see(published_word(access) + at / PublishedWords::kBytes, access);
  }
}

void BlockMemory::watch_published(const MemoryAccess& access) {
  for (std::size_t at = 0; at < access.bytes; at += PublishedWords::kBytes) {
    const auto hazard =
        published_.load(published_word(access) + at / PublishedWords::kBytes, access);
    if (!hazard) continue;
    const FindingKind kind = hazard->other_thread ? FindingKind::kGlobalRace : hazard->kind;
    findings_.add(kind, access.site, access.thread, [&]() -> FindingDetail {
      const std::string address = global_.describe(access.location() + at);
      if (!hazard->other_thread) {
        return {.address = address,
                .message = "load of a word that the block has not seen published and acquired"};
      }
      return {
          .other_thread = *hazard->other_thread,
          .address = address,
          .message = fmt::format(
              "load of a word that thread {} of the block saw at line {} without a barrier between",
              *hazard->other_thread, hazard->other_site.line())};
    });
  }
}

void BlockMemory::publish(const MemoryAccess& access, const Bits64& value) {
  if (!admit_global(access, true)) return;
  if ((value.word[0] & value.word[1]) == kUnpublished) {
    findings_.add(FindingKind::kMissedTurn, access.site, access.thread, [&]() -> FindingDetail {
      return {.address = global_.describe(access.location()),
              .message = "publishes a word by which nobody can tell that it is there"};
    });
  }
  if (published_.exist() && last_region_->is_published()) {
    const std::size_t word = published_word(access);
    if (published_.knows(word)) {
      findings_.add(FindingKind::kGlobalRace, access.site, access.thread, [&]() -> FindingDetail {
        return {.address = global_.describe(access.location()),
                .message = "publishes a word that the block knows to be published"};
      });
    }
    published_.publish(word, access);
  }
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  auto* const word = static_cast<std::uint64_t*>(const_cast<void*>(access.address));
  std::atomic_ref(*word).store(bits, std::memory_order_release);
}

Bits128 BlockMemory::look_for_published(const MemoryAccess& access) {
  if (!admit_published(access)) return {};
  const Bits128 words = read_words(access.address);
  if (is_published(words)) see_published(access);
  return words;
}

void BlockMemory::await_published(const MemoryAccess& access,
                                  const std::function<bool()>& earlier_blocks_run) {
  if (!admit_published(access)) return;
  const auto are_there = [&] { return is_published(read_words(access.address)); };
  while (!are_there()) {
    const bool may_come = earlier_blocks_run();
    if (are_there()) break;
    if (!may_come) {
      findings_.add(FindingKind::kMissedTurn, access.site, access.thread, [&]() -> FindingDetail {
        return {.address = global_.describe(access.location()),
                .message = "two words, of which no earlier block publishes one"};
      });
      break;
    }
    std::this_thread::yield();
  }
  see_published(access);
}

}  // namespace sparkbench
