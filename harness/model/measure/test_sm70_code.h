// The kernels' machine code, for tests. Code for sm_70 is no part of most builds, so it is asked
// for: SPARKBENCH_SM70_CODE names a binary, or what cuobjdump -sass printed of one ("....sass").
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/model/predict/test_instance.h"
#include "harness/model/sass/cuobjdump.h"
#include "harness/model/sass/sass_listing.h"
#include "results/store/test_folder.h"

namespace sparkbench {

inline constexpr const char* kSm70CodeVariable = "SPARKBENCH_SM70_CODE";
inline constexpr const char* kNoSm70Code = "SPARKBENCH_SM70_CODE names no machine code";

inline bool is_sm70_code_named() { return std::getenv(kSm70CodeVariable) != nullptr; }

/// Read once. Where no code is named, none.
inline const std::vector<SassFunction>& sm70_functions() {
  static const std::vector<SassFunction> functions = [] {
    if (!is_sm70_code_named()) return std::vector<SassFunction>();
    const std::filesystem::path code = std::getenv(kSm70CodeVariable);
    return parse_sass_listing(code.extension() == ".sass"
                                  ? text_of_file(code)
                                  : read_code(find_cuobjdump({}), code).sass);
  }();
  return functions;
}

inline const SassFunction& sm70_function_of(const KernelInstance& instance) {
  for (const SassFunction& function : sm70_functions()) {
    if (function.sm == 70 && function.symbol == instance.symbol) return function;
  }
  throw std::invalid_argument("no code of " + std::string(instance.id));
}

}  // namespace sparkbench
