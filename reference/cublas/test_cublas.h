// Shared by the tests of the cuBLAS baselines: device memory, a grid of problems, and the skip
// without a GPU.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "kernels/machine/cuda_check.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/problem/attention.h"

namespace sparkbench {

template <class T>
class DeviceVector {
 public:
  explicit DeviceVector(std::size_t size) : size_(size) {
    void* memory = nullptr;
    CUDA_CHECK(cudaMalloc(&memory, size * sizeof(T)));
    data_ = static_cast<T*>(memory);
    CUDA_CHECK(cudaMemset(data_, 0xff, size * sizeof(T)));  // NaN: reveals gaps
  }
  explicit DeviceVector(const std::vector<T>& values) : DeviceVector(values.size()) {
    CUDA_CHECK(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~DeviceVector() { cudaFree(data_); }
  DeviceVector(const DeviceVector&) = delete;
  DeviceVector& operator=(const DeviceVector&) = delete;

  T* data() { return data_; }
  std::vector<T> to_host() const { return copy_to_host(data_, size_); }

  static std::vector<T> copy_to_host(const T* device, std::size_t size) {
    std::vector<T> values(size);
    CUDA_CHECK(cudaMemcpy(values.data(), device, size * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  std::size_t size_;
  T* data_ = nullptr;
};

inline Problem with_pattern(Problem problem, const char* spec) {
  problem.sparse = make_sparse_mask(spec, problem.seqlen_q, problem.seqlen_k);
  return problem;
}

/// mask x dropout x equal, cross and odd lengths x head_dim, and some problems with shared keys.
inline std::vector<Problem> cublas_grid() {
  std::vector<Problem> problems;
  for (const auto& [seqlen_q, seqlen_k] :
       {std::pair{1, 1}, {64, 64}, {65, 63}, {127, 500}, {500, 127}, {1, 77}, {300, 1}}) {
    for (const int head_dim : {40, 64, 128}) {
      for (const MaskSpec& mask :
           {MaskSpec::full(), MaskSpec::causal(), MaskSpec::window(1), MaskSpec::window(37),
            MaskSpec::window(128), MaskSpec::band(20, 5), MaskSpec::prefix(9)}) {
        for (const float dropout_p : {0.0f, 0.1f, 0.5f}) {
          problems.push_back(
              {2, 3, seqlen_q, seqlen_k, head_dim, mask, dropout_p, 0.0f, /*seed=*/77});
        }
      }
    }
  }
  for (const int heads_k : {1, 2}) {
    for (const float dropout_p : {0.0f, 0.1f}) {
      problems.push_back(
          {2, 4, 65, 127, 64, MaskSpec::band(20, 5), dropout_p, 0.0f, /*seed=*/77, heads_k});
    }
  }
  for (const char* const spec : {"sink:4+window:9", "strided:7", "blocked:20/window:9/full",
                                 "documents:30:60:5", "chunk:500+chunk:3"}) {
    for (const auto& [seqlen_q, seqlen_k] : {std::pair{127, 127}, {65, 127}, {127, 65}}) {
      for (const float dropout_p : {0.0f, 0.1f}) {
        problems.push_back(with_pattern({.batch = 2,
                                         .heads = 4,
                                         .seqlen_q = seqlen_q,
                                         .seqlen_k = seqlen_k,
                                         .dropout_p = dropout_p,
                                         .seed = 77,
                                         .heads_k = 2},
                                        spec));
      }
    }
  }
  // Patterns whose dropout positions follow strided views or a grid order.
  for (const char* const spec :
       {"window:20+causal-strided:8", "strided:3", "dilated:9:4", "nd:15x26:9x9"}) {
    problems.push_back(with_pattern({.batch = 2,
                                     .heads = 4,
                                     .seqlen_q = 390,
                                     .seqlen_k = 390,
                                     .dropout_p = 0.1f,
                                     .seed = 77,
                                     .heads_k = 2},
                                    spec));
  }
  return problems;
}

/// Rows for half a warp, a warp, several warps and several segments; some end inside 16 bytes.
inline std::vector<Problem> long_row_problems() {
  std::vector<Problem> problems;
  for (const int seqlen_k : {512, 601, 1024, 1025, 2051, 5000, 16384, 33001, 70000}) {
    for (const MaskSpec& mask : {MaskSpec::full(), MaskSpec::window(300)}) {
      for (const float dropout_p : {0.0f, 0.1f}) {
        problems.push_back({1, 2, 5, seqlen_k, 64, mask, dropout_p, 0.0f, /*seed=*/77});
      }
    }
    for (const float dropout_p : {0.0f, 0.1f}) {
      problems.push_back(with_pattern(
          {.heads = 2, .seqlen_q = 5, .seqlen_k = seqlen_k, .dropout_p = dropout_p, .seed = 77},
          "strided:37+window:300/sink:700"));
    }
  }
  return problems;
}

inline std::string name_of(const Problem& p) {
  const std::string mask = p.sparse ? p.sparse->spec : name_of(p.mask);
  return "sq" + std::to_string(p.seqlen_q) + " sk" + std::to_string(p.seqlen_k) + " d" +
         std::to_string(p.head_dim) + " " + mask + " p" + std::to_string(p.dropout_p);
}

class CublasTest : public testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
      GTEST_SKIP() << "no CUDA device";
    }
  }
};

}  // namespace sparkbench
