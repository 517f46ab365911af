#include "harness/devices/arithmetic_check.h"

#include <gtest/gtest.h>

#include <fstream>

#include "harness/environment_error.h"
#include "kernels/testing/messages.h"
#include "results/store/test_folder.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

constexpr const char* kHeader = "kind,a0,a1,a2,a3,b0,b1,b2,b3,c_f32,d_f32,c_f16,d_f16\n";
// 1 * 2 + 3 = 5, in both types.
constexpr const char* kRow = "sum,3c00,0,0,0,4000,0,0,0,40400000,40a00000,4200,4500\n";

/// A file of these lines in `folder`.
std::string write_vectors(const TemporaryFolder& folder, const std::string& text) {
  const std::filesystem::path path = folder.path() / "vectors.csv";
  std::ofstream(path) << text;
  return path.string();
}

TEST(FindProfile, ReturnsEveryProfileByItsName) {
  for (const ArithmeticProfile& profile : arithmetic_profiles()) {
    EXPECT_EQ(find_profile(profile.name).name, profile.name);
  }
}

TEST(FindProfile, SuggestsTheNearestName) {
  EXPECT_EQ(message_of<UsageError>([] { find_profile("volt"); }),
            "--profile: unknown 'volt', did you mean 'volta'?; "
            "allowed: volta, turing, ampere, hopper, fma884, sfu");
}

TEST(NativeProfile, IsTheTensorCoreOfTheInstruction) {
  EXPECT_EQ(native_profile(70, 4).name, "volta");
  EXPECT_EQ(native_profile(75, 4).name, "turing");
  EXPECT_EQ(native_profile(75, 8).name, "turing");
  EXPECT_EQ(native_profile(80, 8).name, "ampere");
  EXPECT_EQ(native_profile(89, 16).name, "ampere");
  EXPECT_EQ(native_profile(90, 16).name, "hopper");
}

TEST(NativeProfile, OfM8n8k4IsAnFmaChainFromSm80) {
  EXPECT_EQ(native_profile(80, 4).name, "fma884");
  EXPECT_EQ(native_profile(90, 4).name, "fma884");
}

TEST(NativeProfile, SaysWhichGpusHaveTheInstruction) {
  const std::string message = message_of<EnvironmentError>([] { native_profile(70, 8); });
  EXPECT_NE(message.find("sm_70 has no MMA of 8 terms"), std::string::npos) << message;
  EXPECT_THROW(native_profile(75, 16), EnvironmentError);
  EXPECT_THROW(native_profile(90, 12), EnvironmentError);
}

TEST(LoadVectorFile, ReadsRowsThatReplayReproduces) {
  const TemporaryFolder folder;
  const std::string file = write_vectors(folder, std::string(kHeader) + kRow + kRow);
  const std::vector<VectorRow> rows = load_vector_file(file);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].kind, "sum");
  const ReplayResult result = replay(find_profile("volta"), rows);
  EXPECT_EQ(result.reproduced_f32, 2u);
  EXPECT_EQ(result.reproduced_f16, 2u);
}

TEST(LoadVectorFile, NamesAFileThatIsNotThere) {
  EXPECT_EQ(
      message_of<UsageError>([] { load_vector_file("/nowhere/v.csv"); }),
      "--vectors: /nowhere/v.csv cannot be read (No such file or directory); allowed: CSV files");
}

TEST(LoadVectorFile, RefusesADirectory) {
  EXPECT_EQ(message_of<UsageError>([] { load_vector_file("/"); }),
            "--vectors: / is a folder; allowed: CSV files");
}

TEST(LoadVectorFile, NamesThePlaceOfWhatItCannotRead) {
  const TemporaryFolder folder;
  const std::string file = write_vectors(folder, std::string(kHeader) + kRow + "sum,3c00,xyz\n");
  EXPECT_EQ(message_of<UsageError>([&] { load_vector_file(file); }),
            "--vectors: " + file + ": line 3, column a2: missing");
}

TEST(LoadFunctionRecording, ReadsFunctionsThatReplayReproduces) {
  const TemporaryFolder folder;
  const FunctionRecording recording =
      load_function_recording(write_vectors(folder, "x,ex2_approx_ftz\n3f800000,40000000\n"));
  const std::vector<FunctionReplay> results = replay(recording);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].reproduced, 1u);
}

TEST(LoadFunctionRecording, NamesThePlaceOfWhatItCannotRead) {
  const TemporaryFolder folder;
  const std::string file = write_vectors(folder, "x,ex2_approx_ftz\n3f800000\n");
  EXPECT_EQ(message_of<UsageError>([&] { load_function_recording(file); }),
            "--vectors: " + file + ": line 2, column ex2_approx_ftz: missing");
}

TEST(RequireGpuName, RefusesWhatIsNoGpu) {
  EXPECT_EQ(message_of<UsageError>([] { require_gpu_name("emulated-v100"); }),
            "--device: 'emulated-v100' is not a GPU; allowed: cuda:N");
}

}  // namespace
}  // namespace sparkbench
