// Checks a model of a GPU's arithmetic against dot products and special functions that are recorded
// in a file or computed by the GPU in this machine.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/machine/emulated/special_functions/function_recording.h"
#include "kernels/machine/emulated/tensor_core/vector_file.h"

namespace sparkbench {

/// The profile name for the special functions, which every GPU from sm_50 on computes alike.
inline constexpr std::string_view kSpecialFunctionProfile = "sfu";

/// The tensor core of that name. Throws UsageError, with the nearest name, if there is none.
const ArithmeticProfile& find_profile(std::string_view name);

/// The arithmetic of the MMA with `terms` terms on GPUs of compute capability `sm` (70, 75, ...).
/// Throws EnvironmentError if they have none: m8n8k4 needs 7.0, m16n8k8 7.5, m16n8k16 8.0.
const ArithmeticProfile& native_profile(int sm, std::size_t terms);

/// The rows of a file (vector_file.h). Throws UsageError with the file and, for a syntax error, the
/// line and column.
std::vector<VectorRow> load_vector_file(const std::string& path);

/// A file of special functions (function_recording.h); the same errors.
FunctionRecording load_function_recording(const std::string& path);

/// Throws UsageError unless `device` has the form of a GPU's name, cuda:N.
void require_gpu_name(const std::string& device);

/// The same inputs with the current GPU's results as the recorded ones. Throws EnvironmentError in
/// a build without CUDA, std::runtime_error if the GPU fails.
std::vector<VectorRow> ask_gpu(std::vector<VectorRow> rows);
FunctionRecording ask_gpu(FunctionRecording recording);

}  // namespace sparkbench
