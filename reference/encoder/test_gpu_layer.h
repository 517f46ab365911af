// Small layers on a GPU, for tests.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/mask/pattern/sparse_mask.h"
#include "reference/cublas/packed_unfused.h"
#include "reference/encoder/exact_gpu_stages.h"
#include "reference/encoder/gpu_layer.h"

namespace sparkbench {

struct TestLayer {
  LayerShape shape;
  Problem problem;
};

inline TestLayer layer_with(NormPlace norm, Activation activation, Rest rest = Rest::kFused,
                            float dropout_p = 0.1f) {
  TestLayer layer;
  layer.shape = {.hidden = 128, .ffn = 384, .activation = activation, .norm = norm, .rest = rest};
  layer.problem.batch = 2;
  layer.problem.heads = 2;
  layer.problem.seqlen_q = layer.problem.seqlen_k = 96;
  layer.problem.head_dim = 64;
  layer.problem.mask = MaskSpec::causal();
  layer.problem.dropout_p = dropout_p;
  layer.problem.seed = 11;
  return layer;
}

inline LayerTensors tensors_of(const TestLayer& layer) {
  return make_layer_tensors(layer.shape, static_cast<int>(layer.problem.total_q()), 5);
}

/// Lengths 0, 1 and others; more rows than the oracle computes at once for a head's scores.
inline TestLayer packed_layer(NormPlace norm, Rest rest = Rest::kFused) {
  TestLayer layer = layer_with(norm, Activation::kGeluTanh, rest);
  layer.problem = with_lengths(layer.problem,
                               std::make_shared<const SequenceLengths>(std::vector<SequenceLength>{
                                   {0, 0}, {1, 1}, {37, 37}, {1030, 1030}, {96, 96}}));
  return layer;
}

inline TestLayer pattern_layer(const char* pattern, Rest rest = Rest::kFused) {
  TestLayer layer = layer_with(NormPlace::kPost, Activation::kGeluTanh, rest);
  layer.problem.batch = 1;
  layer.problem.mask = MaskSpec::full();
  layer.problem.sparse = make_sparse_mask(pattern, 96, 96);
  return layer;
}

/// Enqueues cuBLAS attention. The backward pass uses the P of the forward pass.
struct TestAttention {
  std::function<void()> forward, backward;
};
template <class Unfused>
TestAttention attention_by(std::shared_ptr<Unfused> unfused, const GpuLayer& layer,
                           cudaStream_t stream) {
  return {[=, tensors = layer.attention_tensors()] { unfused->forward(tensors, stream); },
          [=, &layer] { unfused->backward(layer.attention_gradients(), stream); }};
}
inline TestAttention cublas_attention(const TestLayer& layer, Pass pass, const GpuLayer& gpu,
                                      cudaStream_t stream) {
  const Pass made_for = pass == Pass::kForward ? Pass::kForward : Pass::kBackward;
  if (layer.problem.lengths) {
    return attention_by(std::make_shared<PackedCublasUnfused>(
                            layer.problem, UnfusedPrecision::kFp16, made_for, make_cublas_handle()),
                        gpu, stream);
  }
  return attention_by(
      std::make_shared<CublasUnfused>(layer.problem, UnfusedPrecision::kFp16, made_for), gpu,
      stream);
}

inline std::vector<Half> download(const Half* data, std::size_t elements) {
  std::vector<Half> host(elements);
  CUDA_CHECK(cudaMemcpy(host.data(), data, elements * sizeof(Half), cudaMemcpyDeviceToHost));
  return host;
}

inline ExactLayerResult exact_of(const TestLayer& layer, const LayerTensors& tensors) {
  return exact_layer_on_gpu(layer.shape, layer.problem, tensors, true, make_cublas_handle().get());
}

/// Compares two computations in fp64.
inline void expect_close(const std::vector<double>& a, std::span<const double> b,
                         const std::string& of) {
  ASSERT_EQ(a.size(), b.size()) << of;
  double difference = 0, square = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    square += b[i] * b[i];
  }
  EXPECT_LE(difference, 1e-24 * square) << of;
}

class GpuLayerTest : public testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) GTEST_SKIP() << "no CUDA device";
  }
};

}  // namespace sparkbench
