#include <cmath>

#include "reference/cudnn/unseen_tokens.h"

namespace sparkbench {
namespace {

constexpr int kThreads = 128;

/// One block per token.
__global__ void clear_tokens(const int* tokens, TensorView<Bits16> tensor, int heads,
                             int head_dim) {
  const int token = tokens[blockIdx.x];
  for (int i = static_cast<int>(threadIdx.x); i < heads * head_dim; i += kThreads) {
    tensor.row(0, token, i / head_dim)[i % head_dim] = Bits16{};
  }
}

__global__ void fill_tokens(const int* tokens, float* lse, int heads, int total, float value) {
  const int token = tokens[blockIdx.x];
  for (int head = static_cast<int>(threadIdx.x); head < heads; head += kThreads) {
    lse[static_cast<std::size_t>(head) * total + token] = value;
  }
}

std::vector<int> all_of(const std::vector<Range>& ranges) {
  std::vector<int> tokens;
  for (const Range& range : ranges) {
    for (int token = range.begin; token < range.end; ++token) tokens.push_back(token);
  }
  return tokens;
}

DeviceBuffer on_device(const std::vector<int>& tokens) {
  DeviceBuffer buffer(tokens.size() * sizeof(int));
  CUDA_CHECK(cudaMemcpy(buffer.as<void>(), tokens.data(), buffer.bytes(), cudaMemcpyHostToDevice));
  return buffer;
}

}  // namespace

UnseenTokens::UnseenTokens(const std::vector<Range>& ranges)
    : count_(static_cast<unsigned>(all_of(ranges).size())), tokens_(on_device(all_of(ranges))) {}

void UnseenTokens::clear(const TensorView<Bits16>& tensor, int heads, int head_dim,
                         cudaStream_t stream) const {
  if (count_ == 0) return;
  clear_tokens<<<count_, kThreads, 0, stream>>>(tokens_.as<int>(), tensor, heads, head_dim);
  CUDA_CHECK(cudaGetLastError());
}

void UnseenTokens::fill_lse(float* lse, int heads, int total, cudaStream_t stream) const {
  if (count_ == 0) return;
  fill_tokens<<<count_, kThreads, 0, stream>>>(tokens_.as<int>(), lse, heads, total, -INFINITY);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace sparkbench
