#include "kernels/launch/run_emulated.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "kernels/launch/pass_regions.h"
#include "kernels/machine/emulated/blocks/tensor_copies.h"

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

PlanRequest for_emulated_device(PlanRequest request, const EmulationOptions& options) {
  request.shared_bytes_per_block = options.shared_bytes_per_block;
  request.sms = 1;
  request.encode_map = encode_emulated_map;
  return request;
}

void PassRun::run(const Step& step, const LaunchShape& shape, bool tells_grid) {
  std::vector<GlobalRegion> all = request_.forward != nullptr
                                      ? forward_regions(request_.problem, *request_.forward)
                                      : backward_regions(request_.problem, *request_.backward);
  for (GlobalRegion& part : regions_of(step)) all.push_back(std::move(part));
  complete_regions(step, all);
  EmulationReport launched = run_emulated(step, shape, all, options_);
  if (!tells_grid) launched.grid_counters = {};
  add_report(report_, launched);
}

void run_memset(const Memset& zero) { std::memset(zero.first, zero.byte, zero.bytes); }

}  // namespace sparkbench
