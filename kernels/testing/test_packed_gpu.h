// Shared by the varlen tests of all kernels on a GPU.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <vector>

#include "kernels/launch/run_gpu.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/test_gpu.h"
#include "kernels/testing/test_packed.h"

namespace sparkbench {

/// A varlen problem's inputs in GPU memory. cu_seqlens are only there: launches must not need them
/// on the host.
struct OnGpu {
  DeviceBuffer q, k, v, d_o, cu_seqlens_q, cu_seqlens_k;
  int batch;

  explicit OnGpu(const PackedCase& made)
      : q(upload(made.inputs.q)),
        k(upload(made.inputs.k)),
        v(upload(made.inputs.v)),
        d_o(upload(made.d_o)),
        cu_seqlens_q(upload(made.cu_seqlens_q)),
        cu_seqlens_k(upload(made.cu_seqlens_k)),
        batch(made.batch()) {}
  PackedLengths lengths() const { return {batch, cu_seqlens_q.as<int>(), cu_seqlens_k.as<int>()}; }
};

inline PackedRows run_forward(const AttentionKernel& kernel, const PackedCase& made,
                              const OnGpu& gpu) {
  const Problem& problem = made.problem;
  PackedRows rows(made);
  const DeviceBuffer o = poisoned(rows.o.size() * sizeof(Half));
  const DeviceBuffer lse = poisoned(rows.lse.size() * sizeof(float));
  const DeviceBuffer workspace =
      poisoned(packed_workspace_bytes(kernel, problem, gpu.batch, Pass::kForward, false));
  const ForwardTensors tensors = contiguous_tensors(
      problem, gpu.q.as<Half>(), gpu.k.as<Half>(), gpu.v.as<Half>(), o.as<Half>(), lse.as<float>());
  const PackedLengths lengths = gpu.lengths();
  PlanRequest request = forward_request(problem, tensors);
  request.lengths = &lengths;
  run_on_stream(plan_on_gpu(kernel, request, workspace.as<void>()), nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
  rows.o = download<Half>(o, rows.o.size());
  rows.lse = download<float>(lse, rows.lse.size());
  return rows;
}

inline PackedGradients run_backward(const AttentionKernel& kernel, const PackedCase& made,
                                    const OnGpu& gpu, const PackedRows& rows,
                                    bool is_deterministic) {
  const Problem& problem = made.problem;
  PackedGradients gradients(made);
  const DeviceBuffer o = upload(rows.o), lse = upload(rows.lse);
  const DeviceBuffer dq = poisoned(gradients.dq.size() * sizeof(Half));
  const DeviceBuffer dk = poisoned(gradients.dk.size() * sizeof(Half));
  const DeviceBuffer dv = poisoned(gradients.dv.size() * sizeof(Half));
  const DeviceBuffer workspace = poisoned(
      packed_workspace_bytes(kernel, problem, gpu.batch, Pass::kBackward, is_deterministic));
  const BackwardTensors tensors = contiguous_tensors(
      problem, gpu.q.as<Half>(), gpu.k.as<Half>(), gpu.v.as<Half>(), o.as<Half>(),
      gpu.d_o.as<Half>(), lse.as<float>(), dq.as<Half>(), dk.as<Half>(), dv.as<Half>());
  const PackedLengths lengths = gpu.lengths();
  PlanRequest request = backward_request(problem, tensors, is_deterministic);
  request.lengths = &lengths;
  run_on_stream(plan_on_gpu(kernel, request, workspace.as<void>()), nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
  gradients.dq = download<Half>(dq, gradients.dq.size());
  gradients.dk = download<Half>(dk, gradients.dk.size());
  gradients.dv = download<Half>(dv, gradients.dv.size());
  return gradients;
}

/// Many short sequences, some empty on either side, and a few long ones.
inline std::vector<Lengths> ragged_lengths() {
  std::vector<Lengths> all = {{0, 0}, {700, 300}, {0, 20}, {19, 0}, {1, 1}, {513, 513}};
  std::uint64_t state = 9;
  for (int i = 0; i < 300; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    all.push_back({static_cast<int>(state >> 58), static_cast<int>(state >> 40 & 127)});
  }
  return all;
}

/// The bits that the emulated machine has, with these options; of atomic sums of dQ about their
/// values.
inline void expect_emulated_bits(const AttentionKernel& kernel, const PackedCase& made,
                                 const EmulationOptions& options) {
  const OnGpu gpu(made);
  const PackedRows rows = run_forward(kernel, made, gpu);
  PackedRows want(made);
  emulate_packed_forward(kernel, made.problem, made.lengths(), made.tensors(want), options, {});
  EXPECT_EQ(count_different(rows.o, want.o), 0u);
  EXPECT_EQ(rows.lse, want.lse);
  const PackedGradients got = run_backward(kernel, made, gpu, rows, true);
  PackedGradients emulated(made);
  emulate_packed_backward(kernel, made.problem, made.lengths(), made.tensors(rows, emulated),
                          options, true, {});
  EXPECT_EQ(count_different(got.dq, emulated.dq), 0u);
  EXPECT_EQ(count_different(got.dk, emulated.dk), 0u);
  EXPECT_EQ(count_different(got.dv, emulated.dv), 0u);
  const PackedGradients atomic = run_backward(kernel, made, gpu, rows, false);
  EXPECT_EQ(count_different(atomic.dk, emulated.dk), 0u);
  EXPECT_EQ(count_different(atomic.dv, emulated.dv), 0u);
  for (std::size_t i = 0; i < got.dq.size(); ++i) {
    const float value = to_float(got.dq[i]);
    ASSERT_NEAR(to_float(atomic.dq[i]), value, 0.01f * std::max(1.0f, std::fabs(value))) << i;
  }
  std::cout << 2 * got.dq.size() + 4 * got.dk.size() << " elements compared, "
            << name_of(made.problem.mask) << "\n";
}

}  // namespace sparkbench
