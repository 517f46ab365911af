// The probes of a build without CUDA.
#include "harness/devices/gpu_device.h"
#include "harness/environment_error.h"
#include "harness/model/calibration/gpu_probes.h"

namespace sparkbench {

CalibrationReadings read_probes(int /*sm*/, int /*sm_count*/) {
  throw EnvironmentError(why_no_gpu());
}

}  // namespace sparkbench
