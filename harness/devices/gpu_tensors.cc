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

/// A tensor of the memory, contiguous.
template <class Buffer>
std::vector<Half> download(const Buffer& memory, const TensorPlace& place) {
  const std::vector<Half> words = download<Half>(memory);
  return contiguous_copy(place.in(words.data()), place.shape);
}

/// Uploads contiguous tensors to the memories that they share.
template <class Buffer>
void upload(const std::vector<Buffer>& memories, const TensorPlaces& places,
            std::span<const Half> q, std::span<const Half> k, std::span<const Half> v) {
  const std::vector<std::vector<Half>> words = memories_of(places, q, k, v);
  for (std::size_t i = 0; i < words.size(); ++i) {
    upload(memories[i], std::span<const Half>(words[i]));
  }
}

template <class Buffer>
void upload(const Buffer& memory, const TensorPlace& place, std::span<const Half> contiguous) {
  std::vector<Half> words(contiguous.size());
  store_rows(contiguous, place.in(words.data()), place.shape);
  upload(memory, std::span<const Half>(words));
}

template <class Buffer>
std::vector<Buffer> allocate(const TensorPlaces& places) {
  std::vector<Buffer> memories;
  for (const std::size_t elements : places.elements) {
    memories.emplace_back(elements * sizeof(Half));
  }
  return memories;
}

/// The tensor in the memory of its index.
template <class Buffer>
TensorView<Half> view_in(const std::vector<Buffer>& memories, const TensorPlace& place) {
  return place.in(memories[place.memory].template as<Half>());
}

template <class Buffer>
std::uint64_t bytes_of(const std::vector<Buffer>& memories) {
  std::uint64_t bytes = 0;
  for (const Buffer& memory : memories) bytes += memory.bytes();
  return bytes;
}

}  // namespace

GpuTensors::Gradients::Gradients(const Problem& problem, const TensorPlaces& places)
    : d_o(problem.q_elements() * sizeof(Half)), memories(allocate<GuardedBuffer>(places)) {}

GpuTensors::Offsets::Offsets(const SequenceLengths& of)
    : batch(of.batch()),
      q(of.cu_seqlens_q().size() * sizeof(int)),
      k(of.cu_seqlens_k().size() * sizeof(int)) {
  upload(q, std::span<const int>(of.cu_seqlens_q()));
  upload(k, std::span<const int>(of.cu_seqlens_k()));
}

GpuTensors::GpuTensors(const ProblemData& data, GradientData* gradients, const CudaStream& stream)
    : data_(data),
      gradients_(gradients),
      stream_(stream),
      layout_(data.problem().lengths ? data.problem().packed() : data.problem()),
      places_(layout_, data.layout()),
      memories_(allocate<DeviceBuffer>(places_)),
      o_(data.problem().q_elements() * sizeof(Half)),
      lse_(data.problem().lse_elements() * sizeof(float)) {
  if (const auto& lengths = data.problem().lengths) offsets_.emplace(*lengths);
  if (gradients != nullptr) buffers_.emplace(data.problem(), places_);
  upload_inputs();
}

PackedLengths GpuTensors::lengths() const {
  if (!offsets_) return {};
  return {offsets_->batch, offsets_->q.as<int>(), offsets_->k.as<int>()};
}

ForwardTensors GpuTensors::forward() const {
  return {view_in(memories_, places_.q), view_in(memories_, places_.k),
          view_in(memories_, places_.v), places_.o.in(o_.as<Half>()), lse_.as<float>()};
}

BackwardTensors GpuTensors::backward() const {
  if (!buffers_) return {};
  return {view_in(memories_, places_.q),          view_in(memories_, places_.k),
          view_in(memories_, places_.v),          places_.o.in(o_.as<Half>()),
          places_.o.in(buffers_->d_o.as<Half>()), lse_.as<float>(),
          view_in(buffers_->memories, places_.q), view_in(buffers_->memories, places_.k),
          view_in(buffers_->memories, places_.v)};
}

std::uint64_t GpuTensors::bytes() const {
  std::uint64_t bytes = bytes_of(memories_) + o_.bytes() + lse_.bytes();
  if (offsets_) bytes += offsets_->q.bytes() + offsets_->k.bytes();
  if (buffers_) bytes += buffers_->d_o.bytes() + bytes_of(buffers_->memories);
  return bytes;
}

void GpuTensors::upload_inputs() {
  const auto words = [this](std::span<const Half> kept) {
    return as_kernel_has(data_.element(), kept);
  };
  const ForwardInputs inputs = data_.inputs();
  upload(memories_, places_, words(inputs.q), words(inputs.k), words(inputs.v));
  if (gradients_ != nullptr) upload(buffers_->d_o, places_.o, words(gradients_->d_o()));
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
  for (const GuardedBuffer& memory : buffers_->memories) poison(memory);
}

PassOutputs GpuTensors::download_outputs(Pass pass) const {
  PassOutputs outputs;
  if (pass != Pass::kBackward) outputs.lse = download<float>(lse_);
  for (const Output& output : outputs_of(pass)) {
    outputs.*output.host = download(output.memory, output.place);
  }
  return outputs;
}

void GpuTensors::upload_outputs(Pass pass, const PassOutputs& outputs) const {
  if (pass != Pass::kBackward) {
    upload(o_, places_.o, outputs.o);
    upload(lse_, std::span<const float>(outputs.lse));
  }
  if (pass != Pass::kForward) {
    upload(buffers_->memories, places_, outputs.dq, outputs.dk, outputs.dv);
  }
}

std::string GpuTensors::find_violation(Pass pass) const {
  for (const Input& input : inputs_of(pass)) {
    const std::vector<Half> words = as_kernel_has(data_.element(), input.kept);
    if (!same_bits(download(input.memory, input.place), words)) {
      return std::string("its input ") + input.name;
    }
  }
  if (!lse_.is_intact()) return "memory around lse";
  const Pass computed = buffers_ ? Pass::kForwardBackward : Pass::kForward;
  for (const Output& output : outputs_of(computed)) {
    if (!output.memory.is_intact()) return std::string("memory around ") + output.name;
  }
  return "";
}

std::vector<GpuTensors::Input> GpuTensors::inputs_of(Pass pass) const {
  const ForwardInputs kept = data_.inputs();
  std::vector<Input> inputs = {
      {"q", places_.q, memories_[places_.q.memory], kept.q, false, kSignOfScores},
      {"k", places_.k, memories_[places_.k.memory], kept.k, true, kSignOfScores},
      {"v", places_.v, memories_[places_.v.memory], kept.v, true, kSignOfV}};
  if (pass != Pass::kForward) {
    inputs.push_back({"dO", places_.o, buffers_->d_o, gradients_->d_o(), false, kSignOfDo});
  }
  return inputs;
}

std::vector<GpuTensors::Output> GpuTensors::outputs_of(Pass pass) const {
  constexpr unsigned kSignOfScoreGradients = kSignOfV | kSignOfDo | kSignOfScores;
  std::vector<Output> outputs;
  if (pass != Pass::kBackward) {
    outputs.push_back({"o", places_.o, o_, false, kSignOfV, &PassOutputs::o});
  }
  if (pass == Pass::kForward) return outputs;
  const auto add = [&](const char* name, const TensorPlace& place, bool is_of_keys, unsigned signs,
                       std::vector<Half> PassOutputs::*host) {
    outputs.push_back({name, place, buffers_->memories[place.memory], is_of_keys, signs, host});
  };
  add("dq", places_.q, false, kSignOfScoreGradients, &PassOutputs::dq);
  add("dk", places_.k, true, kSignOfScoreGradients, &PassOutputs::dk);
  add("dv", places_.v, true, kSignOfDo, &PassOutputs::dv);
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
  const TensorShape& shape = tensor.place.shape;
  return {tensor.name,
          tensor.place.in(tensor.memory.template as<Half>()).data,
          tensor.place.strides,
          {shape.batch, shape.seqlen, shape.heads, shape.head_dim},
          false,
          data_.element(),
          tensor.is_of_keys,
          tensor.signs};
}

CheckedTensor GpuTensors::checked_lse() const {
  const std::int64_t rows = layout_.seqlen_q, heads = layout_.heads;
  return {"lse",
          lse_.as<void>(),
          {heads * rows, 1, rows},
          {layout_.batch, rows, heads, 1},
          true,
          data_.element(),
          false,
          kNoSign};
}

}  // namespace sparkbench
