#include "harness/model/predict/block_schedule.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <queue>

namespace sparkbench {
namespace {

constexpr std::uint64_t kMostFollowedBlocks = 100'000;
constexpr double kSameTime = 1e-9;  // relative: ends that rounding alone keeps apart

/// For a block's prologue, all its full tiles, all its cut tiles, its ways to another head and its
/// epilogue: their cycles, or the share that is left.
using OfStages = std::array<double, 5>;

constexpr OfStages kAllLeft = {1, 1, 1, 1, 1};

OfStages cycles_of(const BlockWork& work, const StageCycles& stages) {
  const double in_cut_tiles = static_cast<double>(work.cut_tiles) * stages.cut_tile +
                              static_cast<double>(work.more_parts) * stages.more_part -
                              static_cast<double>(work.idle_parts) * stages.idle_part;
  return {stages.prologue, static_cast<double>(work.full_tiles) * stages.full_tile,
          std::max(0.0, in_cut_tiles), static_cast<double>(work.more_heads) * stages.next_head,
          stages.epilogue};
}

double total(const OfStages& left, const OfStages& cycles) {
  double sum = 0;
  for (std::size_t i = 0; i < left.size(); ++i) sum += left[i] * cycles[i];
  return sum;
}

/// What is left after a time in which the stages take `cycles`.
void advance(double time, const OfStages& cycles, OfStages& left) {
  for (std::size_t i = 0; i < left.size() && time > 0; ++i) {
    const double of_stage = left[i] * cycles[i];
    if (of_stage > time) {
      left[i] -= time / cycles[i];
      return;
    }
    time -= of_stage;
    left[i] = 0;
  }
}

struct Resident {
  const BlockWork* work;
  OfStages left;  // at `since`
  double since;
  std::uint64_t event;  // its end's, the latest
};

/// A place of an SM; none while it is free.
using Place = std::optional<Resident>;

struct Sm {
  std::vector<Place> places;
  std::size_t residents = 0;
};

struct End {
  double time;
  std::uint64_t event;
  std::size_t sm, place;

  bool operator>(const End& other) const {
    return time != other.time ? time > other.time : event > other.event;
  }
};

class Schedule {
 public:
  Schedule(const BlockGrid& grid, const std::vector<StageCycles>& stages, int sms)
      : of_head_(grid.of_head),
        stages_(stages),
        turns_(grid.is_head_fastest ? grid.heads : 1),
        left_(grid.heads * grid.of_head.size()),
        sms_(static_cast<std::size_t>(sms), Sm{std::vector<Place>(stages.size())}) {}

  double run() {
    std::vector<std::size_t> all(sms_.size());
    for (std::size_t sm = 0; sm < all.size(); ++sm) all[sm] = sm;
    change(all, {});
    while (!ends_.empty()) {
      const std::vector<End> ended = take_ends();
      if (ended.empty()) continue;
      now_ = ended.front().time;
      std::vector<std::size_t> freed;
      freed.reserve(ended.size());
      for (const End& end : ended) freed.push_back(end.sm);
      std::sort(freed.begin(), freed.end());
      freed.erase(std::unique(freed.begin(), freed.end()), freed.end());
      change(freed, ended);
    }
    return now_;
  }

 private:
  bool is_current(const End& end) const {
    const Place& place = sms_[end.sm].places[end.place];
    return place && place->event == end.event;
  }

  /// Those of the next moment.
  std::vector<End> take_ends() {
    std::vector<End> ended;
    while (!ends_.empty()) {
      const End& next = ends_.top();
      const bool is_due =
          ended.empty() || next.time - ended.front().time <= kSameTime * (1 + ended.front().time);
      if (!is_due) break;
      if (is_current(next)) ended.push_back(next);
      ends_.pop();
    }
    return ended;
  }

  /// Blocks leave and others take their places, all at once; who stays goes on at another speed.
  void change(const std::vector<std::size_t>& sms, const std::vector<End>& ended) {
    std::vector<std::size_t> residents_before;
    residents_before.reserve(sms.size());
    for (const std::size_t sm : sms) residents_before.push_back(sms_[sm].residents);
    for (const End& end : ended) {
      sms_[end.sm].places[end.place].reset();
      --sms_[end.sm].residents;
    }
    fill(sms);
    for (std::size_t i = 0; i < sms.size(); ++i) resume(sms[i], residents_before[i]);
  }

  void fill(const std::vector<std::size_t>& sms) {
    for (; left_ > 0; --left_) {
      const std::size_t emptiest = *std::min_element(
          sms.begin(), sms.end(),
          [this](std::size_t a, std::size_t b) { return sms_[a].residents < sms_[b].residents; });
      Sm& sm = sms_[emptiest];
      const auto free = std::find(sm.places.begin(), sm.places.end(), std::nullopt);
      if (free == sm.places.end()) return;
      *free = Resident{&of_head_[begun_ / turns_ % of_head_.size()], kAllLeft, now_, kNotBegun};
      ++sm.residents;
      ++begun_;
    }
  }

  void resume(std::size_t index, std::size_t residents_before) {
    Sm& sm = sms_[index];
    for (std::size_t i = 0; i < sm.places.size(); ++i) {
      if (!sm.places[i]) continue;
      Resident& block = *sm.places[i];
      if (block.event != kNotBegun) {
        if (sm.residents == residents_before) continue;
        advance(now_ - block.since, cycles_of(*block.work, stages_[residents_before - 1]),
                block.left);
        block.since = now_;
      }
      block.event = ++events_;
      const OfStages cycles = cycles_of(*block.work, stages_[sm.residents - 1]);
      ends_.push({now_ + total(block.left, cycles), block.event, index, i});
    }
  }

  static constexpr std::uint64_t kNotBegun = 0;

  const std::vector<BlockWork>& of_head_;
  const std::vector<StageCycles>& stages_;
  std::uint64_t turns_;  // of a block before the next
  std::uint64_t left_, begun_ = 0;
  std::vector<Sm> sms_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::uint64_t events_ = kNotBegun;
  double now_ = 0;
};

}  // namespace

ScheduledCycles schedule_blocks(const BlockGrid& grid, const std::vector<StageCycles>& stages,
                                int sms) {
  double of_head = 0;
  for (const BlockWork& work : grid.of_head) {
    of_head += total(kAllLeft, cycles_of(work, stages.back()));
  }
  const double places = static_cast<double>(stages.size()) * sms;
  BlockGrid followed = grid;
  const std::uint64_t most_heads =
      std::max<std::uint64_t>(1, kMostFollowedBlocks / grid.of_head.size());
  followed.heads = std::min(grid.heads, most_heads);
  const double other_heads = static_cast<double>(grid.heads - followed.heads);
  return {Schedule(followed, stages, sms).run() + other_heads * of_head / places,
          static_cast<double>(grid.heads) * of_head / places};
}

}  // namespace sparkbench
