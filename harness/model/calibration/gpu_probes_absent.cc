// The probes of a build without CUDA.
#include "harness/environment_error.h"
#include "harness/model/calibration/calibration.h"

namespace sparkbench {

CalibrationReadings read_probes(int /*sm*/, int /*sm_count*/) {
  throw EnvironmentError("this program was built without CUDA, and has no probes");
}

}  // namespace sparkbench
