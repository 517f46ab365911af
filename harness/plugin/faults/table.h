// The plug-in's table: a kernel for each of faults.h. run_forward() and run_backward() belong to
// the file that includes it.
#pragma once

#include <array>
#include <iterator>
#include <memory>
#include <new>
#include <utility>

#include "harness/plugin/faults/attention.h"

namespace sparkbench::faults {

/// Run the pass of `call` on its backend. On a GPU enqueue it on `stream`.
void run_forward(const Call& call, void* stream);
void run_backward(const Call& call, void* stream);
/// State that calls may keep, freed with their plan.
std::shared_ptr<void> make_kept();
/// Why the last of them failed; null if it did not.
const char* why_failed();

struct Plan {
  Call call;
  std::shared_ptr<void> kept = make_kept();
  int forward_calls = 0, backward_calls = 0;
};

inline const char* supports(const sparkbench_problem* problem) {
  if (problem->cu_seqlens_q != nullptr) return "varlen";
  if (problem->head_dim > kMostHeadDim) return "head_dim above 256";
  if (problem->backend == SPARKBENCH_CUDA && problem->mask_kind == SPARKBENCH_MASK_PATTERN) {
    return "patterns on a GPU";
  }
  return nullptr;
}

inline size_t workspace_bytes(const sparkbench_problem* /*problem*/) { return sizeof(float); }

template <Fault kFault>
int32_t prepare(const sparkbench_problem* problem, void* workspace, void* /*stream*/, void** plan) {
  auto* made = new (std::nothrow) Plan{};
  if (made == nullptr) return SPARKBENCH_OUT_OF_MEMORY;
  made->call.problem = *problem;
  made->call.fault = kFault;
  made->call.kept = made->kept.get();
  made->call.workspace = static_cast<const float*>(workspace);
  Dropout& dropout = made->call.dropout = make_dropout(problem->dropout_p, problem->seed);
  dropout.keep_scale = problem->dropout_scale;
  dropout.offset = {static_cast<std::uint32_t>(problem->dropout_offset),
                    static_cast<std::uint32_t>(problem->dropout_offset >> 32)};
  *plan = made;
  return SPARKBENCH_OK;
}

inline int32_t status() { return why_failed() == nullptr ? SPARKBENCH_OK : SPARKBENCH_ERROR; }

inline int32_t forward(void* plan, const sparkbench_tensors* tensors, void* stream) {
  auto& of = *static_cast<Plan*>(plan);
  of.call.tensors = *tensors;
  of.call.number = ++of.forward_calls;
  run_forward(of.call, stream);
  return status();
}

inline int32_t backward(void* plan, const sparkbench_tensors* tensors, void* stream) {
  auto& of = *static_cast<Plan*>(plan);
  Call call = of.call;
  call.tensors = *tensors;
  call.number = ++of.backward_calls;
  if (call.has(Fault::kDropoutOtherSeed)) {
    call.dropout.keys = philox_round_keys<kDropoutRounds>(philox_key(call.problem.seed + 1));
  }
  run_backward(call, stream);
  return status();
}

inline void destroy(void* plan) { delete static_cast<Plan*>(plan); }

template <std::size_t kIndex>
constexpr sparkbench_kernel make_kernel(int32_t backend) {
  sparkbench_kernel kernel{};
  kernel.struct_bytes = sizeof(sparkbench_kernel);
  kernel.name = kFaults[kIndex].name;
  kernel.summary = kFaults[kIndex].does;
  kernel.version = "1";
  kernel.backend = backend;
  kernel.accumulator = SPARKBENCH_ACC_FP32;
  kernel.supports = supports;
  kernel.workspace_bytes = workspace_bytes;
  kernel.prepare = prepare<kFaults[kIndex].fault>;
  kernel.forward = forward;
  kernel.backward = backward;
  kernel.destroy = destroy;
  kernel.last_error = why_failed;
  kernel.dtypes = SPARKBENCH_TAKES(SPARKBENCH_FP16) | SPARKBENCH_TAKES(SPARKBENCH_BF16);
  return kernel;
}

template <std::size_t kFirst, std::size_t... kIndex>
constexpr auto make_table(std::index_sequence<kIndex...> /*indices*/, int32_t backend) {
  return std::array<sparkbench_kernel, sizeof...(kIndex)>{make_kernel<kFirst + kIndex>(backend)...};
}

template <int32_t kBackend>
const sparkbench_kernel* kernel_at(uint32_t abi, uint32_t index) {
  constexpr std::size_t kFirst = kBackend == SPARKBENCH_HOST ? kCheatCount : 0;
  constexpr auto kIndices = std::make_index_sequence<std::size(kFaults) - kFirst>();
  static constexpr auto kTable = make_table<kFirst>(kIndices, kBackend);
  return abi == SPARKBENCH_KERNEL_ABI && index < kTable.size() ? &kTable[index] : nullptr;
}

}  // namespace sparkbench::faults
