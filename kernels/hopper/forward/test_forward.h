// Shared by the tests of the Hopper forward kernels: a pass on the emulated H100, by RowForm.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "kernels/hopper/emulated.h"
#include "kernels/launch/run_emulated.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/registry.h"
#include "kernels/testing/test_problems.h"
#include "kernels/testing/test_sparse_checks.h"
#include "reference/error_metrics.h"
#include "reference/exact/exact.h"
#include "reference/inputs/inputs.h"
#include "reference/unfused/unfused.h"

namespace sparkbench::hopper {

struct Outputs {
  std::vector<Half> o;
  std::vector<float> lse;
  EmulationReport report;
};

inline constexpr Half kPoison{0x7fff};

inline Outputs run_emulated(const Problem& problem, RowForm form, const OwnedInputs& inputs,
                            std::uint64_t schedule_seed = 0,
                            std::span<const SampleTile> tiles = {}) {
  Outputs outputs;
  outputs.o.assign(problem.q_elements(), kPoison);
  outputs.lse.assign(problem.lse_elements(), std::numeric_limits<float>::quiet_NaN());
  EmulationOptions options = options_of(*find_attention_kernel("hopper-fp32acc"));
  options.schedule_seed = schedule_seed;
  const ForwardTensors tensors =
      contiguous_tensors(problem, inputs.q.data(), inputs.k.data(), inputs.v.data(),
                         outputs.o.data(), outputs.lse.data());
  outputs.report = emulate_forward(for_emulated_device(forward_request(problem, tensors), options),
                                   options, form, tiles);
  return outputs;
}

inline void expect_correct(const Problem& problem, RowForm form, const OwnedInputs& inputs) {
  const Outputs outputs = run_emulated(problem, form, inputs);
  expect_clean(outputs.report);
  const std::vector<QueryRow> rows = all_rows(problem);
  const ExactRows want = exact_forward(problem, inputs.view(), rows);
  const ForwardRows unfused = unfused_forward(problem, inputs.view(), rows,
                                              {arithmetic_profile("hopper"), Accumulator::kFp32});
  const ErrorMetrics error =
      error_metrics(gather_rows(problem, outputs.o, outputs.lse, rows), want);
  EXPECT_EQ(why_incorrect(error, error_metrics(unfused, want), {}), "")
      << "rel_l2 " << error.rel_l2 << ", lse " << error.lse_max_abs;
}

inline void expect_correct(const Problem& problem, RowForm form) {
  expect_correct(problem, form, make_inputs(problem, Distribution::kNormal, 7));
}

inline bool same_bits(const Outputs& a, const Outputs& b) {
  return std::memcmp(a.o.data(), b.o.data(), a.o.size() * sizeof(Half)) == 0 &&
         std::memcmp(a.lse.data(), b.lse.data(), a.lse.size() * sizeof(float)) == 0;
}

}  // namespace sparkbench::hopper
