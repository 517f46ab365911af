#include "kernels/api/spark_attention.h"

#include "kernels/api/calls.h"
#include "kernels/api/request.h"
#include "kernels/api/status.h"
#include "kernels/launch/run_gpu.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/strided/pass_dropout.h"

namespace sparkbench {
namespace {

void launch(const Request& request, PlanRequest of, Pass pass, void* workspace,
            CUstream_st* stream) {
  on_gpu(request.device, [&] {
    if (request.mask == nullptr) {
      return run_on_stream(plan_on_gpu(*request.kernel, of, workspace), stream);
    }
    const auto of_pattern = lists_on_gpu(request, pass, stream);
    of.lists = &of_pattern->lists;
    of.list_memory = of_pattern->memory.get();
    run_on_stream(plan_on_gpu(*request.kernel, of, workspace), stream);
  });
}

void forward(const Request& request, const ForwardTensors& tensors, void* workspace,
             CUstream_st* stream) {
  if (request.is_emulated) {
    expect_no_findings(
        emulate_forward(*request.kernel, request.problem, tensors, emulation_options(), {}));
    return;
  }
  launch(request, forward_request(request.problem, tensors), Pass::kForward, workspace, stream);
}

void backward(const Request& request, const BackwardTensors& tensors, void* workspace,
              CUstream_st* stream) {
  const bool is_deterministic = request.is_deterministic;
  if (request.is_emulated) {
    expect_no_findings(emulate_backward(*request.kernel, request.problem, tensors,
                                        emulation_options(), is_deterministic, {}));
    return;
  }
  launch(request, backward_request(request.problem, tensors, is_deterministic), Pass::kBackward,
         workspace, stream);
}

void fill_dropout_mask(const Problem& problem, std::uint8_t* keep) {
  const Dropout dropout = problem.dropout();
  const DropoutViews views = dropout_views_of(problem);
  for (int entry = 0; entry < problem.batch; ++entry) {
    for (int head = 0; head < problem.heads; ++head) {
      for (int row = 0; row < problem.seqlen_q; ++row) {
        for (int column = 0; column < problem.seqlen_k; ++column) {
          *keep++ = dropout_keeps(dropout, views.place(entry, head, row, column)) ? 1 : 0;
        }
      }
    }
  }
}

}  // namespace
}  // namespace sparkbench

extern "C" {

spark_attention_status spark_attention_supports(const spark_attention_problem* problem,
                                                int32_t pass) {
  return sparkbench::status_of([&] { sparkbench::request_of(problem, pass); });
}

spark_attention_status spark_attention_kernel_name(const spark_attention_problem* problem,
                                                   int32_t pass, const char** name) {
  return sparkbench::status_of([&] {
    const sparkbench::Request request = sparkbench::request_of(problem, pass);
    // Names are literals, which end with a zero.
    sparkbench::written(name, "name") = request.kernel->name.data();
  });
}

spark_attention_status spark_attention_workspace_bytes(const spark_attention_problem* problem,
                                                       int32_t pass, size_t* bytes) {
  return sparkbench::status_of([&] {
    const sparkbench::Request request = sparkbench::request_of(problem, pass);
    sparkbench::written(bytes, "bytes") = request.workspace_bytes(
        pass == SPARK_ATTENTION_FORWARD ? sparkbench::Pass::kForward : sparkbench::Pass::kBackward);
  });
}

spark_attention_status spark_attention_forward(const spark_attention_problem* problem,
                                               const spark_attention_forward_tensors* tensors,
                                               void* stream) {
  return spark_attention_forward_with_workspace(problem, tensors, nullptr, 0, stream);
}

spark_attention_status spark_attention_forward_with_workspace(
    const spark_attention_problem* problem, const spark_attention_forward_tensors* tensors,
    void* workspace, size_t workspace_bytes, void* stream) {
  return sparkbench::status_of([&] {
    const sparkbench::Request request = sparkbench::request_of(problem, SPARK_ATTENTION_FORWARD);
    const sparkbench::DropoutOffset* const offset = sparkbench::offset_of(*problem);
    const sparkbench::ForwardTensors views =
        sparkbench::tensors_of(request.problem, offset, tensors);
    sparkbench::check_workspace(request.workspace_bytes(sparkbench::Pass::kForward), workspace,
                                workspace_bytes);
    sparkbench::forward(request, views, workspace, static_cast<CUstream_st*>(stream));
  });
}

spark_attention_status spark_attention_backward(const spark_attention_problem* problem,
                                                const spark_attention_backward_tensors* tensors,
                                                void* workspace, size_t workspace_bytes,
                                                void* stream) {
  return sparkbench::status_of([&] {
    const sparkbench::Request request = sparkbench::request_of(problem, SPARK_ATTENTION_BACKWARD);
    const sparkbench::BackwardTensors views =
        sparkbench::tensors_of(request.problem, sparkbench::offset_of(*problem), tensors);
    sparkbench::check_workspace(request.workspace_bytes(sparkbench::Pass::kBackward), workspace,
                                workspace_bytes);
    sparkbench::backward(request, views, workspace, static_cast<CUstream_st*>(stream));
  });
}

spark_attention_status spark_attention_dropout_mask(const spark_attention_problem* problem,
                                                    uint8_t* keep, float* keep_scale,
                                                    void* stream) {
  return sparkbench::status_of([&] {
    sparkbench::Problem of = sparkbench::problem_of(problem);
    if (keep != nullptr && problem->backend == SPARK_ATTENTION_EMULATED) {
      if (problem->dropout_offset != nullptr) of.dropout_offset = *problem->dropout_offset;
      sparkbench::fill_dropout_mask(of, keep);
    } else if (keep != nullptr) {
      sparkbench::describe_gpu(problem->device);
      sparkbench::on_gpu(problem->device, [&] {
        sparkbench::fill_dropout_mask_of_gpu(of, sparkbench::offset_of(*problem), keep,
                                             static_cast<CUstream_st*>(stream));
      });
    }
    if (keep_scale != nullptr) *keep_scale = of.dropout().keep_scale;
  });
}

const char* spark_attention_last_error(void) { return sparkbench::last_error(); }

const char* spark_attention_status_name(int32_t status) {
  switch (status) {
    case SPARK_ATTENTION_OK:
      return "OK";
    case SPARK_ATTENTION_INVALID_ARGUMENT:
      return "INVALID_ARGUMENT";
    case SPARK_ATTENTION_UNSUPPORTED:
      return "UNSUPPORTED";
    case SPARK_ATTENTION_NO_DEVICE_CODE:
      return "NO_DEVICE_CODE";
    case SPARK_ATTENTION_OUT_OF_MEMORY:
      return "OUT_OF_MEMORY";
    case SPARK_ATTENTION_DEVICE_ERROR:
      return "DEVICE_ERROR";
    case SPARK_ATTENTION_INTERNAL_ERROR:
      return "INTERNAL_ERROR";
  }
  return "unknown";
}

const char* spark_attention_version(void) { return SPARK_ATTENTION_VERSION; }

const char* spark_attention_architectures(void) { return sparkbench::compiled_architectures(); }

}  // extern "C"
