// What a model of a tensor core's arithmetic is compared with: dot products recorded in a file, or
// the same ones asked of the GPU in this machine.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/machine/emulated/tensor_core/vector_file.h"

namespace sparkbench {

/// Throws UsageError, with the nearest name, when there is no profile of that name.
const ArithmeticProfile& find_profile(std::string_view name);

/// How GPUs of compute capability `sm` (70, 75, ...) compute the MMA of `terms` terms. Throws
/// EnvironmentError when they have none: m8n8k4 came with 7.0, m16n8k8 with 7.5, m16n8k16 with 8.0.
const ArithmeticProfile& native_profile(int sm, std::size_t terms);

/// The rows of a file (vector_file.h). Throws UsageError, which names the file and, where it has
/// one, the line and column that cannot be read.
std::vector<VectorRow> load_vector_file(const std::string& path);

/// The same inputs, with what the current GPU makes of them as the recorded results. Throws
/// EnvironmentError in a build without CUDA, std::runtime_error when the GPU fails.
std::vector<VectorRow> ask_gpu(std::vector<VectorRow> rows);

}  // namespace sparkbench
