// SPARK_HD marks a function that host and device share: plain arithmetic, no machine needed.
#pragma once

#ifdef __CUDACC__
#define SPARK_HD __host__ __device__ __forceinline__
#else
#define SPARK_HD inline
#endif
