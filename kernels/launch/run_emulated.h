// Runs the steps of a plan on the emulated machine.
#pragma once

#include <span>
#include <utility>
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

/// The request on an emulated device. Its launches have as many blocks as whoever runs them says.
PlanRequest for_emulated_device(PlanRequest request, const EmulationOptions& options);

/// Runs a pass, launch by launch, and adds up their reports.
class PassRun {
 public:
  PassRun(const PlanRequest& request, const EmulationOptions& options)
      : request_(request), options_(options) {}
  virtual ~PassRun() = default;

  /// Runs the blocks of a step that the shape names; all if it names none. If a grid runs in parts,
  /// only one of them has `tells_grid`, and reports the counts of the whole grid.
  void run(const Step& step, const LaunchShape& shape, bool tells_grid = true);
  /// Drops the reports so far: these launches do not belong to the pass.
  void forget_report() { report_ = {}; }
  EmulationReport take_report() { return std::move(report_); }

 protected:
  const PlanRequest& request() const { return request_; }
  /// What a family's kernel does with regions besides reading and writing.
  virtual void complete_regions(const Step& /*step*/, std::vector<GlobalRegion>& /*all*/) const {}

 private:
  const PlanRequest& request_;
  const EmulationOptions& options_;
  EmulationReport report_;
};

}  // namespace sparkbench
