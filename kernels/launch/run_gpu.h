// Runs a plan on a stream of the current GPU.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/launch/plan.h"

struct CUstream_st;

namespace sparkbench {

/// Device pointers. Asynchronous: no host waits. A launch that the driver refuses throws
/// std::runtime_error.
void run_on_stream(const std::vector<Step>& plan, CUstream_st* stream);

/// Of the current GPU: shared memory that a block may ask for, and how many SMs there are.
std::size_t shared_bytes_of_gpu();
int sms_of_gpu();

}  // namespace sparkbench
