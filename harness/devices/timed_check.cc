#include "harness/devices/timed_check.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "harness/devices/gpu_memory.h"
#include "kernels/mask/pattern/sparse_mask.h"

namespace sparkbench {
namespace {

/// Allowed difference in units in the last place, relative to an element and to the root mean
/// square of its tensor. Sums in another order differ by less. Rounding is half a unit.
constexpr double kAllowedUnits = 4;

std::int64_t elements_of(const RowShape& shape) {
  return shape.batch * shape.rows * shape.heads * shape.dim;
}

std::size_t bytes_of(const CheckedTensor& tensor) {
  const auto elements = static_cast<std::size_t>(elements_of(tensor.shape));
  return elements * (tensor.is_lse ? sizeof(float) : sizeof(Half));
}

float as_float(Half value) { return to_float(value); }
float as_float(Bf16 value) { return float_from_bits(static_cast<std::uint32_t>(value.bits) << 16); }
float as_float(float value) { return value; }

/// Leaves out elements that are not finite.
template <class T>
double root_mean_square(const void* on_device, std::size_t bytes) {
  std::vector<T> host(bytes / sizeof(T));
  CUDA_CHECK(cudaMemcpy(host.data(), on_device, bytes, cudaMemcpyDeviceToHost));
  double sum = 0;
  for (const T element : host) {
    const double value = as_float(element);
    if (std::isfinite(value)) sum += value * value;
  }
  return std::sqrt(sum / static_cast<double>(std::max<std::size_t>(host.size(), 1)));
}

/// The tensor itself, and a copy of it.
template <class T>
TensorView<T> view_of(const CheckedTensor& tensor) {
  const RowStrides& strides = tensor.strides;
  return {static_cast<T*>(tensor.data), strides.batch, strides.seqlen, strides.head};
}
template <class T>
TensorView<T> view_of_copy(T* copy, const RowShape& shape) {
  const std::int64_t row = shape.heads * shape.dim;
  return {copy, shape.rows * row, row, shape.dim};
}

/// Calls f(T{}) with the type of words that a variant moves.
template <class F>
void with_word(const CheckedTensor& tensor, F f) {
  if (tensor.is_lse) {
    f(float{});
  } else {
    f(Bits16{});
  }
}

/// Calls f(T{}) with the type of the tensor's numbers.
template <class F>
void with_type(const CheckedTensor& tensor, F f) {
  if (tensor.is_lse) {
    f(float{});
  } else if (tensor.element == ElementType::kBf16) {
    f(Bf16{});
  } else {
    f(Half{});
  }
}

Allowance allowance_for(const TensorCopy& output) {
  const CheckedTensor& tensor = output.tensor();
  double scale = 0;
  with_type(tensor,
            [&]<class T>(T) { scale = root_mean_square<T>(output.data(), bytes_of(tensor)); });
  const double allowed =
      kAllowedUnits * unit_of(tensor.is_lse ? ElementType::kFp16 : tensor.element);
  return {static_cast<float>(allowed * scale), static_cast<float>(allowed)};
}

void enqueue_poison(cudaStream_t stream, const CheckedTensor& tensor) {
  if (tensor.is_lse) {
    CUDA_CHECK(cudaMemsetAsync(tensor.data, kPoisonByte, bytes_of(tensor), stream));
  } else {
    enqueue_poison(stream, view_of<Bits16>(tensor), tensor.shape);
  }
}

/// Whether every head has the same mask.
bool has_one_mask(const Problem& problem) {
  if (!problem.sparse) return true;
  const auto& unions = problem.sparse->pattern.unions;
  if (unions.size() > 1) return false;
  for (const Term& term : unions.front()) {
    if (term.where != nullptr) return false;  // it may ask for the head
  }
  return true;
}

}  // namespace

TensorCopy::TensorCopy(const CheckedTensor& tensor) : tensor_(tensor), copy_(bytes_of(tensor)) {
  constexpr cudaStream_t kDefaultStream = nullptr;
  with_word(tensor, [&]<class T>(T) {
    enqueue_copy<T>(kDefaultStream, view_of_copy(copy_.as<T>(), tensor.shape),
                    view_of<const T>(tensor), tensor.shape);
  });
  CUDA_CHECK(cudaDeviceSynchronize());
}

Rotations rotations_of(const Problem& problem) {
  Rotations rotations;
  rotations.group = problem.group_size();
  if (problem.dropout().threshold != 0) return rotations;
  if (!problem.lengths) rotations.batch = problem.batch;
  if (has_one_mask(problem)) rotations.key_heads = problem.key_heads();
  return rotations;
}

TimedCheck::TimedCheck(std::vector<std::shared_ptr<const TensorCopy>> inputs,
                       std::vector<std::shared_ptr<const TensorCopy>> outputs,
                       const Rotations& rotations, const CudaStream& stream)
    : inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      rotations_(rotations),
      stream_(stream),
      random_(std::random_device{}()),
      counts_((inputs_.size() + outputs_.size()) * sizeof(unsigned long long)) {
  for (const auto& output : outputs_) allowances_.push_back(allowance_for(*output));
}

Variant TimedCheck::variant_of(const CheckedTensor& tensor) const {
  const int shift = tensor.is_of_keys ? head_shift_ : head_shift_ * rotations_.group;
  return {batch_shift_, shift, std::popcount(tensor.signs & negative_) % 2 == 0 ? 1.0f : -1.0f};
}

void TimedCheck::enqueue_inputs() {
  const auto below = [this](int count) {
    return static_cast<int>(random_() % static_cast<unsigned>(count));
  };
  batch_shift_ = below(rotations_.batch);
  head_shift_ = below(rotations_.key_heads);
  negative_ = static_cast<unsigned>(below(8));
  for (const auto& input : inputs_) {
    const CheckedTensor& tensor = input->tensor();
    with_word(tensor, [&]<class T>(T) {
      const auto* const copy = static_cast<const T*>(input->data());
      enqueue_variant<T>(stream_.get(), view_of<T>(tensor), view_of_copy(copy, tensor.shape),
                         tensor.shape, variant_of(tensor));
    });
  }
  for (const auto& output : outputs_) enqueue_poison(stream_.get(), output->tensor());
}

void TimedCheck::enqueue_comparison() {
  CUDA_CHECK(cudaMemsetAsync(counts_.as<void>(), 0, counts_.bytes(), stream_.get()));
  auto* count = counts_.as<unsigned long long>();
  const auto compare = [&](const TensorCopy& copy, const Allowance& allowance) {
    const CheckedTensor& tensor = copy.tensor();
    with_type(tensor, [&]<class T>(T) {
      const auto* const want = static_cast<const T*>(copy.data());
      enqueue_count_different<T>(stream_.get(), view_of<const T>(tensor),
                                 view_of_copy(want, tensor.shape), tensor.shape, variant_of(tensor),
                                 allowance, count);
    });
    ++count;
  };
  // Outputs first: work on a stream that was not joined gains no time to end.
  for (std::size_t i = 0; i < outputs_.size(); ++i) compare(*outputs_[i], allowances_[i]);
  for (const auto& input : inputs_) compare(*input, {0.0f, 0.0f});
}

std::string TimedCheck::difference() const {
  std::vector<unsigned long long> counts(counts_.bytes() / sizeof(unsigned long long));
  CUDA_CHECK(
      cudaMemcpy(counts.data(), counts_.as<void>(), counts_.bytes(), cudaMemcpyDeviceToHost));
  std::string text;
  const auto tell = [&](const CheckedTensor& tensor, unsigned long long count, const char* what) {
    if (count == 0) return;
    text +=
        fmt::format("{}{} elements of {}{}", text.empty() ? "" : ", ", count, tensor.name, what);
  };
  for (std::size_t i = 0; i < outputs_.size(); ++i) tell(outputs_[i]->tensor(), counts[i], "");
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    tell(inputs_[i]->tensor(), counts[outputs_.size() + i], ", which is an input");
  }
  return text;
}

}  // namespace sparkbench
