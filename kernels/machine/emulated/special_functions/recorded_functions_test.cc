// Every special function recorded on a GPU must come out bit for bit. The recordings are not part
// of the project: the environment variable SPARKBENCH_VECTORS names the folder that holds them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kernels/machine/emulated/special_functions/function_recording.h"

namespace sparkbench {
namespace {

TEST(RecordedFunctions, AreReproduced) {
  const char* folder = std::getenv("SPARKBENCH_VECTORS");
  if (folder == nullptr) GTEST_SKIP() << "SPARKBENCH_VECTORS names no folder of recordings";
  const std::filesystem::path path = std::filesystem::path(folder) / "h200-sfu.csv";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " does not exist";

  std::ifstream in(path);
  for (const FunctionReplay& result : replay(read_function_recording(in, path.string()))) {
    EXPECT_EQ(result.reproduced, result.rows) << result.function.name;
    for (const FunctionMiss& miss : result.first_misses) {
      ADD_FAILURE() << result.function.name << std::hex << " of " << miss.x << ": recorded "
                    << miss.expected << ", computed " << miss.computed;
    }
  }
}

}  // namespace
}  // namespace sparkbench
