// Shared by the GPU tests of DqForm: a pass of the Hopper backward kernels on the GPU.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/hopper/backward/test_gradients.h"
#include "kernels/hopper/plan.h"
#include "kernels/hopper/test_gpu.h"
#include "kernels/testing/test_packed_gpu.h"

namespace sparkbench::hopper {

struct Gradients {
  std::vector<Half> dq, dk, dv;
};

/// Runs plan(tensors, workspace), over poisoned gradients and in a poisoned workspace.
template <class Plan>
Gradients run(const Problem& problem, const DeviceBuffer& q, const DeviceBuffer& k,
              const DeviceBuffer& v, const DeviceBuffer& o, const DeviceBuffer& d_o,
              const DeviceBuffer& lse, Plan plan) {
  const std::size_t of_q = problem.q_elements(), of_k = problem.k_elements();
  const DeviceBuffer dq = poisoned(of_q * sizeof(Half)), dk = poisoned(of_k * sizeof(Half)),
                     dv = poisoned(of_k * sizeof(Half));
  const BackwardTensors tensors = contiguous_tensors(
      problem, q.as<Half>(), k.as<Half>(), v.as<Half>(), o.as<Half>(), d_o.as<Half>(),
      lse.as<float>(), dq.as<Half>(), dk.as<Half>(), dv.as<Half>());
  DeviceWorkspace counted;
  plan(tensors, counted);
  const DeviceBuffer memory = poisoned(counted.bytes());
  DeviceWorkspace workspace(memory.as<void>());
  run_on_stream(plan(tensors, workspace), nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
  download<std::byte>(memory, counted.bytes());  // looks at the guard zone
  return {download<Half>(dq, of_q), download<Half>(dk, of_k), download<Half>(dv, of_k)};
}

inline Gradients run(const Case& made, DqForm dq) {
  return run(made.problem, upload(made.inputs.q), upload(made.inputs.k), upload(made.inputs.v),
             upload(made.forward.o), upload(made.d_o), upload(made.forward.lse),
             [&](const BackwardTensors& tensors, Workspace& workspace) {
               const PlanRequest request =
                   for_current_gpu(backward_request(made.problem, tensors, false));
               return backward_plan(request, dq, workspace);
             });
}

}  // namespace sparkbench::hopper
