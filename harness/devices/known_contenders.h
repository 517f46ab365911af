// Every contender that is no kernel of ours, whether or not this machine has what it runs on.
#pragma once

#include "harness/devices/contender.h"

namespace sparkbench {

/// On the host, for emulated devices.
inline constexpr ContenderInfo kUnfusedFp16{
    "unfused-fp16", "matmul, masked softmax, dropout, matmul, all intermediates fp16",
    ContenderKind::kReference, Accumulator::kFp32};

/// On GPUs. The one in fp32 is a check of high precision, which has no tensor cores' accumulator.
inline constexpr ContenderInfo kCublasFp16{"cublas-fp16",
                                           "unfused: cuBLAS, softmax, cuBLAS, all tensors fp16",
                                           ContenderKind::kReference, Accumulator::kFp32};
inline constexpr ContenderInfo kCublasFp32{"cublas-fp32",
                                           "unfused: cuBLAS, softmax, cuBLAS, all tensors fp32",
                                           ContenderKind::kReference, std::nullopt};
inline constexpr ContenderInfo kCudnn{
    "cudnn", "cuDNN's attention, where there is libcudnn.so.9 and compute capability 8.0",
    ContenderKind::kVendorKernel, Accumulator::kFp32};

inline constexpr ContenderInfo kHostReferences[] = {kUnfusedFp16};
inline constexpr ContenderInfo kGpuReferences[] = {kCublasFp16, kCublasFp32};
inline constexpr ContenderInfo kVendorKernels[] = {kCudnn};

}  // namespace sparkbench
