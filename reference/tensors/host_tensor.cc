#include "reference/tensors/host_tensor.h"

#include <stdexcept>
#include <string>

#include "reference/tensors/tensor_rows.h"

namespace sparkbench {

RowStrides contiguous_strides(const TensorShape& shape) {
  const std::int64_t row = std::int64_t{shape.heads} * shape.head_dim;
  const std::int64_t of_entry = shape.cu_seqlens == nullptr ? shape.seqlen * row : 0;
  return {of_entry, row, shape.head_dim};
}

TensorView<const Half> HostTensor::view(const TensorShape& shape) const {
  const RowStrides strides = strides_.value_or(contiguous_strides(shape));
  return {data(), strides.batch, strides.seqlen, strides.head};
}

const Half* HostTensor::row(const TensorShape& shape, int b, int s, int h) const {
  if (shape.cu_seqlens == nullptr) return view(shape).row(b, s, h);
  return view(shape).row(0, static_cast<int>(shape.tokens_before(b)) + s, h);
}

void HostTensor::check(const char* name, const TensorShape& shape) const {
  if (!strides_) {
    return check_size(name, size(), shape.rows() * static_cast<std::size_t>(shape.head_dim));
  }
  if (strides_->batch < 0 || strides_->seqlen < 0 || strides_->head < 0) {
    throw std::invalid_argument(std::string(name) + " has a negative stride");
  }
  if (shape.rows() == 0) return;
  const bool is_packed = shape.cu_seqlens != nullptr;
  const std::size_t needed = extent_bytes(
      view(shape), is_packed ? 1 : shape.batch,
      is_packed ? static_cast<int>(shape.tokens()) : shape.seqlen, shape.heads, shape.head_dim);
  if (size_bytes() >= needed) return;
  throw std::invalid_argument(std::string(name) + " has " + std::to_string(size()) +
                              " elements, its strides reach over " +
                              std::to_string(needed / sizeof(Half)));
}

}  // namespace sparkbench
