#include "harness/devices/special_function_check.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "results/store/test_folder.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

std::string write_recording(const TemporaryFolder& folder, const std::string& text) {
  const std::filesystem::path path = folder.path() / "vectors.csv";
  std::ofstream(path) << text;
  return path.string();
}

TEST(CheckSpecialFunctions, CountsTheRowsThatAreReproduced) {
  const TemporaryFolder folder;
  const std::string file =
      write_recording(folder, "x,ex2_approx_ftz,lg2_approx_ftz\n3f800000,40000000,0\n");
  std::ostringstream out;
  EXPECT_EQ(check_special_functions({file}, "", out), ExitCode::kOk);
  EXPECT_EQ(out.str(), file + ": 1 of 1 rows reproduced (ex2_approx_ftz)\n" + file +
                           ": 1 of 1 rows reproduced (lg2_approx_ftz)\n");
}

TEST(CheckSpecialFunctions, ListsTheFirstMissesAndReportsAFinding) {
  const TemporaryFolder folder;
  std::string text = "x,rcp_rn\n40000000,3f000000\n";
  for (int i = 0; i < 11; ++i) text += "3f800000,3f800001\n";
  const std::string file = write_recording(folder, text);
  std::ostringstream out;
  EXPECT_EQ(check_special_functions({file}, "", out), ExitCode::kFinding);
  std::string expected = file + ": 1 of 12 rows reproduced (rcp_rn)\n";
  for (int i = 0; i < 10; ++i) expected += "  x 3f800000: expected 3f800001, computed 3f800000\n";
  EXPECT_EQ(out.str(), expected + "  and 1 more\n");
}

TEST(CheckSpecialFunctions, NeedsAFileOrADevice) {
  std::ostringstream out;
  EXPECT_THROW(check_special_functions({}, "", out), UsageError);
  EXPECT_THROW(check_special_functions({}, "emulated-v100", out), UsageError);
}

}  // namespace
}  // namespace sparkbench
