// Linked where there is no CUDA.
#include <stdexcept>

#include "kernels/launch/run_gpu.h"

namespace sparkbench {
namespace {

[[noreturn]] void refuse() { throw std::logic_error("this build was made without CUDA"); }

}  // namespace

void run_on_stream(const std::vector<Step>& /*plan*/, CUstream_st* /*stream*/) { refuse(); }

std::vector<Step> plan_on_gpu(const AttentionKernel& /*kernel*/, const PlanRequest& /*request*/,
                              void* /*workspace*/) {
  refuse();
}

}  // namespace sparkbench
