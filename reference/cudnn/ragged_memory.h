// The device memory that cuDNN's varlen graphs read in addition to the tensors.
#pragma once

#include <optional>
#include <vector>

#include "reference/cudnn/attention_graph.h"
#include "reference/cudnn/unseen_tokens.h"

namespace sparkbench::cudnn {

/// Lengths and offsets of a ragged batch, and the tokens outside it. Throws UnsupportedError for
/// strides that cuDNN cannot express.
class RaggedMemory {
 public:
  RaggedMemory(const Problem& problem, const AttentionStrides& strides);

  const RaggedBatch& batch() const { return batch_; }
  const UnseenTokens& blind_rows() const { return blind_rows_; }
  const UnseenTokens& unread_keys() const { return unread_keys_; }
  /// Bindings of lengths and offsets.
  const std::vector<Binding>& bindings() const { return bindings_; }
  std::size_t bytes() const;

 private:
  RaggedBatch batch_;
  UnseenTokens blind_rows_, unread_keys_;
  std::vector<DeviceBuffer> arrays_;
  std::vector<Binding> bindings_;
};

}  // namespace sparkbench::cudnn
