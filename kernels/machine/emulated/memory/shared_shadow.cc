#include "kernels/machine/emulated/memory/shared_shadow.h"

#include <algorithm>
#include <bit>

namespace sparkbench {
namespace {

constexpr std::size_t kWordBytes = 4;
constexpr std::size_t kLineBytes = 16;
constexpr std::size_t kLineWords = kLineBytes / kWordBytes;

std::size_t lines_of(std::size_t bytes) { return (bytes + kLineBytes - 1) / kLineBytes; }

}  // namespace

SharedShadow::SharedShadow(std::size_t bytes, int warps)
    : lines_(lines_of(bytes)),
      parts_(kLineWords),
      first_part_(lines_.size()),
      clocks_(static_cast<std::size_t>(warps)),
      known_(clocks_.size() * clocks_.size(), 1),
      fences_(clocks_.size() * kWarpLanes),
      learnt_(kBarriers * clocks_.size()),
      taught_(learnt_.size()) {}

void SharedShadow::extend_to(std::size_t bytes) {
  if (lines_.size() >= lines_of(bytes)) return;
  lines_.resize(lines_of(bytes));
  first_part_.resize(lines_.size());
}

void SharedShadow::begin_block() {
  barrier();
  parts_.resize(kLineWords);
  std::fill(first_part_.begin(), first_part_.end(), 0u);
  for (Clock& clock : clocks_) clock.block_start = clock.now;
  learnt_.assign(kBarriers * clocks_.size(), 0u);
  taught_ = learnt_;
}

void SharedShadow::barrier(int first_warp, int end_warp) {
  const auto first = static_cast<std::size_t>(first_warp), end = static_cast<std::size_t>(end_warp);
  for (std::size_t warp = 0; warp < clocks_.size(); ++warp) {
    const bool takes_part = first <= warp && warp < end;
    std::uint32_t newest = takes_part ? ++clocks_[warp].now : 0;
    for (std::size_t observer = first; observer < end; ++observer) {
      newest = std::max(newest, known(observer, warp));
    }
    for (std::size_t observer = first; observer < end; ++observer) known(observer, warp) = newest;
  }
}

void SharedShadow::arrive_at_barrier(int id, int warp) {
  const auto self = static_cast<std::size_t>(warp);
  std::uint32_t* const learnt = &learnt_[static_cast<std::size_t>(id) * clocks_.size()];
  known(self, self) = ++clocks_[self].now;
  for (std::size_t w = 0; w < clocks_.size(); ++w) learnt[w] = std::max(learnt[w], known(self, w));
}

void SharedShadow::complete_barrier(int id, std::uint32_t waiting_warps) {
  std::uint32_t* const learnt = &learnt_[static_cast<std::size_t>(id) * clocks_.size()];
  for (std::size_t w = 0; w < clocks_.size(); ++w) {
    for (std::uint32_t waiting = waiting_warps; waiting != 0; waiting &= waiting - 1) {
      std::uint32_t& mine = known(static_cast<std::size_t>(std::countr_zero(waiting)), w);
      mine = std::max(mine, learnt[w]);
    }
    learnt[w] = 0;
  }
}

int SharedShadow::add_phase_barrier() {
  const std::size_t id = learnt_.size() / clocks_.size();
  learnt_.resize(learnt_.size() + clocks_.size());
  taught_.resize(learnt_.size());
  return static_cast<int>(id);
}

void SharedShadow::end_phase(int id) {
  const std::size_t first = static_cast<std::size_t>(id) * clocks_.size();
  for (std::size_t w = first; w < first + clocks_.size(); ++w) {
    taught_[w] = std::max(taught_[w], learnt_[w]);
    learnt_[w] = 0;
  }
}

void SharedShadow::learn(int id, int warp) {
  const std::uint32_t* const taught = &taught_[static_cast<std::size_t>(id) * clocks_.size()];
  for (std::size_t w = 0; w < clocks_.size(); ++w) {
    std::uint32_t& mine = known(static_cast<std::size_t>(warp), w);
    mine = std::max(mine, taught[w]);
  }
}

void SharedShadow::arrive_copy(int id, int warp, std::uint32_t start_time) {
  std::uint32_t& learnt =
      learnt_[static_cast<std::size_t>(id) * clocks_.size() + static_cast<std::size_t>(warp)];
  learnt = std::max(learnt, start_time + 1);
}

template <class Visit>
void SharedShadow::for_each_word(std::size_t offset, std::size_t bytes, Visit visit) {
  const bool is_line = bytes == kLineBytes && offset % kLineBytes == 0;
  if (is_line && first_part_[offset / kLineBytes] == 0) [[likely]] {
    visit(lines_[offset / kLineBytes].word, offset);
    return;
  }
  for (std::size_t at = offset; at < offset + bytes;) {
    Word* const parts = parts_of(at / kLineBytes);
    do {
      visit(parts[at / kWordBytes % kLineWords], at);
      at += kWordBytes;
    } while (at < offset + bytes && at % kLineBytes != 0);
  }
}

SharedShadow::Word* SharedShadow::parts_of(std::size_t line) {
  std::uint32_t& first_part = first_part_[line];
  if (first_part == 0) {
    first_part = static_cast<std::uint32_t>(parts_.size());
    parts_.insert(parts_.end(), kLineWords, lines_[line].word);
  }
  return &parts_[first_part];
}

std::optional<SharedShadow::Hazard> SharedShadow::read(std::size_t offset,
                                                       const MemoryAccess& access) {
  const Touch now = touch(access);
  std::optional<Hazard> hazard;
  for_each_word(offset, access.bytes, [&](Word& word, std::size_t at) {
    if (!may_read(word, now, access.kind)) [[unlikely]] {
      if (!hazard) hazard = hazard_of_read(word, at, now);
    }
    remember_reader(word, now);
  });
  return hazard;
}

bool SharedShadow::may_read(const Word& word, const Touch& now, AccessKind kind) const {
  return is_written(word) && !word.copy_is_pending && !races(word.writer, now) &&
         (kind != AccessKind::kLoadForTensorCore || word.fences != fences_of(word.writer.thread));
}

SharedShadow::Hazard SharedShadow::hazard_of_read(const Word& word, std::size_t at,
                                                  const Touch& now) const {
  if (!is_written(word)) return {FindingKind::kUninitializedRead, at, {}, {}, false};
  const Touch& writer = word.writer;
  const FindingKind kind = races(writer, now)     ? FindingKind::kSharedRace
                           : word.copy_is_pending ? FindingKind::kUninitializedRead
                                                  : FindingKind::kMissingProxyFence;
  return {kind, at, writer.thread, writer.site, true};
}

std::optional<SharedShadow::Hazard> SharedShadow::write(std::size_t offset,
                                                        const MemoryAccess& access) {
  return write(offset, access, touch(access), fences_of(access.thread), false);
}

std::optional<SharedShadow::Hazard> SharedShadow::start_copy(std::size_t offset,
                                                             const MemoryAccess& access) {
  return write(offset, access, touch(access), fences_of(access.thread), true);
}

std::optional<SharedShadow::Hazard> SharedShadow::end_copy(std::size_t offset,
                                                           const MemoryAccess& access,
                                                           std::uint32_t start_time) {
  return write(offset, access, {access.site, start_time, access.thread}, kByAsyncProxy, false);
}

std::optional<SharedShadow::Hazard> SharedShadow::write(std::size_t offset,
                                                        const MemoryAccess& access,
                                                        const Touch& now, std::uint32_t fences,
                                                        bool is_pending) {
  std::optional<Hazard> hazard;
  for_each_word(offset, access.bytes, [&](Word& word, std::size_t at) {
    for (const Touch* earlier : {&word.writer, &word.last_reader, &word.other_reader}) {
      if (!races(*earlier, now)) [[likely]]
        continue;
      const bool writes = earlier == &word.writer;
      if (!hazard) hazard = {FindingKind::kSharedRace, at, earlier->thread, earlier->site, writes};
    }
    word.writer = now;
    word.fences = fences;
    word.copy_is_pending = is_pending;
  });
  return hazard;
}

SharedShadow::Touch SharedShadow::touch(const MemoryAccess& access) const {
  const auto warp = static_cast<std::size_t>(access.thread) / kWarpLanes;
  return {access.site, clocks_[warp].now, access.thread};
}

void SharedShadow::remember_reader(Word& word, const Touch& now) const {
  if (word.last_reader.thread != now.thread) {
    const Touch& other = word.other_reader;
    const bool other_tells_more = since_barrier(other, now.warp()) && other.warp() != now.warp();
    if (!other_tells_more) word.other_reader = word.last_reader;
  }
  word.last_reader = now;
}

}  // namespace sparkbench
