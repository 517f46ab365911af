#include "harness/gpu_device.h"

#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "harness/environment_error.h"
#include "harness/gpu_peaks.h"
#include "harness/gpu_timer.h"
#include "kernels/machine/cuda_resources.h"
#include "reference/cublas_unfused.h"

namespace sparkbench {
namespace {

constexpr double kOracleFlops = 1 << 30;  // of the fp64 reference, on the host
constexpr int kPoisonByte = 0x7f;         // 0x7f7f is a NaN in fp16; 0x7f7f7f7f is 3e38 in fp32

std::string_view tensor_core_profile(int sm) {
  if (sm < 75) return "volta";
  if (sm < 80) return "turing";
  return sm < 90 ? "ampere" : "hopper";
}

std::size_t free_device_bytes() {
  std::size_t free_bytes = 0, total_bytes = 0;
  CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  return free_bytes;
}

template <class T>
void upload(const DeviceBuffer& buffer, std::span<const T> host) {
  CUDA_CHECK(cudaMemcpy(buffer.as<void>(), host.data(), host.size_bytes(), cudaMemcpyHostToDevice));
}

template <class T>
std::vector<T> download(const DeviceBuffer& buffer) {
  std::vector<T> host(buffer.bytes() / sizeof(T));
  CUDA_CHECK(cudaMemcpy(host.data(), buffer.as<void>(), buffer.bytes(), cudaMemcpyDeviceToHost));
  return host;
}

/// What a contender enqueues, and the memory that it needed to be ready.
struct Prepared {
  std::function<void()> launch;
  std::uint64_t workspace_bytes = 0;
};

class GpuProblem : public LoadedProblem {
 public:
  GpuProblem(const ProblemData& data, GpuTimer& timer)
      : data_(data),
        timer_(timer),
        free_before_(free_device_bytes()),
        q_(data.inputs().q.size_bytes()),
        k_(data.inputs().k.size_bytes()),
        v_(data.inputs().v.size_bytes()),
        o_(data.problem().q_elements() * sizeof(Half)),
        lse_(data.problem().lse_elements() * sizeof(float)) {
    upload(q_, data.inputs().q);
    upload(k_, data.inputs().k);
    upload(v_, data.inputs().v);
  }

  RunOutcome run(const Contender& contender, const TimingOptions& timing) override {
    const Prepared prepared = prepare(contender);
    RunOutcome outcome;
    const auto [o, lse] = run_once(prepared);
    const auto [o_again, lse_again] = run_once(prepared);
    outcome.is_bitwise_repeatable = same_bytes(o, o_again) && same_bytes(lse, lse_again);
    outcome.rows = gather_rows(data_.problem(), o, lse, data_.plan().rows);
    if (timing.is_wanted) outcome.timing = timer_.time(stream_, prepared.launch, timing);
    outcome.workspace_bytes = prepared.workspace_bytes;
    const std::size_t free_now = free_device_bytes();
    if (free_now <= free_before_) outcome.peak_bytes = free_before_ - free_now;
    return outcome;
  }

 private:
  ForwardTensors tensors() const {
    return {q_.as<Half>(), k_.as<Half>(), v_.as<Half>(), o_.as<Half>(), lse_.as<float>()};
  }

  Prepared prepare(const Contender& contender) const {
    if (contender.kernel != nullptr) {
      return {[this, kernel = contender.kernel] {
                kernel->launch(data_.problem(), tensors(), stream_.get());
              },
              0};
    }
    const auto precision =
        contender.name == "cublas-fp32" ? UnfusedPrecision::kFp32 : UnfusedPrecision::kFp16;
    auto unfused = std::make_shared<CublasUnfused>(data_.problem(), precision);
    return {[this, unfused] { unfused->forward(tensors(), stream_.get()); },
            unfused->workspace_bytes()};
  }

  std::pair<std::vector<Half>, std::vector<float>> run_once(const Prepared& prepared) const {
    CUDA_CHECK(cudaMemsetAsync(o_.as<void>(), kPoisonByte, o_.bytes(), stream_.get()));
    CUDA_CHECK(cudaMemsetAsync(lse_.as<void>(), kPoisonByte, lse_.bytes(), stream_.get()));
    prepared.launch();
    stream_.synchronize();
    return {download<Half>(o_), download<float>(lse_)};
  }

  template <class T>
  static bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
  }

  const ProblemData& data_;
  GpuTimer& timer_;
  CudaStream stream_;
  std::size_t free_before_;
  DeviceBuffer q_, k_, v_, o_, lse_;
};

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

class GpuDevice : public Device {
 public:
  explicit GpuDevice(int index)
      : name_("cuda:" + std::to_string(index)),
        info_(describe_gpu(index)),
        timer_(static_cast<std::size_t>(*info_.l2_bytes)) {
    contenders_.push_back({"cublas-fp16", "unfused: cuBLAS, softmax, cuBLAS, all tensors fp16",
                           Role::kReference, Accumulator::kFp32, nullptr});
    contenders_.push_back({"cublas-fp32", "unfused: cuBLAS, softmax, cuBLAS, all tensors fp32",
                           Role::kReference, std::nullopt, nullptr});
    for (const AttentionKernel& kernel : attention_kernels()) {
      contenders_.push_back({std::string(kernel.name), std::string(kernel.summary), Role::kFused,
                             kernel.accumulator, &kernel});
    }
  }

  const std::string& name() const override { return name_; }
  const DeviceInfo& info() const override { return info_; }
  std::span<const Contender> contenders() const override { return contenders_; }
  const ArithmeticProfile& tensor_cores() const override {
    return arithmetic_profile(tensor_core_profile(*info_.sm));
  }
  CheckBudget check_budget() const override {
    return {1, std::numeric_limits<double>::infinity(), kOracleFlops};
  }
  std::unique_ptr<LoadedProblem> load(const ProblemData& data) override {
    return std::make_unique<GpuProblem>(data, timer_);
  }

 private:
  std::string name_;
  DeviceInfo info_;
  GpuTimer timer_;
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
