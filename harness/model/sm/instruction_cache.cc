#include "harness/model/sm/instruction_cache.h"

#include <algorithm>

namespace sparkbench {

InstructionCaches::Lines::Lines(int lines)
    : end_(lines),
      newer_(lines + 1, end_),
      older_(lines + 1, end_),
      is_held_(lines),
      arrivals_(lines) {}

void InstructionCaches::Lines::unlink(int line) {
  newer_[older_[line]] = newer_[line];
  older_[newer_[line]] = older_[line];
}

void InstructionCaches::Lines::append(int line) {
  older_[line] = older_[end_];
  newer_[line] = end_;
  newer_[older_[end_]] = line;
  older_[end_] = line;
}

void InstructionCaches::Lines::touch(int line) {
  unlink(line);
  append(line);
}

void InstructionCaches::Lines::insert(int line, double arrival) {
  append(line);
  is_held_[line] = true;
  arrivals_[line] = arrival;
  ++size_;
}

void InstructionCaches::Lines::remove_oldest() {
  const int line = newer_[end_];
  unlink(line);
  is_held_[line] = false;
  --size_;
}

InstructionCaches::InstructionCaches(const SmConstants& constants, int lines)
    : constants_(constants),
      capacity_(constants.icache_bytes / constants.icache_line),
      caches_{Lines(lines + constants.fetch_ahead), Lines(lines + constants.fetch_ahead),
              Lines(lines + constants.fetch_ahead), Lines(lines + constants.fetch_ahead)} {}

/// When a line arrives whose supply is limited.
double InstructionCaches::arrival(int scheduler, double now) {
  const auto transfer = [this](int bytes_per_cycle) {
    return bytes_per_cycle == 0 ? 0.0
                                : static_cast<double>(constants_.icache_line) / bytes_per_cycle;
  };
  const double of_sm = transfer(constants_.sm_fetch_bytes);
  const double of_scheduler = transfer(constants_.scheduler_fetch_bytes);
  const double begin = std::max({now, sm_free_, scheduler_free_[scheduler]});
  if (constants_.sm_fetch_bytes != 0) sm_free_ = begin + of_sm;
  scheduler_free_[scheduler] = begin + of_scheduler;
  return begin + std::max(of_sm, of_scheduler) + constants_.l0_miss_latency;
}

double InstructionCaches::enter(int scheduler, int line, int previous, double now) {
  Lines& cache = caches_[scheduler];
  const bool is_limited = constants_.sm_fetch_bytes != 0 || constants_.scheduler_fetch_bytes != 0;
  const bool is_next = previous >= 0 && line == previous + 1;
  const int delay = is_next ? constants_.l0_miss_next : constants_.l0_miss_jump;
  for (int wanted = line; wanted <= line + constants_.fetch_ahead; ++wanted) {
    if (cache.holds(wanted)) {
      if (wanted == line) cache.touch(line);
      continue;
    }
    cache.insert(wanted, is_limited ? arrival(scheduler, now) : wanted == line ? now + delay : now);
    if (cache.size() > capacity_) cache.remove_oldest();
  }
  return cache.holds(line) ? std::max(0.0, cache.arrival(line) - now) : 0.0;
}

}  // namespace sparkbench
