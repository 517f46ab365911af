// Runs the steps of a plan on the emulated machine.
#pragma once

#include <span>
#include <vector>

#include "kernels/launch/plan.h"
#include "kernels/machine/emulated/blocks/launch.h"

namespace sparkbench {

/// Each part is an allocation of its own, of zeros, so that nothing past its end is there.
class HostWorkspace : public Workspace {
 public:
  using Workspace::take;

  void* take(const char* name, std::uint64_t bytes) override;

 private:
  struct alignas(256) Line {
    std::byte bytes[256];
  };
  std::vector<std::vector<Line>> parts_;
};

/// The step's whole grid.
LaunchShape shape_of(const Step& step);

/// What the step may touch beside tensors, each part that is not empty once.
std::vector<GlobalRegion> regions_of(const Step& step);

/// Runs blocks of a step, which may touch `regions`, or sets memory.
EmulationReport run_emulated(const Step& step, const LaunchShape& shape,
                             std::span<const GlobalRegion> regions,
                             const EmulationOptions& options);
void run_memset(const Memset& zero);

}  // namespace sparkbench
