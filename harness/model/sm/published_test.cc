// Kernels that others published with their speed on a V100: does the model come near? Their code is
// not ours to keep; README.md says how to compile it into a folder of listings, which the
// environment names.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "harness/model/sass/sass_listing.h"
#include "harness/model/sm/loop_prediction.h"
#include "results/store/test_folder.h"

namespace sparkbench {
namespace {

constexpr const char* kFolderVariable = "SPARKBENCH_PUBLISHED_KERNELS";

/// How far measured kernels were from their prediction where both are known; GEMMs of CUTLASS are
/// the slow end. The model is no better than that.
constexpr double kLeastOfPrediction = 0.87, kMostOfPrediction = 1.08;

struct PublishedKernel {
  const char *file, *function;  // a listing of the folder; a part of the symbol
  int threads, blocks;
  BankConflicts conflicts;
  double least, most;  // of the tensor cores' peak, measured
  const char* source;
};

/// Its reads of P meet two-way conflicts, as its authors say, and as their count of wavefronts
/// does.
BankConflicts splitd_conflicts() {
  BankConflicts conflicts;
  for (const std::uint32_t address :
       {0x3d20u, 0x3d80u, 0x3de0u, 0x3e10u, 0x3e70u, 0x3ee0u, 0x4010u, 0x4060u,
        0x40c0u, 0x41e0u, 0x4220u, 0x4300u, 0x4350u, 0x4470u, 0x4540u, 0x4590u,
        0x49b0u, 0x49c0u, 0x49d0u, 0x49e0u, 0x49f0u, 0x4a90u, 0x4ae0u, 0x4b30u,
        0x4b60u, 0x4bd0u, 0x4c20u, 0x4d30u, 0x4e40u, 0x4e90u, 0x4f60u, 0x4fb0u}) {
    conflicts.of_address[address] = 2.0;
  }
  return conflicts;
}

std::vector<PublishedKernel> published_kernels() {
  return {
      {"cublas.sass",
       "volta_s884gemm_fp16_128x128_ldg8_nn",
       128,
       2,
       {},
       0.86,
       0.90,
       "cuBLAS: 112.3 TFLOP/s (DeepBench), 10.17 ms for 8192^3 (CUTLASS issue 169)"},
      {"cublas.sass",
       "volta_s884gemm_fp16_256x128_ldg8_nn",
       256,
       1,
       {},
       0.86,
       0.90,
       "cuBLAS: the same figures, which name no tile"},
      {"cutlass.sass",
       "GemmShapeILi128ELi128ELi32EE",
       128,
       2,
       {},
       0.79,
       0.83,
       "CUTLASS s884 128x128x32 TN: 11.05 ms for 8192^3 (CUTLASS issue 169)"},
      {"splitd.sass", "sm70_d256_splitd_dense_kernel", 256, 1, splitd_conflicts(), 0.39, 0.41,
       "1CatAI split-D attention: 46.46 ms for 64k keys at 1312 MHz"},
  };
}

const SassFunction* find_function(const std::vector<SassFunction>& functions,
                                  const std::string& part) {
  for (const SassFunction& function : functions) {
    if (function.symbol.find(part) != std::string::npos) return &function;
  }
  return nullptr;
}

double predicted_share(const SassFunction& function, const PublishedKernel& kernel) {
  PredictionRequest request;
  request.threads = kernel.threads;
  request.blocks = kernel.blocks;
  request.conflicts = kernel.conflicts;
  if (kernel.blocks > 1) request.offsets = {400, 1000, 2000};
  return predict_loop(function, request).tensor_share();
}

TEST(Published, KernelsRunAsFastAsPredicted) {
  const char* const folder = std::getenv(kFolderVariable);
  if (folder == nullptr) GTEST_SKIP() << kFolderVariable << " names no folder of listings";
  for (const PublishedKernel& kernel : published_kernels()) {
    const auto path = std::filesystem::path(folder) / kernel.file;
    ASSERT_TRUE(std::filesystem::is_regular_file(path)) << path;
    const std::vector<SassFunction> functions = parse_sass_listing(text_of_file(path));
    const SassFunction* const function = find_function(functions, kernel.function);
    ASSERT_NE(function, nullptr) << kernel.function << " is not in " << path;
    const double share = predicted_share(*function, kernel);
    std::cout << kernel.function << ": predicted " << share << ", measured " << kernel.least
              << " to " << kernel.most << "\n";
    EXPECT_GE(kernel.most, kLeastOfPrediction * share) << kernel.source;
    EXPECT_LE(kernel.least, kMostOfPrediction * share) << kernel.source;
  }
}

}  // namespace
}  // namespace sparkbench
