// Attributes of functions for the two compilers.
//   SPARK_HD      plain arithmetic that host and device share
//   SPARK_DEVICE  kernel code over a Machine: device code under nvcc, host code under the emulator
#pragma once

#ifdef __CUDACC__
#define SPARK_HD __host__ __device__ __forceinline__
#define SPARK_DEVICE __device__ __forceinline__
#else
#define SPARK_HD inline
#define SPARK_DEVICE inline
#endif
