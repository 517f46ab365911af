#include "harness/devices/arithmetic_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "harness/environment_error.h"
#include "kernels/base/files/input_file.h"
#include "kernels/machine/emulated/tensor_core/chip_arithmetic.h"
#include "sweeps/names.h"
#include "sweeps/usage_error.h"
#ifdef SPARKBENCH_HAS_CUDA
#include "kernels/machine/mma_probe.h"
#include "kernels/machine/sfu_probe.h"
#endif

namespace sparkbench {
namespace {

/// The result of `read` on the file, with errors in the user's terms.
template <class Read>
auto load_file(const std::string& path, Read read) {
  constexpr std::uint64_t kMostBytes = 256 << 20;
  std::istringstream in;
  try {
    in.str(read_file(path, Pipes::kRefused, kMostBytes));
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("--vectors: {} {}; allowed: CSV files", path, error.what()));
  }
  try {
    return read(in, path);
  } catch (const std::runtime_error& error) {
    throw UsageError(fmt::format("--vectors: {}", error.what()));
  }
}

}  // namespace

const ArithmeticProfile& find_profile(std::string_view name) {
  std::vector<std::string> known;
  for (const ArithmeticProfile& profile : arithmetic_profiles()) {
    if (profile.name == name) return profile;
    known.emplace_back(profile.name);
  }
  known.emplace_back(kSpecialFunctionProfile);
  throw UsageError(unknown_name_message("--profile", name, known));
}

const ArithmeticProfile& native_profile(int sm, std::size_t terms) {
  constexpr std::pair<std::size_t, MmaInstruction> kInstructions[] = {
      {4, MmaInstruction::kM8n8k4}, {8, MmaInstruction::kM16n8k8}, {16, MmaInstruction::kM16n8k16}};
  for (const auto& [length, instruction] : kInstructions) {
    const ArithmeticProfile* const profile = instruction_profile(instruction, sm);
    if (length == terms && profile != nullptr) return *profile;
  }
  throw EnvironmentError(
      fmt::format("--device: sm_{} has no MMA of {} terms; there are 4 from sm_70, 8 from sm_75 "
                  "and 16 from sm_80 on",
                  sm, terms));
}

std::vector<VectorRow> load_vector_file(const std::string& path) {
  return load_file(path, read_vector_file);
}

FunctionRecording load_function_recording(const std::string& path) {
  return load_file(path, read_function_recording);
}

void require_gpu_name(const std::string& device) {
  if (!device.starts_with("cuda:")) {
    throw UsageError(fmt::format("--device: '{}' is not a GPU; allowed: cuda:N", device));
  }
}

#ifdef SPARKBENCH_HAS_CUDA

std::vector<VectorRow> ask_gpu(std::vector<VectorRow> rows) {
  if (rows.empty()) return rows;
  std::vector<MmaProbe> probes(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(rows[i].a.begin(), std::min(rows[i].a.size(), std::size(probes[i].a)), probes[i].a);
    std::copy_n(rows[i].b.begin(), std::min(rows[i].b.size(), std::size(probes[i].b)), probes[i].b);
    probes[i].c_f32 = float_from_bits(rows[i].c_f32);
    probes[i].c_f16 = rows[i].c_f16;
  }
  std::vector<MmaProbeResult> results(rows.size());
  probe_mma(static_cast<int>(rows.front().a.size()), probes.data(), results.data(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].d_f32 = float_bits(results[i].d_f32);
    rows[i].d_f16 = results[i].d_f16;
  }
  return rows;
}

FunctionRecording ask_gpu(FunctionRecording recording) {
  for (RecordedFunction& recorded : recording.functions) {
    recorded.results.resize(recording.inputs.size());
    probe_special_function(recorded.function.function, recording.inputs.data(),
                           recorded.results.data(), recording.inputs.size());
  }
  return recording;
}

#else

namespace {

[[noreturn]] void refuse_without_gpu() {
  throw EnvironmentError(
      "this build has no GPU path: CMake found no GPU, or was told to do without CUDA");
}

}  // namespace

// By value, because the version with a GPU changes and returns it.
//
// NOLINTNEXTLINE(performance-unnecessary-value-param)
std::vector<VectorRow> ask_gpu(std::vector<VectorRow> /*rows*/) { refuse_without_gpu(); }
// NOLINTNEXTLINE(performance-unnecessary-value-param)
FunctionRecording ask_gpu(FunctionRecording /*recording*/) { refuse_without_gpu(); }

#endif

}  // namespace sparkbench
