// Runs a plan on a stream of the current GPU: in a build for GPUs.
#pragma once

#include <vector>

#include "kernels/launch/attention_kernel.h"

struct CUstream_st;

namespace sparkbench {

/// Device pointers. Asynchronous: no host waits. A launch that the driver refuses throws
/// std::runtime_error.
void run_on_stream(const std::vector<Step>& plan, CUstream_st* stream);

/// The request, of the current GPU.
PlanRequest for_current_gpu(PlanRequest request);

/// The kernel's plan for it. `workspace` has workspace_bytes() and is aligned to 256
/// bytes. Throws std::invalid_argument for what is not supported.
std::vector<Step> plan_on_gpu(const AttentionKernel& kernel, const PlanRequest& request,
                              void* workspace);

}  // namespace sparkbench
