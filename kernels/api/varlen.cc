// The calls of the C interface for sequences of any lengths.
#include "kernels/api/calls.h"
#include "kernels/api/request.h"
#include "kernels/api/spark_attention.h"
#include "kernels/api/status.h"
#include "kernels/launch/run_gpu.h"
#include "kernels/strided/kernel_passes.h"

namespace sparkbench {
namespace {

/// Offsets in host memory, which end at `total`.
void check_offsets(const char* name, const std::int32_t* offsets, int sequences, int total) {
  const auto refuse = [name](int at, const std::string& given, const std::string& allowed) {
    throw std::invalid_argument(std::string(name) + "[" + std::to_string(at) + "] is " + given +
                                "; allowed: " + allowed);
  };
  if (offsets[0] != 0) refuse(0, std::to_string(offsets[0]), "0");
  for (int i = 1; i <= sequences; ++i) {
    if (offsets[i] < offsets[i - 1]) {
      refuse(i, std::to_string(offsets[i]),
             "no less than the one before, " + std::to_string(offsets[i - 1]));
    }
  }
  if (offsets[sequences] != total) {
    refuse(sequences, std::to_string(offsets[sequences]),
           std::to_string(total) + ", all rows or keys");
  }
}

PackedLengths lengths_of(const PackedRequest& request, const std::int32_t* cu_seqlens_q,
                         const std::int32_t* cu_seqlens_k) {
  if (cu_seqlens_q == nullptr) throw std::invalid_argument("cu_seqlens_q is null");
  if (cu_seqlens_k == nullptr) throw std::invalid_argument("cu_seqlens_k is null");
  if (request.is_emulated) {
    check_offsets("cu_seqlens_q", cu_seqlens_q, request.sequences, request.problem.seqlen_q);
    check_offsets("cu_seqlens_k", cu_seqlens_k, request.sequences, request.problem.seqlen_k);
  }
  return {request.sequences, cu_seqlens_q, cu_seqlens_k};
}

void launch(const PackedRequest& request, const PackedLengths& lengths, PlanRequest of,
            void* workspace, CUstream_st* stream) {
  of.lengths = &lengths;
  on_gpu(request.device,
         [&] { run_on_stream(plan_on_gpu(*request.kernel, of, workspace), stream); });
}

void packed_forward(const PackedRequest& request, const PackedLengths& lengths,
                    const ForwardTensors& tensors, void* workspace, CUstream_st* stream) {
  if (request.is_emulated) {
    expect_no_findings(emulate_packed_forward(*request.kernel, request.problem, lengths, tensors,
                                              emulation_options(), {}));
    return;
  }
  launch(request, lengths, forward_request(request.problem, tensors), workspace, stream);
}

void packed_backward(const PackedRequest& request, const PackedLengths& lengths,
                     const BackwardTensors& tensors, void* workspace, CUstream_st* stream) {
  const bool is_deterministic = request.is_deterministic;
  if (request.is_emulated) {
    expect_no_findings(emulate_packed_backward(*request.kernel, request.problem, lengths, tensors,
                                               emulation_options(), is_deterministic, {}));
    return;
  }
  launch(request, lengths, backward_request(request.problem, tensors, is_deterministic), workspace,
         stream);
}

}  // namespace
}  // namespace sparkbench

extern "C" {

spark_attention_status spark_attention_varlen_supports(const spark_attention_problem* problem,
                                                       int32_t pass) {
  return sparkbench::status_of([&] { sparkbench::packed_request_of(problem, pass); });
}

spark_attention_status spark_attention_varlen_workspace_bytes(
    const spark_attention_problem* problem, int32_t pass, size_t* bytes) {
  return sparkbench::status_of([&] {
    const sparkbench::PackedRequest request = sparkbench::packed_request_of(problem, pass);
    sparkbench::written(bytes, "bytes") = request.workspace_bytes(
        pass == SPARK_ATTENTION_FORWARD ? sparkbench::Pass::kForward : sparkbench::Pass::kBackward);
  });
}

spark_attention_status spark_attention_varlen_forward(
    const spark_attention_problem* problem, const int32_t* cu_seqlens_q,
    const int32_t* cu_seqlens_k, const spark_attention_forward_tensors* tensors, void* workspace,
    size_t workspace_bytes, void* stream) {
  return sparkbench::status_of([&] {
    using namespace sparkbench;
    const PackedRequest request = packed_request_of(problem, SPARK_ATTENTION_FORWARD);
    const ForwardTensors views = tensors_of(request.problem, offset_of(*problem), tensors);
    check_workspace(request.workspace_bytes(Pass::kForward), workspace, workspace_bytes);
    packed_forward(request, lengths_of(request, cu_seqlens_q, cu_seqlens_k), views, workspace,
                   static_cast<CUstream_st*>(stream));
  });
}

spark_attention_status spark_attention_varlen_backward(
    const spark_attention_problem* problem, const int32_t* cu_seqlens_q,
    const int32_t* cu_seqlens_k, const spark_attention_backward_tensors* tensors, void* workspace,
    size_t workspace_bytes, void* stream) {
  return sparkbench::status_of([&] {
    using namespace sparkbench;
    const PackedRequest request = packed_request_of(problem, SPARK_ATTENTION_BACKWARD);
    const BackwardTensors views = tensors_of(request.problem, offset_of(*problem), tensors);
    check_workspace(request.workspace_bytes(Pass::kBackward), workspace, workspace_bytes);
    packed_backward(request, lengths_of(request, cu_seqlens_q, cu_seqlens_k), views, workspace,
                    static_cast<CUstream_st*>(stream));
  });
}

}  // extern "C"
