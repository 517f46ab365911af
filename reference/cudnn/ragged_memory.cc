#include "reference/cudnn/ragged_memory.h"

#include <numeric>

#include "kernels/base/unsupported_error.h"

namespace sparkbench::cudnn {
namespace {

/// cuDNN's dK and dV of each head have the gradients' layout. Other layouts of dQ are untested.
void require_heads_side_by_side(const Problem& problem, const AttentionStrides& strides) {
  const auto are = [](const RowStrides& of, int heads) { return of.head * heads <= of.seqlen; };
  if (!are(strides.dq, problem.heads) || !are(strides.dk, problem.key_heads()) ||
      !are(strides.dv, problem.key_heads())) {
    throw UnsupportedError(
        "cuDNN does not support packed gradients whose tokens do not hold their heads");
  }
}

}  // namespace

RaggedMemory::RaggedMemory(const Problem& problem, const AttentionStrides& strides)
    : batch_(ragged_batch(problem)),
      blind_rows_(batch_.blind_rows),
      unread_keys_(batch_.unread_keys) {
  require_heads_side_by_side(problem, strides);
  const auto bind = [this](std::int64_t id, const auto& values) {
    arrays_.emplace_back(values.size() * sizeof(values[0]));
    void* const memory = arrays_.back().as<void>();
    CUDA_CHECK(cudaMemcpy(memory, values.data(), arrays_.back().bytes(), cudaMemcpyHostToDevice));
    bindings_.push_back({id, memory});
  };
  bind(kRows, batch_.rows());
  bind(kKeys, batch_.keys());
  for (const RaggedOffsets& of : ragged_offsets(batch_, strides)) {
    bind(offsets_id(of.tensor), of.first_elements);
  }
}

std::size_t RaggedMemory::bytes() const {
  return std::accumulate(
      arrays_.begin(), arrays_.end(), blind_rows_.bytes() + unread_keys_.bytes(),
      [](std::size_t sum, const DeviceBuffer& array) { return sum + array.bytes(); });
}

}  // namespace sparkbench::cudnn
