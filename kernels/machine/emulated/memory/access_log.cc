#include "kernels/machine/emulated/memory/access_log.h"

namespace sparkbench {

std::size_t AccessLog::find_or_append(const MemoryAccess& access) {
  const std::size_t start = next_[static_cast<std::size_t>(access.lane())];
  for (std::size_t step = 0; step < used_; ++step) {
    const std::size_t candidate = (start + step) % used_;
    if (instructions_[candidate].takes(access)) return candidate;
  }
  if (used_ == instructions_.size()) instructions_.emplace_back();
  WarpInstruction& instruction = instructions_[used_];
  instruction.site = access.site;
  instruction.kind = access.kind;
  instruction.bytes = access.bytes;
  instruction.active = 0;
  return used_++;
}

void AccessLog::flush(Counters& counters) {
  for (std::size_t i = 0; i < used_; ++i) {
    const WarpInstruction& instruction = instructions_[i];
    SiteCounters& site = sites_[instruction.site];
    ++site.instructions;
    if (instruction.kind <= AccessKind::kCopyToShared) {
      count_shared(instruction, counters, site);
    } else {
      count_global(instruction, counters, site);
    }
  }
  discard();
}

void AccessLog::count_copy(Counters& counters, const CallSite& site, std::uint32_t sectors,
                           std::uint32_t bytes) {
  constexpr std::uint32_t kWavefrontBytes = 128;
  const std::uint32_t wavefronts = (bytes + kWavefrontBytes - 1) / kWavefrontBytes;
  ++counters.global_loads;
  counters.global_sectors_read += sectors;
  counters.global_wavefronts += wavefronts;
  ++counters.shared_stores;
  counters.shared_wavefronts += wavefronts;
  SiteCounters& of_site = sites_[site];
  ++of_site.instructions;
  of_site.global_sectors += sectors;
  of_site.shared_wavefronts += wavefronts;
}

void AccessLog::discard() {
  used_ = 0;
  next_.fill(0);
}

std::vector<SiteCounters> AccessLog::sites() const {
  std::vector<SiteCounters> named;
  for (const auto& [site, counted] : sites_) {
    named.push_back(counted);
    named.back().file = site.file_name();
    named.back().line = static_cast<int>(site.line());
  }
  return named;
}

void AccessLog::count_shared(const WarpInstruction& instruction, Counters& counters,
                             SiteCounters& site) {
  const SharedCost cost = shared_cost(instruction.address, instruction.active, instruction.bytes);
  const bool load = instruction.kind == AccessKind::kLoadShared;
  ++(load ? counters.shared_loads : counters.shared_stores);
  counters.shared_wavefronts += cost.wavefronts;
  counters.bank_conflicts += cost.wavefronts - cost.requests;
  site.shared_wavefronts += cost.wavefronts;
  site.bank_conflicts += cost.wavefronts - cost.requests;
}

void AccessLog::count_global(const WarpInstruction& instruction, Counters& counters,
                             SiteCounters& site) {
  const std::uint32_t sectors = distinct_sectors(instruction.address, instruction.active);
  site.global_sectors += sectors;
  counters.global_wavefronts += request_count(instruction.active, instruction.bytes);
  switch (instruction.kind) {
    case AccessKind::kLoadGlobal:
      ++counters.global_loads;
      counters.global_sectors_read += sectors;
      break;
    case AccessKind::kStoreGlobal:
      ++counters.global_stores;
      counters.global_sectors_written += sectors;
      break;
    default:
      ++counters.global_atomics;
      counters.global_sectors_added += sectors;
  }
}

}  // namespace sparkbench
