// For tests: sparkbench-model, run in this process.
#pragma once

#include "harness/e2e/test_program.h"
#include "harness/model/tool/model_program.h"

namespace sparkbench {

/// Runs `sparkbench-model` with the space-separated arguments.
inline ProgramResult run_model(const std::string& arguments) {
  return run_with_words("sparkbench-model", arguments, run_model_program);
}

inline void expect_model_refused(const ProgramResult& result, int exit_code,
                                 const std::string& says) {
  expect_refused(result, exit_code, says, "sparkbench-model");
}

}  // namespace sparkbench
