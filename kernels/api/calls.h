// Shared by all calls of the C interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "kernels/api/gpu.h"
#include "kernels/api/request.h"
#include "kernels/api/status.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/machine/out_of_device_memory.h"

namespace sparkbench {

/// The fastest emulation: no race detection, no counts. Bounds and barriers are still checked.
inline EmulationOptions emulation_options() {
  return {.profile = &arithmetic_profile("volta"),
          .detect = false,
          .count = false,
          .shared_bytes_per_block = kEmulatedSharedBytes};
}

inline void expect_no_findings(const EmulationReport& report) {
  if (report.findings_total == 0) return;
  throw std::runtime_error("the emulated kernel is wrong: " + report.findings.front().message);
}

/// Throws std::invalid_argument unless it has the bytes that are wanted, and is aligned.
inline void check_workspace(std::uint64_t wanted, const void* workspace, std::size_t bytes) {
  constexpr std::uintptr_t kAlignment = 256;
  if (bytes < wanted || (workspace == nullptr && wanted != 0)) {
    throw std::invalid_argument("the workspace has " +
                                std::to_string(workspace == nullptr ? 0 : bytes) +
                                " bytes; needed: " + std::to_string(wanted));
  }
  if (reinterpret_cast<std::uintptr_t>(workspace) % kAlignment != 0) {
    throw std::invalid_argument("the workspace is not aligned to 256 bytes");
  }
}

/// CUDA_CHECK says std::runtime_error of whatever it is not a want of memory.
template <class Launch>
void on_gpu(int device, Launch&& launch) {
  const CurrentGpu current(device);
  try {
    launch();
  } catch (const OutOfDeviceMemory&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw ApiError(SPARK_ATTENTION_DEVICE_ERROR, error.what());
  }
}

/// The block-sparse metadata that the launches of a pass read. Makes and copies it the first time.
/// Throws std::invalid_argument for a captured stream and a pattern's text: its graph would read
/// memory that later texts replace.
inline std::shared_ptr<const PassLists> lists_on_gpu(const Request& request, Pass pass,
                                                     CUstream_st* stream) {
  if (request.has_text && is_captured(stream)) {
    throw std::invalid_argument("mask '" + request.problem.sparse->spec +
                                "' is a pattern, and the stream is being captured into a CUDA "
                                "graph; allowed there: a prepared_mask, which outlives the graph");
  }
  const auto copy = [&](std::span<const std::byte> bytes) {
    return copy_to_gpu(request.device, bytes.data(), bytes.size());
  };
  return request.mask->lists(*request.kernel, request.problem, pass, request.is_deterministic,
                             request.device, copy);
}

/// What a result is written to. Throws std::invalid_argument for a null.
template <class T>
T& written(T* pointer, const char* name) {
  if (pointer == nullptr) throw std::invalid_argument(std::string(name) + " is null");
  return *pointer;
}

}  // namespace sparkbench
