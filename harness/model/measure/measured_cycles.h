// The figures of kernels/volta/cycles.json from machine code, and whether they still are those.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/model/predict/cycles_file.h"
#include "harness/model/sass/cuobjdump.h"
#include "kernels/launch/kernel_instance.h"

namespace sparkbench {

/// Instances that a V100 launches and that have tiles: of the same work the first that fits.
std::vector<const KernelInstance*> v100_instances();

/// Of `wanted`, on as many threads as there are cores. Throws UsageError, naming --binary, where
/// the code of one is missing or does not fit an SM.
CyclesFile measure_cycles(const CodeListings& code, std::span<const KernelInstance* const> wanted,
                          const std::string& toolkit);

/// `held` with what `measured` has, in place of its own or beside it.
CyclesFile with_measured(CyclesFile held, const CyclesFile& measured);

/// A line for each of `wanted`, which `measured` has, whose code or cycles are not the file's, or
/// that the file lacks.
std::vector<std::string> cycles_that_differ(const CyclesFile& held, const CyclesFile& measured,
                                            std::span<const KernelInstance* const> wanted);

}  // namespace sparkbench
