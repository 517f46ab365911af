#include "harness/model/measure/instance_paths.h"

#include "kernels/baselines/acsr/instance_launch.h"
#include "kernels/baselines/acsr/volta/instances.h"
#include "kernels/volta/instance_launch.h"

namespace sparkbench {
namespace {

InstanceLaunch launch_of(const KernelInstance& instance, const Problem& problem) {
  return instance.kernel() == acsr::kKernelName ? acsr::launch_of(instance, problem)
                                                : volta::launch_of(instance, problem);
}

}  // namespace

KernelLaunch kernel_launch_of(const KernelInstance& instance, const Problem& problem) {
  const InstanceLaunch launch = launch_of(instance, problem);
  KnownMemory memory;
  if (launch.lists) memory = {launch.lists->address, launch.lists->bytes};
  return {launch.grid, {launch.threads, 1, 1}, launch.parameters, std::move(memory)};
}

LaunchPaths paths_of(const SassFunction& function, const KernelInstance& instance,
                     const Problem& problem) {
  return {function, kernel_launch_of(instance, problem)};
}

}  // namespace sparkbench
