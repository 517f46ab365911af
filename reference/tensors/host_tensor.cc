#include "reference/tensors/host_tensor.h"

#include <stdexcept>
#include <string>

#include "reference/tensors/tensor_rows.h"

namespace sparkbench {

RowStrides contiguous_strides(const TensorShape& shape) {
  const std::int64_t row = std::int64_t{shape.heads} * shape.head_dim;
  return {shape.seqlen * row, row, shape.head_dim};
}

TensorView<const Half> HostTensor::view(const TensorShape& shape) const {
  const RowStrides strides = strides_.value_or(contiguous_strides(shape));
  return {data(), strides.batch, strides.seqlen, strides.head};
}

void HostTensor::check(const char* name, const TensorShape& shape) const {
  if (!strides_) {
    return check_size(name, size(), shape.rows() * static_cast<std::size_t>(shape.head_dim));
  }
  if (strides_->batch < 0 || strides_->seqlen < 0 || strides_->head < 0) {
    throw std::invalid_argument(std::string(name) + " has a negative stride");
  }
  const std::size_t needed =
      extent_bytes(view(shape), shape.batch, shape.seqlen, shape.heads, shape.head_dim);
  if (size_bytes() >= needed) return;
  throw std::invalid_argument(std::string(name) + " has " + std::to_string(size()) +
                              " elements, its strides reach over " +
                              std::to_string(needed / sizeof(Half)));
}

}  // namespace sparkbench
