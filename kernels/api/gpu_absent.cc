#include "kernels/api/gpu.h"
#include "kernels/api/status.h"

namespace sparkbench {
namespace {

[[noreturn]] void refuse() {
  throw ApiError(SPARK_ATTENTION_NO_DEVICE_CODE,
                 "this library was built without CUDA, for the emulated backend alone: build it "
                 "anew with CMAKE_CUDA_ARCHITECTURES=70 for a V100, and the nvcc of CUDA 12.9 or "
                 "older on PATH or in CUDACXX");
}

}  // namespace

CurrentGpu::CurrentGpu(int /*device*/) { refuse(); }
// None was ever made, and clang wants its member to be used somewhere.
CurrentGpu::~CurrentGpu() { static_cast<void>(former_); }

GpuTraits describe_gpu(int /*device*/) { refuse(); }

void fill_dropout_mask_of_gpu(const Problem& /*problem*/, const DropoutOffset* /*offset*/,
                              std::uint8_t* /*keep*/, CUstream_st* /*stream*/) {
  refuse();
}

std::shared_ptr<const void> copy_to_gpu(int /*device*/, const std::byte* /*bytes*/,
                                        std::size_t /*count*/) {
  refuse();
}

int gpu_of_memory(const void* /*memory*/) { refuse(); }

bool is_captured(CUstream_st* /*stream*/) { refuse(); }

const char* compiled_architectures() { return ""; }

}  // namespace sparkbench
