#include "harness/model/tool/predict.h"

#include <gtest/gtest.h>

#include <sstream>

#include "harness/devices/gpu_device.h"
#include "harness/environment_error.h"
#include "results/store/output_file.h"
#include "results/store/test_folder.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

/// "" if nothing was thrown.
template <class Error>
std::string refusal_of(const CalibrateOptions& options) {
  std::ostringstream out, err;
  try {
    run_calibration(options, {}, {out, err});
  } catch (const Error& error) {
    EXPECT_EQ(out.str() + err.str(), "");
    return error.what();
  }
  return "";
}

TEST(PredictCalibrate, RefusesWhatIsNoGpu) {
  EXPECT_EQ(refusal_of<UsageError>({"emulated-v100", "-"}),
            "--device: --calibrate measures a GPU, and 'emulated-v100' is none; allowed: auto, "
            "cuda:N");
  EXPECT_NE(refusal_of<UsageError>({"", "-"}), "");
}

TEST(PredictCalibrate, SaysWhatIsMissingWithoutAGpu) {
  if (gpu_count() > 0) GTEST_SKIP() << "this machine has a GPU";
  for (const char* const device : {"auto", "cuda:0"}) {
    EXPECT_EQ(refusal_of<EnvironmentError>({device, "-"}),
              "--calibrate measures a GPU: " + why_no_gpu());
  }
}

TEST(PredictCalibrate, FindsOutFirstThatItCannotStore) {
  const TemporaryFolder folder;
  const std::string nowhere = folder.path() / "none/calibration.json";
  EXPECT_NE(refusal_of<OutputError>({"auto", nowhere}).find("--calibrate"), std::string::npos);
}

}  // namespace
}  // namespace sparkbench
