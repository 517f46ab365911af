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

/// Uploads what the host keeps.
void upload_input(const DeviceBuffer& buffer, ElementType element, std::span<const Half> kept) {
  upload(buffer, std::span<const Half>(as_kernel_has(element, kept)));
}

bool holds(const DeviceBuffer& buffer, ElementType element, std::span<const Half> kept) {
  return same_bits(download<Half>(buffer), as_kernel_has(element, kept));
}

}  // namespace

GpuTensors::Gradients::Gradients(const Problem& problem)
    : d_o(problem.q_elements() * sizeof(Half)),
      dq(problem.q_elements() * sizeof(Half)),
      dk(problem.k_elements() * sizeof(Half)),
      dv(problem.k_elements() * sizeof(Half)) {}

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
      q_(data.inputs().q.size_bytes()),
      k_(data.inputs().k.size_bytes()),
      v_(data.inputs().v.size_bytes()),
      o_(data.problem().q_elements() * sizeof(Half)),
      lse_(data.problem().lse_elements() * sizeof(float)),
      layout_(data.problem().lengths ? data.problem().packed() : data.problem()) {
  if (const auto& lengths = data.problem().lengths) offsets_.emplace(*lengths);
  if (gradients != nullptr) buffers_.emplace(data.problem());
  upload_inputs();
}

PackedLengths GpuTensors::lengths() const {
  if (!offsets_) return {};
  return {offsets_->batch, offsets_->q.as<int>(), offsets_->k.as<int>()};
}

ForwardTensors GpuTensors::forward() const {
  return contiguous_tensors(layout_, q_.as<Half>(), k_.as<Half>(), v_.as<Half>(), o_.as<Half>(),
                            lse_.as<float>());
}

BackwardTensors GpuTensors::backward() const {
  if (!buffers_) return {};
  return contiguous_tensors(layout_, q_.as<Half>(), k_.as<Half>(), v_.as<Half>(), o_.as<Half>(),
                            buffers_->d_o.as<Half>(), lse_.as<float>(), buffers_->dq.as<Half>(),
                            buffers_->dk.as<Half>(), buffers_->dv.as<Half>());
}

std::uint64_t GpuTensors::bytes() const {
  std::uint64_t bytes = q_.bytes() + k_.bytes() + v_.bytes() + o_.bytes() + lse_.bytes();
  if (offsets_) bytes += offsets_->q.bytes() + offsets_->k.bytes();
  if (buffers_) {
    bytes +=
        buffers_->d_o.bytes() + buffers_->dq.bytes() + buffers_->dk.bytes() + buffers_->dv.bytes();
  }
  return bytes;
}

void GpuTensors::upload_inputs() {
  const ElementType element = data_.element();
  upload_input(q_, element, data_.inputs().q);
  upload_input(k_, element, data_.inputs().k);
  upload_input(v_, element, data_.inputs().v);
  if (gradients_ != nullptr) upload_input(buffers_->d_o, element, gradients_->d_o());
}

void GpuTensors::poison_outputs(Pass pass) const {
  const auto poison = [this](const GuardedBuffer& buffer) {
    CUDA_CHECK(cudaMemsetAsync(buffer.as<void>(), kPoisonByte, buffer.bytes(), stream_.get()));
  };
  if (pass != Pass::kBackward) {
    poison(o_);
    poison(lse_);
  }
  if (pass != Pass::kForward) {
    poison(buffers_->dq);
    poison(buffers_->dk);
    poison(buffers_->dv);
  }
}

PassOutputs GpuTensors::download_outputs(Pass pass) const {
  PassOutputs outputs;
  if (pass != Pass::kBackward) {
    outputs.o = download<Half>(o_);
    outputs.lse = download<float>(lse_);
  }
  if (pass != Pass::kForward) {
    outputs.dq = download<Half>(buffers_->dq);
    outputs.dk = download<Half>(buffers_->dk);
    outputs.dv = download<Half>(buffers_->dv);
  }
  return outputs;
}

void GpuTensors::upload_outputs(Pass pass, const PassOutputs& outputs) const {
  if (pass != Pass::kBackward) {
    upload(o_, std::span<const Half>(outputs.o));
    upload(lse_, std::span<const float>(outputs.lse));
  }
  if (pass != Pass::kForward) {
    upload(buffers_->dq, std::span<const Half>(outputs.dq));
    upload(buffers_->dk, std::span<const Half>(outputs.dk));
    upload(buffers_->dv, std::span<const Half>(outputs.dv));
  }
}

std::string GpuTensors::find_violation(Pass pass) const {
  const ForwardInputs inputs = data_.inputs();
  const ElementType element = data_.element();
  if (!holds(q_, element, inputs.q)) return "its input q";
  if (!holds(k_, element, inputs.k)) return "its input k";
  if (!holds(v_, element, inputs.v)) return "its input v";
  if (pass != Pass::kForward && !holds(buffers_->d_o, element, gradients_->d_o())) {
    return "its input dO";
  }
  if (!o_.is_intact()) return "memory around o";
  if (!lse_.is_intact()) return "memory around lse";
  if (!buffers_) return "";
  if (!buffers_->dq.is_intact()) return "memory around dq";
  if (!buffers_->dk.is_intact()) return "memory around dk";
  return buffers_->dv.is_intact() ? "" : "memory around dv";
}

std::vector<CheckedTensor> GpuTensors::inputs(Pass pass) const {
  std::vector<CheckedTensor> tensors = {queries("q", q_.as<void>(), kSignOfScores),
                                        keys("k", k_.as<void>(), kSignOfScores),
                                        keys("v", v_.as<void>(), kSignOfV)};
  if (pass != Pass::kForward) {
    tensors.push_back(queries("dO", buffers_->d_o.as<void>(), kSignOfDo));
  }
  return tensors;
}

std::vector<CheckedTensor> GpuTensors::outputs(Pass pass) const {
  std::vector<CheckedTensor> tensors;
  if (pass != Pass::kBackward) {
    tensors.push_back(queries("o", o_.as<void>(), kSignOfV));
    tensors.push_back(
        {"lse", lse_.as<void>(), true, data_.element(), shape_of(true, false), false, kNoSign});
  }
  if (pass != Pass::kForward) {
    constexpr unsigned kSignOfScoreGradients = kSignOfV | kSignOfDo | kSignOfScores;
    tensors.push_back(queries("dq", buffers_->dq.as<void>(), kSignOfScoreGradients));
    tensors.push_back(keys("dk", buffers_->dk.as<void>(), kSignOfScoreGradients));
    tensors.push_back(keys("dv", buffers_->dv.as<void>(), kSignOfDo));
  }
  return tensors;
}

RowShape GpuTensors::shape_of(bool is_lse, bool is_of_keys) const {
  return {layout_.batch, is_of_keys ? layout_.seqlen_k : layout_.seqlen_q,
          is_of_keys ? layout_.key_heads() : layout_.heads, is_lse ? 1 : layout_.head_dim, is_lse};
}

CheckedTensor GpuTensors::queries(std::string name, void* data, unsigned signs) const {
  return {std::move(name), data, false, data_.element(), shape_of(false, false), false, signs};
}

CheckedTensor GpuTensors::keys(std::string name, void* data, unsigned signs) const {
  return {std::move(name), data, false, data_.element(), shape_of(false, true), true, signs};
}

}  // namespace sparkbench
