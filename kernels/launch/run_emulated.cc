#include "kernels/launch/run_emulated.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "kernels/base/ceil_divide.h"

namespace sparkbench {

void* HostWorkspace::take(const char* /*name*/, std::uint64_t bytes) {
  parts_.emplace_back((bytes + sizeof(Line) - 1) / sizeof(Line));
  return parts_.back().data();
}

LaunchShape shape_of(const Step& step) {
  return {.kernel = std::string(step.instance->id),
          .grid = step.grid,
          .threads = step.instance->threads,
          .shared_bytes = static_cast<std::size_t>(step.instance->dynamic_shared_bytes)};
}

std::vector<GlobalRegion> regions_of(const Step& step) {
  std::vector<GlobalRegion> regions;
  const auto append = [&](const MemoryPart& part, bool is_read) {
    if (part.bytes == 0) return;
    const auto found = std::find_if(regions.begin(), regions.end(), [&](const GlobalRegion& each) {
      return each.base == part.first;
    });
    if (found != regions.end()) {
      found->writable = true;
      return;
    }
    regions.push_back({part.name, const_cast<void*>(part.first), part.bytes, is_read, !is_read});
  };
  for (const MemoryPart& part : step.reads) append(part, true);
  for (const MemoryPart& part : step.writes) append(part, false);
  return regions;
}

EmulationReport run_emulated(const Step& step, const LaunchShape& shape,
                             std::span<const GlobalRegion> regions,
                             const EmulationOptions& options) {
  const auto run = step.instance->emulate;
  if (run == nullptr) {
    throw std::logic_error("this build does not emulate " + std::string(step.instance->id));
  }
  const void* const params = step.params.data();
  return emulate(shape, regions, options, [=](EmulatedMachine& machine) { run(machine, params); });
}

void run_memset(const Memset& zero) { std::memset(zero.first, zero.byte, zero.bytes); }

}  // namespace sparkbench
