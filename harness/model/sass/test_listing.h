// For tests: machine code to read, recorded and made up.
#pragma once

#include <fmt/core.h>

#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "harness/model/sass/sass_listing.h"
#include "results/store/test_folder.h"

namespace sparkbench {

/// What CUDA 11.8's cuobjdump printed ("sass", "usage") of a kernel for sm_70 made for these tests,
/// volta-fp32acc/fwd/d64: two mma a pass, one shuffle of data and one of a row's maximum, and a
/// branch around the mask.
inline std::string recorded_listing(const std::string& extension) {
  return text_of_file(std::filesystem::path(SPARKBENCH_TESTDATA) / ("small_forward." + extension));
}

/// A function of these instructions, the first at address 0, 16 bytes each.
inline SassFunction function_of(const std::vector<std::string>& instructions) {
  std::string listing = "code for sm_70\n  Function : f\n";
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    listing += fmt::format("  /*{:04x}*/  {} ;\n", 16 * i, instructions[i]);
  }
  return parse_sass_listing(listing).front();
}

inline SassInstruction instruction_of(const std::string& text) {
  return function_of({text}).instructions.front();
}

/// Every instruction of the function, in order.
inline std::vector<int> all_of(const SassFunction& function) {
  std::vector<int> path(function.instructions.size());
  std::iota(path.begin(), path.end(), 0);
  return path;
}

/// The four steps of one m8n8k4 with FP32 accumulators.
inline std::vector<std::string> mma_fp32() {
  return {"HMMA.884.F32.F32.STEP0 R8, R4.reuse.ROW, R6.reuse.COL, R8",
          "HMMA.884.F32.F32.STEP1 R10, R4.reuse.ROW, R6.reuse.COL, R10",
          "HMMA.884.F32.F32.STEP2 R12, R4.reuse.ROW, R6.reuse.COL, R12",
          "HMMA.884.F32.F32.STEP3 R14, R4.ROW, R6.COL, R14"};
}

inline std::vector<std::string> joined(std::initializer_list<std::vector<std::string>> parts) {
  std::vector<std::string> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace sparkbench
