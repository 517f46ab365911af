// What a model of a GPU's arithmetic is compared with: dot products and special functions recorded
// in a file, or the same ones asked of the GPU in this machine.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/machine/emulated/special_functions/function_recording.h"
#include "kernels/machine/emulated/tensor_core/vector_file.h"

namespace sparkbench {

/// The name among the profiles that stands for the special functions, which every GPU from sm_50 on
/// computes alike.
inline constexpr std::string_view kSpecialFunctionProfile = "sfu";

/// The tensor core of that name. Throws UsageError, with the nearest name, when there is none.
const ArithmeticProfile& find_profile(std::string_view name);

/// How GPUs of compute capability `sm` (70, 75, ...) compute the MMA of `terms` terms. Throws
/// EnvironmentError when they have none: m8n8k4 came with 7.0, m16n8k8 with 7.5, m16n8k16 with 8.0.
const ArithmeticProfile& native_profile(int sm, std::size_t terms);

/// The rows of a file (vector_file.h). Throws UsageError, which names the file and, where it has
/// one, the line and column that cannot be read.
std::vector<VectorRow> load_vector_file(const std::string& path);

/// A file of special functions (function_recording.h), with the same errors.
FunctionRecording load_function_recording(const std::string& path);

/// Throws UsageError unless `device` has the form of a GPU's name, cuda:N.
void require_gpu_name(const std::string& device);

/// The same inputs, with what the current GPU makes of them as the recorded results. Throws
/// EnvironmentError in a build without CUDA, std::runtime_error when the GPU fails.
std::vector<VectorRow> ask_gpu(std::vector<VectorRow> rows);
FunctionRecording ask_gpu(FunctionRecording recording);

}  // namespace sparkbench
