// Shared by the GPU tests of DqForm: a pass of the Hopper backward kernels on the GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/hopper/backward/test_gradients.h"
#include "kernels/hopper/backward_workspace.h"
#include "kernels/hopper/plan.h"
#include "kernels/hopper/test_gpu.h"
#include "kernels/testing/test_packed_gpu.h"

namespace sparkbench::hopper {

struct Gradients {
  std::vector<Half> dq, dk, dv;
};

/// Calls launch(tensors, workspace) of so many bytes, over poisoned gradients.
template <class Launch>
Gradients run(const Problem& problem, std::uint64_t bytes, const DeviceBuffer& q,
              const DeviceBuffer& k, const DeviceBuffer& v, const DeviceBuffer& o,
              const DeviceBuffer& d_o, const DeviceBuffer& lse, Launch launch) {
  const std::size_t of_q = problem.q_elements(), of_k = problem.k_elements();
  const DeviceBuffer dq = poisoned(of_q * sizeof(Half)), dk = poisoned(of_k * sizeof(Half)),
                     dv = poisoned(of_k * sizeof(Half)), workspace = poisoned(bytes);
  launch(contiguous_tensors(problem, q.as<Half>(), k.as<Half>(), v.as<Half>(), o.as<Half>(),
                            d_o.as<Half>(), lse.as<float>(), dq.as<Half>(), dk.as<Half>(),
                            dv.as<Half>()),
         workspace.as<void>());
  CUDA_CHECK(cudaDeviceSynchronize());
  download<std::byte>(workspace, bytes);  // looks at the guard zone
  return {download<Half>(dq, of_q), download<Half>(dk, of_k), download<Half>(dv, of_k)};
}

inline Gradients run(const Case& made, DqForm dq) {
  return run(made.problem, dense_workspace(made.problem, dq).bytes, upload(made.inputs.q),
             upload(made.inputs.k), upload(made.inputs.v), upload(made.forward.o), upload(made.d_o),
             upload(made.forward.lse), [&](const BackwardTensors& tensors, void* workspace) {
               DeviceWorkspace memory(workspace);
               const PlanRequest request =
                   for_current_gpu(backward_request(made.problem, tensors, false));
               run_on_stream(backward_plan(request, dq, memory), nullptr);
             });
}

}  // namespace sparkbench::hopper
