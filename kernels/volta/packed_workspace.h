// Device memory that the Volta kernels take for packed sequences besides their tensors.
#pragma once

#include <cstdint>

#include "kernels/problem/attention.h"

namespace sparkbench::volta {

/// Linear in the totals and in `batch`, saturating at 2^64 - 1; of a head_dim that is supported.
std::uint64_t packed_workspace_bytes(const Problem& packed, int batch, Pass pass,
                                     bool is_deterministic);

}  // namespace sparkbench::volta
