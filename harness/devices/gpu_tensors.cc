#include "harness/devices/gpu_tensors.h"

#include <span>
#include <utility>

namespace sparkbench {
namespace {

template <class Buffer, class T>
void upload(const Buffer& buffer, std::span<const T> host) {
  CUDA_CHECK(cudaMemcpy(buffer.template as<void>(), host.data(), host.size_bytes(),
                        cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaDeviceSynchronize());  // a non-blocking stream would not wait for the copy
}

template <class T, class Buffer>
std::vector<T> download(const Buffer& buffer) {
  std::vector<T> host(buffer.bytes() / sizeof(T));
  CUDA_CHECK(
      cudaMemcpy(host.data(), buffer.template as<void>(), buffer.bytes(), cudaMemcpyDeviceToHost));
  return host;
}

/// Downloads a tensor, contiguous.
template <class Buffer>
std::vector<Half> download(const Buffer& buffer, const TensorSlice& slice) {
  const std::vector<Half> words = download<Half>(buffer);
  return contiguous_copy(slice.in(words.data()), slice.shape);
}

/// Uploads contiguous tensors, which may share buffers.
template <class Buffer>
void upload(const std::vector<Buffer>& buffers, const TensorSlices& slices, std::span<const Half> q,
            std::span<const Half> k, std::span<const Half> v) {
  const std::vector<std::vector<Half>> words = buffers_of(slices, q, k, v);
  for (std::size_t i = 0; i < words.size(); ++i) {
    upload(buffers[i], std::span<const Half>(words[i]));
  }
}

template <class Buffer>
void upload(const Buffer& buffer, const TensorSlice& slice, std::span<const Half> contiguous) {
  std::vector<Half> words(contiguous.size());
  store_rows(contiguous, slice.in(words.data()), slice.shape);
  upload(buffer, std::span<const Half>(words));
}

template <class Buffer>
std::vector<Buffer> allocate(const TensorSlices& slices) {
  std::vector<Buffer> buffers;
  for (const std::size_t elements : slices.elements) {
    buffers.emplace_back(elements * sizeof(Half));
  }
  return buffers;
}

template <class Buffer>
TensorView<Half> view_in(const std::vector<Buffer>& buffers, const TensorSlice& slice) {
  return slice.in(buffers[slice.buffer].template as<Half>());
}

template <class Buffer>
std::uint64_t bytes_of(const std::vector<Buffer>& buffers) {
  std::uint64_t bytes = 0;
  for (const Buffer& buffer : buffers) bytes += buffer.bytes();
  return bytes;
}

}  // namespace

GpuTensors::Gradients::Gradients(const Problem& problem, const TensorSlices& slices)
    : d_o(problem.q_elements() * sizeof(Half)), dqkv(allocate<GuardedBuffer>(slices)) {}

GpuTensors::Offsets::Offsets(const SequenceLengths& of)
    : batch(of.batch()),
      q(of.cu_seqlens_q().size() * sizeof(int)),
      k(of.cu_seqlens_k().size() * sizeof(int)) {}

GpuTensors::GpuTensors(const ProblemData& data, GradientData* gradients, const CudaStream& stream)
    : data_(data),
      gradients_(gradients),
      stream_(stream),
      shapes_(data.problem().lengths ? data.problem().packed() : data.problem()),
      slices_(shapes_, data.layout()),
      qkv_(allocate<DeviceBuffer>(slices_)),
      o_(data.problem().q_elements() * sizeof(Half)),
      lse_(data.problem().lse_elements() * sizeof(float)) {
  if (const auto& lengths = data.problem().lengths) offsets_.emplace(*lengths);
  if (gradients != nullptr) backward_.emplace(data.problem(), slices_);
  reset();
}

PackedLengths GpuTensors::lengths() const {
  if (!offsets_) return {};
  return {offsets_->batch, offsets_->q.as<int>(), offsets_->k.as<int>()};
}

ForwardTensors GpuTensors::forward() const {
  return {view_in(qkv_, slices_.q), view_in(qkv_, slices_.k), view_in(qkv_, slices_.v),
          slices_.o.in(o_.as<Half>()), lse_.as<float>()};
}

BackwardTensors GpuTensors::backward() const {
  if (!backward_) return {};
  return {view_in(qkv_, slices_.q),
          view_in(qkv_, slices_.k),
          view_in(qkv_, slices_.v),
          slices_.o.in(o_.as<Half>()),
          slices_.o.in(backward_->d_o.as<Half>()),
          lse_.as<float>(),
          view_in(backward_->dqkv, slices_.q),
          view_in(backward_->dqkv, slices_.k),
          view_in(backward_->dqkv, slices_.v)};
}

std::uint64_t GpuTensors::bytes() const {
  std::uint64_t bytes = bytes_of(qkv_) + o_.bytes() + lse_.bytes();
  if (offsets_) bytes += offsets_->q.bytes() + offsets_->k.bytes();
  if (backward_) bytes += backward_->d_o.bytes() + bytes_of(backward_->dqkv);
  return bytes;
}

void GpuTensors::reset() const {
  CUDA_CHECK(cudaDeviceSynchronize());  // a kernel that failed may still be writing
  const auto words = [this](std::span<const Half> kept) {
    return as_kernel_has(data_.element(), kept);
  };
  const ForwardInputs inputs = data_.inputs();
  upload(qkv_, slices_, words(inputs.q), words(inputs.k), words(inputs.v));
  if (gradients_ != nullptr) upload(backward_->d_o, slices_.o, words(gradients_->d_o()));
  if (const auto& lengths = data_.problem().lengths) {
    upload(offsets_->q, std::span<const int>(lengths->cu_seqlens_q()));
    upload(offsets_->k, std::span<const int>(lengths->cu_seqlens_k()));
  }
  lse_.write_guards();
  for (const Output& output : outputs_of(whole_pass())) output.buffer.write_guards();
}

void GpuTensors::poison_outputs(Pass pass) const {
  const auto poison = [this](const GuardedBuffer& buffer) {
    CUDA_CHECK(cudaMemsetAsync(buffer.as<void>(), kPoisonByte, buffer.bytes(), stream_.get()));
  };
  if (pass != Pass::kBackward) {
    poison(o_);
    poison(lse_);
  }
  if (pass == Pass::kForward) return;
  for (const GuardedBuffer& buffer : backward_->dqkv) poison(buffer);
}

PassOutputs GpuTensors::download_outputs(Pass pass) const {
  PassOutputs outputs;
  if (pass != Pass::kBackward) outputs.lse = download<float>(lse_);
  for (const Output& output : outputs_of(pass)) {
    outputs.*output.host = download(output.buffer, output.slice);
  }
  return outputs;
}

void GpuTensors::upload_outputs(Pass pass, const PassOutputs& outputs) const {
  if (pass != Pass::kBackward) {
    upload(o_, slices_.o, outputs.o);
    upload(lse_, std::span<const float>(outputs.lse));
  }
  if (pass != Pass::kForward) {
    upload(backward_->dqkv, slices_, outputs.dq, outputs.dk, outputs.dv);
  }
}

std::string GpuTensors::find_violation(Pass pass) const {
  for (const Input& input : inputs_of(pass)) {
    const std::vector<Half> words = as_kernel_has(data_.element(), input.kept);
    if (!same_bits(download(input.buffer, input.slice), words)) {
      return std::string("its input ") + input.name;
    }
  }
  if (const auto& lengths = data_.problem().lengths) {
    if (download<int>(offsets_->q) != lengths->cu_seqlens_q()) return "its input cu_seqlens_q";
    if (download<int>(offsets_->k) != lengths->cu_seqlens_k()) return "its input cu_seqlens_k";
  }
  if (!lse_.is_intact()) return "memory around lse";
  for (const Output& output : outputs_of(whole_pass())) {
    if (!output.buffer.is_intact()) return std::string("memory around ") + output.name;
  }
  return "";
}

std::vector<GpuTensors::Input> GpuTensors::inputs_of(Pass pass) const {
  const ForwardInputs kept = data_.inputs();
  std::vector<Input> inputs = {
      {"q", slices_.q, qkv_[slices_.q.buffer], kept.q, false, kSignOfScores},
      {"k", slices_.k, qkv_[slices_.k.buffer], kept.k, true, kSignOfScores},
      {"v", slices_.v, qkv_[slices_.v.buffer], kept.v, true, kSignOfV}};
  if (pass != Pass::kForward) {
    inputs.push_back({"dO", slices_.o, backward_->d_o, gradients_->d_o(), false, kSignOfDo});
  }
  return inputs;
}

std::vector<GpuTensors::Output> GpuTensors::outputs_of(Pass pass) const {
  constexpr unsigned kSignOfScoreGradients = kSignOfV | kSignOfDo | kSignOfScores;
  std::vector<Output> outputs;
  if (pass != Pass::kBackward) {
    outputs.push_back({"o", slices_.o, o_, false, kSignOfV, &PassOutputs::o});
  }
  if (pass == Pass::kForward) return outputs;
  const auto add = [&](const char* name, const TensorSlice& slice, bool is_of_keys, unsigned signs,
                       std::vector<Half> PassOutputs::*host) {
    outputs.push_back({name, slice, backward_->dqkv[slice.buffer], is_of_keys, signs, host});
  };
  add("dq", slices_.q, false, kSignOfScoreGradients, &PassOutputs::dq);
  add("dk", slices_.k, true, kSignOfScoreGradients, &PassOutputs::dk);
  add("dv", slices_.v, true, kSignOfDo, &PassOutputs::dv);
  return outputs;
}

std::vector<CheckedTensor> GpuTensors::inputs(Pass pass) const {
  std::vector<CheckedTensor> tensors;
  for (const Input& input : inputs_of(pass)) tensors.push_back(checked(input));
  return tensors;
}

std::vector<CheckedTensor> GpuTensors::outputs(Pass pass) const {
  std::vector<CheckedTensor> tensors;
  for (const Output& output : outputs_of(pass)) tensors.push_back(checked(output));
  if (pass != Pass::kBackward) tensors.push_back(checked_lse());
  return tensors;
}

template <class Tensor>
CheckedTensor GpuTensors::checked(const Tensor& tensor) const {
  const TensorShape& shape = tensor.slice.shape;
  return {tensor.name,
          tensor.slice.in(tensor.buffer.template as<Half>()).data,
          tensor.slice.strides,
          {shape.batch, shape.seqlen, shape.heads, shape.head_dim},
          false,
          data_.element(),
          tensor.is_of_keys,
          tensor.signs};
}

CheckedTensor GpuTensors::checked_lse() const {
  const std::int64_t rows = shapes_.seqlen_q, heads = shapes_.heads;
  return {"lse",
          lse_.as<void>(),
          {heads * rows, 1, rows},
          {shapes_.batch, rows, heads, 1},
          true,
          data_.element(),
          false,
          kNoSign};
}

}  // namespace sparkbench
