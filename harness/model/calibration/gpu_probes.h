// Runs the probes on a GPU.
#pragma once

#include "harness/model/calibration/calibration.h"

namespace sparkbench {

/// On the current device, an open GPU of this architecture with so many SMs. Throws
/// EnvironmentError in a build without CUDA, std::runtime_error on an error of CUDA's and when the
/// GPU is not this program's alone.
CalibrationReadings read_probes(int sm, int sm_count);

}  // namespace sparkbench
