#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include "kernels/api/gpu.h"
#include "kernels/api/status.h"
#include "kernels/base/ceil_divide.h"
#include "kernels/machine/cuda_resources.h"
#include "kernels/strided/pass_dropout.h"

namespace sparkbench {
namespace {

/// Compiled for what the library is compiled for: whether it can be loaded tells of all kernels.
__global__ void probe_of_code() {}

/// A grid's x is over the columns, y over the rows of all heads.
__global__ void fill_keep(Dropout dropout, DropoutViews views, const DropoutOffset* offset,
                          int rows, int columns, std::uint8_t* keep) {
  const auto column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const auto head = static_cast<int>(blockIdx.z), row = static_cast<int>(blockIdx.y);
  if (column >= columns) return;
  if (offset != nullptr) dropout.offset = *offset;
  const DropoutPlace place = views.place(head / views.heads, head % views.heads, row, column);
  keep[(static_cast<std::size_t>(head) * static_cast<std::size_t>(rows) +
        static_cast<std::size_t>(row)) *
           static_cast<std::size_t>(columns) +
       static_cast<std::size_t>(column)] = dropout_keeps(dropout, place) ? 1 : 0;
}

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // it is dealt with
  throw ApiError(SPARK_ATTENTION_DEVICE_ERROR, std::string(what) + ": " + cudaGetErrorName(error) +
                                                   ": " + cudaGetErrorString(error));
}

bool has_code_for_current_gpu() {
  cudaFuncAttributes attributes;
  const cudaError_t status = cudaFuncGetAttributes(&attributes, probe_of_code);
  if (status == cudaErrorNoKernelImageForDevice || status == cudaErrorInvalidDeviceFunction ||
      status == cudaErrorUnsupportedPtxVersion) {
    cudaGetLastError();  // it is dealt with
    return false;
  }
  check(status, "cudaFuncGetAttributes");
  return true;
}

std::string why_no_code(int device, const cudaDeviceProp& properties) {
  const int sm = 10 * properties.major + properties.minor;
  const std::string name = "sm_" + std::to_string(sm);
  // CUDA 13 dropped everything before Turing (its release notes).
  const std::string cuda =
      sm < 75 ? "CUDA 12.9 or older" : "a CUDA whose `nvcc --list-gpu-code` names " + name;
  return "cuda:" + std::to_string(device) + " is a " + properties.name + " (" + name +
         "), and this library has code for compute capabilities " + compiled_architectures() +
         " alone: build it anew with CMAKE_CUDA_ARCHITECTURES=" + std::to_string(sm) + " and " +
         cuda + ", on PATH or in CUDACXX";
}

GpuTraits find_out(int device) {
  const CurrentGpu current(device);
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  if (!has_code_for_current_gpu()) {
    throw ApiError(SPARK_ATTENTION_NO_DEVICE_CODE, why_no_code(device, properties));
  }
  return {10 * properties.major + properties.minor, shared_bytes_per_block()};
}

/// While it lives this thread may allocate and free though some stream is captured.
class RelaxedCapture {
 public:
  RelaxedCapture() { CUDA_CHECK(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  ~RelaxedCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// Memory of a GPU, for a pointer that frees it: at whatever time, and on whatever current GPU.
void free_of_gpu(void* memory) {
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  const bool is_exchanged = cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess;
  cudaFree(memory);  // as the allocators of frameworks do, relies on its waiting for the GPU
  if (is_exchanged) cudaThreadExchangeStreamCaptureMode(&mode);
  cudaGetLastError();  // there is nobody to tell
}

}  // namespace

CurrentGpu::CurrentGpu(int device) {
  int current = -1;
  check(cudaGetDevice(&current), "cudaGetDevice");
  if (current == device) return;
  check(cudaSetDevice(device), "cudaSetDevice");
  former_ = current;
}

CurrentGpu::~CurrentGpu() {
  if (former_ >= 0) cudaSetDevice(former_);
}

GpuTraits describe_gpu(int device) {
  static std::mutex mutex;
  static std::map<int, GpuTraits> known;
  const std::lock_guard lock(mutex);
  const auto found = known.find(device);
  if (found != known.end()) return found->second;
  return known.emplace(device, find_out(device)).first->second;
}

void fill_dropout_mask_of_gpu(const Problem& problem, const DropoutOffset* offset,
                              std::uint8_t* keep, CUstream_st* stream) {
  constexpr int kThreads = 256, kMostRows = 65535;  // of a grid's y, as of its z
  const Dropout dropout = problem.dropout();
  const int heads = problem.batch * problem.heads;
  if (problem.seqlen_q > kMostRows || heads > kMostRows) {
    throw std::invalid_argument("seqlen_q or batch * heads is above 65535, the most of a mask");
  }
  const dim3 grid(static_cast<unsigned>(ceil_divide(problem.seqlen_k, kThreads)),
                  static_cast<unsigned>(problem.seqlen_q), static_cast<unsigned>(heads));
  fill_keep<<<grid, kThreads, 0, stream>>>(dropout, dropout_views_of(problem), offset,
                                           problem.seqlen_q, problem.seqlen_k, keep);
  check(cudaGetLastError(), "fill_keep");
}

std::shared_ptr<const void> copy_to_gpu(int device, const std::byte* bytes, std::size_t count) {
  const CurrentGpu current(device);
  const RelaxedCapture relaxed;
  void* memory = nullptr;
  CUDA_CHECK(cudaMalloc(&memory, count));
  const std::shared_ptr<const void> owned(memory, [memory](const void*) { free_of_gpu(memory); });
  const CudaStream stream;
  CUDA_CHECK(cudaMemcpyAsync(memory, bytes, count, cudaMemcpyHostToDevice, stream.get()));
  stream.synchronize();
  return owned;
}

int gpu_of_memory(const void* memory) {
  cudaPointerAttributes attributes;
  CUDA_CHECK(cudaPointerGetAttributes(&attributes, memory));
  return attributes.device;
}

bool is_captured(CUstream_st* stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  CUDA_CHECK(cudaStreamIsCapturing(stream, &status));
  return status != cudaStreamCaptureStatusNone;
}

const char* compiled_architectures() { return SPARK_ATTENTION_ARCHITECTURES; }

}  // namespace sparkbench
