#include "harness/devices/gpu_device.h"

#include <limits>
#include <string>
#include <utility>

#include "harness/devices/gpu_problem.h"
#include "harness/environment_error.h"
#include "harness/timing/gpu_peaks.h"
#include "harness/timing/gpu_timer.h"
#include "kernels/machine/cuda_resources.h"
#include "reference/cublas/cublas_unfused.h"
#include "reference/cudnn/attention.h"

namespace sparkbench {
namespace {

constexpr double kOracleFlops = 1 << 30;  // of the fp64 reference, on the host

std::string_view tensor_core_profile(int sm) {
  if (sm < 75) return "volta";
  if (sm < 80) return "turing";
  return sm < 90 ? "ampere" : "hopper";
}

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

Contender cudnn_contender() {
  Contender contender{std::string(kCudnnKernel),
                      "cuDNN " + cudnn_version().value_or("") + ", scaled dot-product attention",
                      Role::kFused, Accumulator::kFp32, nullptr};
  contender.draws_own_dropout_mask = true;
  return contender;
}

class GpuDevice : public Device {
 public:
  explicit GpuDevice(int index)
      : name_("cuda:" + std::to_string(index)),
        info_(describe_gpu(index)),
        timer_(static_cast<std::size_t>(*info_.l2_bytes), *info_.sm_count) {
    info_.memory_available_bytes = free_device_bytes();
    contenders_.push_back({"cublas-fp16", "unfused: cuBLAS, softmax, cuBLAS, all tensors fp16",
                           Role::kReference, Accumulator::kFp32, nullptr});
    contenders_.push_back({"cublas-fp32", "unfused: cuBLAS, softmax, cuBLAS, all tensors fp32",
                           Role::kReference, std::nullopt, nullptr});
    for (const AttentionKernel& kernel : attention_kernels()) {
      contenders_.push_back({std::string(kernel.name), std::string(kernel.summary), Role::kFused,
                             kernel.accumulator, &kernel});
    }
    if (has_cudnn_attention(*info_.sm)) contenders_.push_back(cudnn_contender());
  }

  const std::string& name() const override { return name_; }
  const DeviceInfo& info() const override { return info_; }
  std::span<const Contender> contenders() const override { return contenders_; }
  const ArithmeticProfile& arithmetic_of(const Contender& contender) const override {
    const bool has_m8n8k4 = contender.kernel == nullptr || contender.kernel->is_native(*info_.sm);
    return arithmetic_profile(has_m8n8k4 ? tensor_core_profile(*info_.sm) : "fma884");
  }
  CheckBudget check_budget() const override {
    return {1, std::numeric_limits<double>::infinity(), kOracleFlops};
  }
  std::unique_ptr<LoadedProblem> load(const ProblemData& data, GradientData* gradients) override {
    return load_on_gpu(data, gradients, timer_, cublas_);
  }

 private:
  std::string name_;
  DeviceInfo info_;
  GpuTimer timer_;
  std::shared_ptr<cublasContext> cublas_ = make_cublas_handle();
  std::vector<Contender> contenders_;
};

}  // namespace

int gpu_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return 0;
  return count;
}

std::unique_ptr<Device> open_gpu(int index) {
  CUDA_CHECK(cudaSetDevice(index));
  cudaDeviceProp properties;
  CUDA_CHECK(cudaGetDeviceProperties(&properties, index));
  if (properties.major < 7) {
    throw EnvironmentError(std::string(properties.name) +
                           " has no tensor cores: compute capability 7.0 or later is needed");
  }
  return std::make_unique<GpuDevice>(index);
}

}  // namespace sparkbench
