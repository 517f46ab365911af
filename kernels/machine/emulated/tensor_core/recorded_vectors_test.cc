// Every dot product recorded on a GPU must come out bit for bit. The recordings are not part of the
// project: the environment variable SPARKBENCH_VECTORS names the folder that holds them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>

#include "kernels/machine/emulated/tensor_core/vector_file.h"

namespace sparkbench {
namespace {

struct Recording {
  const char* file;
  const char* profile;
};

void PrintTo(const Recording& recording, std::ostream* out) { *out << recording.file; }

class RecordedVectors : public testing::TestWithParam<Recording> {};

TEST_P(RecordedVectors, AreReproducedInBothAccumulators) {
  const char* folder = std::getenv("SPARKBENCH_VECTORS");
  if (folder == nullptr) GTEST_SKIP() << "SPARKBENCH_VECTORS names no folder of recordings";
  const std::filesystem::path path = std::filesystem::path(folder) / GetParam().file;
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " does not exist";

  std::ifstream in(path);
  const auto rows = read_vector_file(in, GetParam().file);
  const ReplayResult result = replay(arithmetic_profile(GetParam().profile), rows);
  EXPECT_EQ(result.reproduced_f32, result.rows);
  EXPECT_EQ(result.reproduced_f16, result.rows);
  for (const Miss& miss : result.first_misses) {
    ADD_FAILURE() << "line " << miss.line << " (" << miss.kind << "): recorded " << std::hex
                  << miss.expected << ", computed " << miss.computed;
  }
}

INSTANTIATE_TEST_SUITE_P(Gpus, RecordedVectors,
                         testing::Values(Recording{"v100-m8n8k4.csv", "volta"},
                                         Recording{"a100-m16n8k8.csv", "ampere"},
                                         Recording{"h100-m16n8k16.csv", "hopper"},
                                         Recording{"h200-m16n8k16.csv", "hopper"},
                                         Recording{"h200-m16n8k8.csv", "hopper"},
                                         Recording{"h200-wgmma-m64n8k16.csv", "hopper"},
                                         Recording{"h200-m8n8k4.csv", "fma884"}));

}  // namespace
}  // namespace sparkbench
