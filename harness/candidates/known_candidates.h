// Every candidate that is not a kernel of ours, whether or not it can run on this machine.
#pragma once

#include "harness/candidates/candidate.h"

namespace sparkbench {

/// On the host, for emulated devices.
inline constexpr CandidateInfo kUnfusedFp16{
    "unfused-fp16", "matmul, masked softmax, dropout, matmul, all intermediates fp16",
    CandidateKind::kReference, Accumulator::kFp32};

/// On GPUs. The fp32 one is a high-precision check; it uses no tensor cores and so has no
/// accumulator.
inline constexpr CandidateInfo kCublasFp16{"cublas-fp16",
                                           "unfused: cuBLAS, softmax, cuBLAS, all tensors fp16",
                                           CandidateKind::kReference, Accumulator::kFp32};
inline constexpr CandidateInfo kCublasFp32{"cublas-fp32",
                                           "unfused: cuBLAS, softmax, cuBLAS, all tensors fp32",
                                           CandidateKind::kReference, std::nullopt};
inline constexpr CandidateInfo kCudnn{
    "cudnn", "cuDNN's attention, where there is libcudnn.so.9 and compute capability 8.0",
    CandidateKind::kVendorKernel, Accumulator::kFp32};

inline constexpr CandidateInfo kHostReferences[] = {kUnfusedFp16};
inline constexpr CandidateInfo kGpuReferences[] = {kCublasFp16, kCublasFp32};
inline constexpr CandidateInfo kVendorKernels[] = {kCudnn};

}  // namespace sparkbench
