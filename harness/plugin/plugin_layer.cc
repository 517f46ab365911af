#include "harness/plugin/plugin_layer.h"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>
#include <utility>

namespace sparkbench {
namespace {

std::size_t bytes_of(std::size_t elements) { return elements * sizeof(Half); }

int tokens_of(const Problem& problem) { return static_cast<int>(problem.total_q()); }

PluginMemory host_memory() {
  return {poisoned_host_memory,
          [](void* memory, std::size_t bytes) { std::memset(memory, kPluginPoison, bytes); },
          [](Half* to, const void* from, std::size_t elements) {
            std::memcpy(to, from, bytes_of(elements));
          }};
}

}  // namespace

PluginLayerRun::PluginLayerRun(const CheckedKernel& kernel, const PluginDevice& device,
                               const LayerShape& shape, const Problem& problem,
                               const RunOptions& options, LayerInputs inputs,
                               const PluginMemory& memory)
    : kernel_(kernel),
      problem_(problem, {}, options.pass, options.is_deterministic, device, &shape),
      memory_(memory),
      pass_(options.pass),
      workspace_bytes_(ask_workspace(kernel_.table, problem_)),
      workspace_(workspace_bytes_ > 0 ? memory_.allocate(workspace_bytes_) : nullptr),
      inputs_(std::move(inputs)),
      named_(named_tensors(shape, tokens_of(problem))),
      plan_(kernel_, problem_, workspace_.get(), memory_.stream) {
  layer_.struct_bytes = sizeof layer_;
  tensors_.struct_bytes = sizeof tensors_;
  tensors_.layer = &layer_;
  const bool has_backward = pass_ != Pass::kForward;
  const auto is_absent = [&](const NamedTensor& tensor) {
    return tensor.is_of_bias && !shape.bias;
  };
  for (std::size_t i = 0; i < SPARKBENCH_WEIGHTS; ++i) {
    if (is_absent(named_[i])) continue;
    layer_.weights[i] = inputs_.at(i);
    if (!has_backward) continue;
    outputs_.push_back(
        {std::string(named_[i].gradient), &layer_.d_weights[i], named_[i].elements()});
  }
  const NamedTensor& x = named_.at(SPARKBENCH_WEIGHTS);
  layer_.x = inputs_.at(SPARKBENCH_WEIGHTS);
  outputs_.push_back({"y", &layer_.y, x.elements()});
  input_bytes_ = bytes_of(x.elements());
  if (has_backward) {
    layer_.d_y = inputs_.at(SPARKBENCH_WEIGHTS + 1);
    outputs_.push_back({std::string(x.gradient), &layer_.dx, x.elements()});
    input_bytes_ *= 2;
  }
  if (plan_.has_own_outputs()) return;
  for (const Output& output : outputs_) {
    owned_.push_back(memory_.allocate(bytes_of(output.elements)));
    *output.at = owned_.back().get();
  }
}

void PluginLayerRun::locate() {
  if (plan_.has_own_outputs()) plan_.outputs(tensors_);
}

void PluginLayerRun::forward() {
  plan_.forward(tensors_);
  locate();
}

void PluginLayerRun::backward() {
  plan_.backward(tensors_);
  locate();
}

void PluginLayerRun::run_passes() {
  forward();
  if (pass_ != Pass::kForward) backward();
}

LayerOutputs PluginLayerRun::compute(const LayerTensors& given) {
  if (plan_.has_own_outputs()) run_passes();  // which says where outputs are
  for (const Output& output : outputs_) {
    if (*output.at != nullptr) memory_.poison(*output.at, bytes_of(output.elements));
  }
  run_passes();
  check_inputs(given);
  LayerOutputs results;
  for (const Output& output : outputs_) {
    if (*output.at == nullptr) {
      throw std::runtime_error(fmt::format("{}: its {} is missing", kernel_.name, output.name));
    }
    std::vector<Half> values(output.elements);
    memory_.read(values.data(), *output.at, values.size());
    if (output.name == "y") {
      results.y = std::move(values);
    } else {
      results.gradients.emplace_back(output.name, std::move(values));
    }
  }
  return results;
}

void PluginLayerRun::check_inputs(const LayerTensors& given) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const std::vector<Half>& before = named_[i].of(given);
    std::vector<Half> after(before.size());
    memory_.read(after.data(), inputs_[i], after.size());
    if (same_bits(after, before)) continue;
    throw std::runtime_error(
        fmt::format("{}: it wrote to its input {}", kernel_.name, named_[i].name));
  }
}

void PluginLayerRun::precede() {
  if (pass_ == Pass::kBackward) forward();
}

void PluginLayerRun::enqueue() {
  if (pass_ != Pass::kBackward) forward();
  if (pass_ != Pass::kForward) backward();
}

std::uint64_t PluginLayerRun::bytes_over_weights() const {
  std::uint64_t bytes = workspace_bytes_ + input_bytes_ + plan_.peak_bytes().value_or(0);
  for (const Output& output : outputs_) bytes += bytes_of(output.elements);
  return bytes;
}

Support PluginLayer::supports(const Problem& /*problem*/, Pass /*pass*/) const {
  return {fmt::format("{} computes whole layers; allowed: sparkbench encoder", name())};
}

Support PluginLayer::supports_layer(const LayerShape& shape, const Problem& problem,
                                    Pass pass) const {
  if (problem.lengths) {
    return {
        fmt::format("{} computes sequences of one length, as all layers of plug-ins do", name())};
  }
  return supports_problem(problem, {}, pass, &shape);
}

LayerOutputs PluginLayer::run_on_host(const LayerShape& shape, const Problem& problem,
                                      const LayerTensors& tensors,
                                      const RunOptions& options) const {
  LayerTensors copies = tensors;  // a kernel may write to these: the oracle reads the others
  LayerInputs inputs;
  for (const NamedTensor& tensor : named_tensors(shape, tokens_of(problem))) {
    inputs.push_back(tensor.of(copies).data());
  }
  return prepare_layer(shape, problem, options, inputs, host_memory())->compute(tensors);
}

std::unique_ptr<PluginLayerRun> PluginLayer::prepare_layer(const LayerShape& shape,
                                                           const Problem& problem,
                                                           const RunOptions& options,
                                                           const LayerInputs& inputs,
                                                           const PluginMemory& memory) const {
  return std::make_unique<PluginLayerRun>(kernel(), device(), shape, problem, options, inputs,
                                          memory);
}

const PluginLayer* whole_layer(const Candidate& candidate) {
  return dynamic_cast<const PluginLayer*>(&candidate);
}

}  // namespace sparkbench
