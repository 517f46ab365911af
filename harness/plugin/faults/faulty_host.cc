// Faulty kernels, and right ones that differ (faults.h), in host memory.
#include <memory>

#include "harness/plugin/faults/table.h"

namespace sparkbench::faults {
namespace {

/// f(row) for all rows of all heads.
template <class F>
void for_rows(const Call& call, int heads, int rows, F f) {
  for (int b = 0; b < call.problem.batch; ++b) {
    for (int h = 0; h < heads; ++h) {
      for (int i = 0; i < rows; ++i) f(Row{b, h, i});
    }
  }
}

}  // namespace

void run_forward(const Call& call, void* /*stream*/) {
  for_rows(call, call.problem.heads, call.problem.seqlen_q,
           [&](const Row& row) { forward_row(call, row); });
  finish(call);
}

void run_backward(const Call& call, void* /*stream*/) {
  for_rows(call, call.problem.heads, call.problem.seqlen_q,
           [&](const Row& row) { dq_row(call, row); });
  for_rows(call, call.problem.heads_k, call.problem.seqlen_k,
           [&](const Row& row) { dk_dv_row(call, row); });
}

std::shared_ptr<void> make_kept() { return nullptr; }
const char* why_failed() { return nullptr; }

}  // namespace sparkbench::faults

extern "C" const sparkbench_kernel* sparkbench_kernel_entry(uint32_t abi, uint32_t index) {
  return sparkbench::faults::kernel_at<SPARKBENCH_HOST>(abi, index);
}
