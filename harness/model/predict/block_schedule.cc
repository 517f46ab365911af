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

/// A block's prologue, full tiles, cut tiles, parts of these beyond one, ways to another head and
/// epilogue: how many, or how many cycles of one.
using OfStages = std::array<double, 6>;

OfStages counts_of(const BlockWork& work) {
  return {1,
          static_cast<double>(work.full_tiles),
          static_cast<double>(work.cut_tiles),
          static_cast<double>(work.more_parts),
          static_cast<double>(work.more_heads),
          1};
}

OfStages cycles_of(const StageCycles& stages) {
  return {stages.prologue,  stages.full_tile, stages.cut_tile,
          stages.more_part, stages.next_head, stages.epilogue};
}

double total(const OfStages& counts, const OfStages& cycles) {
  double sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) sum += counts[i] * cycles[i];
  return sum;
}

/// What is left of `counts` after a time in which one of each takes `cycles`.
void advance(double time, const OfStages& cycles, OfStages& counts) {
  for (std::size_t i = 0; i < counts.size() && time > 0; ++i) {
    const double of_stage = counts[i] * cycles[i];
    if (of_stage > time) {
      counts[i] -= time / cycles[i];
      return;
    }
    time -= of_stage;
    counts[i] = 0;
  }
}

struct Resident {
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
        turns_(grid.is_head_fastest ? grid.heads : 1),
        left_(grid.heads * grid.of_head.size()),
        sms_(static_cast<std::size_t>(sms), Sm{std::vector<Place>(stages.size())}) {
    for (const StageCycles& each : stages) cycles_.push_back(cycles_of(each));
  }

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
      *free = Resident{counts_of(of_head_[begun_ / turns_ % of_head_.size()]), now_, kNotBegun};
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
        advance(now_ - block.since, cycles_[residents_before - 1], block.left);
        block.since = now_;
      }
      block.event = ++events_;
      ends_.push({now_ + total(block.left, cycles_[sm.residents - 1]), block.event, index, i});
    }
  }

  static constexpr std::uint64_t kNotBegun = 0;

  const std::vector<BlockWork>& of_head_;
  std::uint64_t turns_;  // of a block before the next
  std::uint64_t left_, begun_ = 0;
  std::vector<Sm> sms_;
  std::vector<OfStages> cycles_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::uint64_t events_ = kNotBegun;
  double now_ = 0;
};

}  // namespace

ScheduledCycles schedule_blocks(const BlockGrid& grid, const std::vector<StageCycles>& stages,
                                int sms) {
  const OfStages when_full = cycles_of(stages.back());
  double of_head = 0;
  for (const BlockWork& work : grid.of_head) of_head += total(counts_of(work), when_full);
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
