// Shared by the tests of DqForm: a pass of the Hopper backward kernels on the emulated H100.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/hopper/backward/test_gradients.h"
#include "kernels/hopper/emulated.h"
#include "kernels/launch/run_emulated.h"
#include "kernels/testing/test_packed_alone.h"

namespace sparkbench::hopper {

inline constexpr Half kPoison{0x7fff};

inline const AttentionKernel& kernel() { return *find_attention_kernel("hopper-fp32acc"); }

struct Gradients {
  std::vector<Half> dq, dk, dv;
};

inline Gradients run(const Case& made, DqForm dq, std::uint64_t schedule_seed = 0,
                     const BackwardSample& sample = {}) {
  Gradients gradients{std::vector<Half>(made.problem.q_elements(), kPoison),
                      std::vector<Half>(made.problem.k_elements(), kPoison),
                      std::vector<Half>(made.problem.k_elements(), kPoison)};
  const BackwardTensors tensors = contiguous_tensors(
      made.problem, made.inputs.q.data(), made.inputs.k.data(), made.inputs.v.data(),
      made.forward.o.data(), made.d_o.data(), made.forward.lse.data(), gradients.dq.data(),
      gradients.dk.data(), gradients.dv.data());
  const EmulationOptions options = seeded_options(kernel(), schedule_seed);
  const PlanRequest request = backward_request(made.problem, tensors, false);
  expect_clean_but_for_lists(
      emulate_backward(for_emulated_device(request, options), options, dq, sample));
  return gradients;
}

}  // namespace sparkbench::hopper
