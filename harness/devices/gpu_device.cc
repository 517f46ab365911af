#include "harness/devices/gpu_device.h"

#include <array>
#include <limits>
#include <string>
#include <utility>

#include "harness/candidates/fused_kernel.h"
#include "harness/candidates/gpu_candidates.h"
#include "harness/devices/environment.h"
#include "harness/devices/gpu_code.h"
#include "harness/devices/gpu_problem.h"
#include "harness/devices/nvml.h"
#include "harness/encoder/gpu_loaded_layer.h"
#include "harness/environment_error.h"
#include "harness/timing/gpu_peaks.h"
#include "harness/timing/gpu_timer.h"
#include "harness/timing/gpu_timing_kernels.h"
#include "kernels/machine/cuda_resources.h"
#include "kernels/registry.h"
#include "reference/cublas/cublas_unfused.h"

namespace sparkbench {
namespace {

DeviceInfo describe_gpu(int index) {
  cudaDeviceProp properties;
  CUDA_CHECK(cudaGetDeviceProperties(&properties, index));
  int clock_khz = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, index));
  DeviceInfo info;
  info.name = properties.name;
  info.kind = DeviceKind::kGpu;
  info.arithmetic = "native";
  info.sm = 10 * properties.major + properties.minor;
  info.sm_count = properties.multiProcessorCount;
  info.l2_bytes = static_cast<std::uint64_t>(properties.l2CacheSize);
  info.memory_bytes = properties.totalGlobalMem;
  info.sm_clock_max_mhz = clock_khz / 1e3;
  if (const auto peaks = gpu_peaks(info.name)) {
    info.peak_tflops = peaks->tflops;
    info.peak_gbps = peaks->gbps;
    info.peak_source = "spec";
  }
  return info;
}

std::string pci_bus_id(int index) {
  std::array<char, 32> text{};
  CUDA_CHECK(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), index));
  return text.data();
}

class GpuDevice : public Device {
 public:
  explicit GpuDevice(int index)
      : name_("cuda:" + std::to_string(index)),
        pci_bus_id_(pci_bus_id(index)),
        info_(describe_gpu(index)),
        timer_(static_cast<std::size_t>(*info_.l2_bytes), *info_.sm_count) {
    info_.memory_available_bytes = free_device_bytes();
    record_reading(nvml_.read(pci_bus_id_), info_);
    if (!nvml_.driver_version()) {
      info_.why_unknown->emplace("driver_version", nvml_.why_no_driver_version());
    }
    const KernelDevice device{*info_.sm, shared_bytes_per_block()};
    add_gpu_references(device.sm, candidates_);
    for (const AttentionKernel& kernel : attention_kernels()) {
      candidates_.push_back(std::make_unique<FusedKernel>(kernel, device));
    }
    add_vendor_kernels(device.sm, candidates_);
  }

  const std::string& name() const override { return name_; }
  const DeviceInfo& info() const override { return info_; }
  std::optional<DeviceState> read_state() const override { return nvml_.read_state(pci_bus_id_); }
  Candidates candidates() const override { return candidates_; }
  void add_candidate(std::unique_ptr<const Candidate> candidate) override {
    candidates_.push_back(std::move(candidate));
  }
  CheckBudget check_budget() const override {
    return {std::numeric_limits<double>::infinity(), kOracleFlops};
  }
  std::unique_ptr<LoadedProblem> load(const ProblemData& data, GradientData* gradients) override {
    return load_on_gpu(data, gradients, timer_, cublas_);
  }
  std::unique_ptr<LoadedLayer> load_layer(const LayerWork& work) override {
    return load_layer_on_gpu(work, timer_, cublas_);
  }

 private:
  std::string name_, pci_bus_id_;
  Nvml nvml_;
  DeviceInfo info_;
  GpuTimer timer_;
  std::shared_ptr<cublasContext> cublas_ = make_cublas_handle();
  OwnedCandidates candidates_;
};

}  // namespace

int gpu_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return 0;
  return count;
}

std::string why_no_gpu() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  return std::string("this machine has no usable CUDA device") +
         (status == cudaSuccess ? "" : std::string(" (") + cudaGetErrorString(status) + ")");
}

std::unique_ptr<Device> open_gpu(int index) {
  CUDA_CHECK(cudaSetDevice(index));
  cudaDeviceProp properties;
  CUDA_CHECK(cudaGetDeviceProperties(&properties, index));
  if (properties.major < 7) {
    throw EnvironmentError(std::string(properties.name) +
                           " has no tensor cores: compute capability 7.0 or later is needed");
  }
  if (!has_code_for_current_gpu()) {
    throw EnvironmentError(why_no_code("cuda:" + std::to_string(index), properties.name,
                                       10 * properties.major + properties.minor, describe_build()));
  }
  return std::make_unique<GpuDevice>(index);
}

}  // namespace sparkbench
