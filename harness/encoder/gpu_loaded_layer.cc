#include "harness/encoder/gpu_loaded_layer.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "harness/encoder/gpu_ready_layer.h"
#include "harness/plugin/plugin_layer.h"
#include "harness/timing/gpu_graph.h"
#include "kernels/machine/out_of_device_memory.h"

namespace sparkbench {
namespace {

ErrorMetrics error_of(const std::vector<Half>& got, const std::vector<double>& want) {
  return error_metrics(std::span<const Half>(got), std::span<const double>(want));
}

class GpuLoadedLayer : public LoadedLayer {
 public:
  GpuLoadedLayer(const LayerWork& work, GpuTimer& timer, std::shared_ptr<cublasContext> cublas)
      : work_(work), timer_(timer), cublas_(std::move(cublas)), data_(work.tensors) {}

  bool has_oracle(const RunOptions& options) override {
    try {
      exact_result(options.pass != Pass::kForward);
      return true;
    } catch (const OutOfDeviceMemory&) {
      return false;
    }
  }

  std::vector<PartError> errors(const LayerVariant& variant, const RunOptions& options) override {
    const ExactLayerResult& exact = exact_result(options.pass != Pass::kForward);
    begin(variant);
    if (const PluginLayer* const whole = whole_layer(variant.attention)) {
      return errors_of(prepared(*whole, variant.rest, options)->compute(work_.tensors), exact);
    }
    std::vector<PartError> errors, gradients;
    std::vector<std::pair<Stage, std::vector<Half>>> stages;
    {
      const ReadyLayer ready(on_gpu(), variant, options);
      errors = output_errors(ready.layer(), exact, variant.rest);
      if (options.pass != Pass::kForward) gradients = gradient_errors(ready.layer(), exact);
      stages = run_stages(ready, exact, variant.rest);
    }
    // The layer's memory is free again, and fp64 stages need no more than the whole fp64 layer did.
    for (const auto& [stage, got] : stages) {
      errors.push_back({std::string(name_of(stage)),
                        error_of(got, exact_stage_on_gpu(stage, shape_of(work_, variant.rest),
                                                         work_.problem, work_.tensors.weights,
                                                         exact.stage_inputs, cublas_.get()))});
    }
    errors.insert(errors.end(), gradients.begin(), gradients.end());
    return errors;
  }

  LayerTimes time(const LayerVariant& variant, const LayerVariant* baseline,
                  const RunOptions& options) override {
    begin(variant);
    if (const PluginLayer* const whole = whole_layer(variant.attention)) {
      const std::unique_ptr<PluginLayerRun> run = prepared(*whole, variant.rest, options);
      LayerTimes times = time_beside(*run, baseline, options);
      times.why_no_graph = "a plug-in's layer is not recorded";
      return times;
    }
    const ReadyLayer ready(on_gpu(), variant, options);
    LayerTimes times = time_beside(ready, baseline, options);
    times.stage_ms = stage_times(ready, options);
    time_graph(ready, options, times);
    return times;
  }

  LayerNeeds needs(const LayerVariant& variant, const RunOptions& options) override {
    begin(variant);
    if (const PluginLayer* const whole = whole_layer(variant.attention)) {
      const std::unique_ptr<PluginLayerRun> run = prepared(*whole, variant.rest, options);
      run->precede();
      run->enqueue();
      stream().synchronize();
      return {run->bytes_over_weights(), std::nullopt};
    }
    const ReadyLayer ready(on_gpu(), variant, options);
    ready.precede();
    ready.enqueue();  // one-time work, such as loading a kernel, is then done
    stream().synchronize();
    std::string why_not;  // time() reports the reason
    const std::unique_ptr<GpuGraph> graph = recorded(ready, why_not);
    return {ready.bytes(), graph != nullptr ? std::optional(graph->launches()) : std::nullopt};
  }

 private:
  /// Undoes what a plug-in's layer may have written to the inputs, so that no layer is called wrong
  /// for what another one did.
  void begin(const LayerVariant& variant) {
    const bool is_plugin = whole_layer(variant.attention) != nullptr;
    if (std::exchange(may_be_written_, is_plugin)) data_.upload(work_.tensors);
  }

  std::unique_ptr<PluginLayerRun> prepared(const PluginLayer& layer, Rest rest,
                                           const RunOptions& options) const {
    LayerInputs inputs;
    for (std::size_t i = 0; i < SPARKBENCH_WEIGHTS + 2; ++i) inputs.push_back(data_.at(i));
    const auto read = [this](Half* to, const void* from, std::size_t elements) {
      stream().synchronize();
      CUDA_CHECK(cudaMemcpy(to, from, elements * sizeof(Half), cudaMemcpyDeviceToHost));
    };
    const auto poison = [this](void* memory, std::size_t bytes) {
      CUDA_CHECK(cudaMemsetAsync(memory, kPluginPoison, bytes, stream().get()));
    };
    return layer.prepare_layer(shape_of(work_, rest), work_.problem, options, inputs,
                               {allocate_for_candidate, poison, read, stream().get()});
  }

  static std::vector<PartError> errors_of(const LayerOutputs& outputs,
                                          const ExactLayerResult& exact) {
    std::vector<PartError> errors = {{"output", error_of(outputs.y, exact.output)}};
    for (const auto& [name, want] : exact.gradients) {
      for (const auto& [of, got] : outputs.gradients) {
        if (of == name) errors.push_back({name, error_of(got, want)});
      }
    }
    return errors;
  }

  /// Alternates with the baseline, if there is one and memory has room for it.
  template <class Layer>
  LayerTimes time_beside(Layer& layer, const LayerVariant* baseline,
                         const RunOptions& options) const {
    const std::unique_ptr<ReadyLayer> other = ready_beside(baseline, options);
    layer.precede();
    std::vector<Launch> launches = {[&] { layer.enqueue(); }};
    if (other != nullptr) {
      other->precede();
      launches.emplace_back([&] { other->enqueue(); });
    }
    std::vector<Timing> timings = timer_.time(launches, options.method);
    LayerTimes times;
    times.whole = std::move(timings.front());
    if (other != nullptr) times.baseline = std::move(timings.back());
    return times;
  }

  std::vector<PartError> output_errors(const GpuLayer& layer, const ExactLayerResult& exact,
                                       Rest rest) const {
    const std::size_t elements = work_.tensors.x.size();
    const DeviceBuffer f(elements * sizeof(Half));
    layer.forward([&](Stage stage) {
      if (stage != Stage::kFf2) return;  // before another tensor overwrites it
      CUDA_CHECK(cudaMemcpyAsync(f.as<Half>(), layer.tensor("f"), f.bytes(),
                                 cudaMemcpyDeviceToDevice, stream().get()));
    });
    stream().synchronize();
    return {{"output", error_of(download_halves(layer.tensor("y"), elements), exact.output)},
            {"before_residual", error_of(last_branch(download_halves(f.as<Half>(), elements), rest),
                                         exact.before_residual)}};
  }

  /// For the preceding forward pass.
  std::vector<PartError> gradient_errors(const GpuLayer& layer,
                                         const ExactLayerResult& exact) const {
    layer.backward();
    stream().synchronize();
    std::vector<PartError> errors;
    for (const auto& [name, want] : exact.gradients) {
      for (const LayerGradient& gradient : layer.gradients()) {
        if (gradient.name != name) continue;
        errors.push_back({name, error_of(download_halves(gradient.data, gradient.elements), want)});
      }
    }
    return errors;
  }

  /// Each from the exact layer's values, rounded to fp16.
  std::vector<std::pair<Stage, std::vector<Half>>> run_stages(const ReadyLayer& ready,
                                                              const ExactLayerResult& exact,
                                                              Rest rest) const {
    std::vector<std::pair<Stage, std::vector<Half>>> stages;
    for (const Stage stage : stages_in_order(work_.shape.norm)) {
      stages.emplace_back(stage, ready.run_stage(stage, tensors_of_stage(work_.shape.norm, stage),
                                                 exact.stage_inputs, rest, elements_of(stage)));
    }
    return stages;
  }
  std::size_t elements_of(Stage stage) const {
    const std::size_t of_hidden = work_.tensors.x.size();
    if (stage == Stage::kQkv) return 3 * of_hidden;
    if (stage != Stage::kFf1) return of_hidden;
    return work_.problem.total_q() * static_cast<std::size_t>(work_.shape.ffn);
  }

  OnGpu on_gpu() const { return {work_, data_, library_, stream(), cublas_}; }
  const CudaStream& stream() const { return timer_.stream(); }

  /// Computed on first use. A result with gradients also serves a forward pass.
  const ExactLayerResult& exact_result(bool has_backward) {
    if (!exact_ || (has_backward && exact_->gradients.empty())) {
      exact_ = exact_layer_on_gpu(work_.shape, work_.problem, work_.tensors, has_backward,
                                  cublas_.get());
    }
    return *exact_;
  }

  /// The branch before the last residual, from F after its stage. If launches store no branch, this
  /// applies the remaining operations in fp32, as the launches do. Unfused, F includes its bias;
  /// for pre-LN, where the residual is part of the stage, also dropout.
  std::vector<Half> last_branch(std::vector<Half> branch, Rest rest) const {
    const bool has_bias = rest == Rest::kUnfused;
    if (has_bias && work_.shape.norm == NormPlace::kPre) return branch;
    const auto columns = static_cast<std::size_t>(work_.shape.hidden);
    const std::vector<Half>& bias = work_.tensors.weights.b_2;
    const Dropout dropout = work_.problem.dropout();
    for (std::size_t i = 0; i < branch.size(); ++i) {
      const float value = to_float(branch[i]) + (has_bias ? 0.0f : to_float(bias[i % columns]));
      const bool keeps =
          dropout.threshold == 0 ||
          layer_keeps(dropout, DropoutSite::kSecond, static_cast<std::uint32_t>(i / columns),
                      static_cast<std::uint32_t>(i % columns));
      branch[i] = to_half(keeps ? value * dropout.keep_scale : 0.0f);
    }
    return branch;
  }

  std::unique_ptr<ReadyLayer> ready_beside(const LayerVariant* variant,
                                           const RunOptions& options) const {
    if (variant == nullptr) return nullptr;
    try {
      return std::make_unique<ReadyLayer>(on_gpu(), *variant, options);
    } catch (const OutOfDeviceMemory&) {
      return nullptr;  // it is then timed by itself
    }
  }

  std::vector<std::pair<std::string, double>> stage_times(const ReadyLayer& ready,
                                                          const RunOptions& options) const {
    std::vector<std::pair<std::string, double>> stage_ms;
    stage_ms.reserve(kStages.size());
    for (const Stage stage : kStages) stage_ms.emplace_back(name_of(stage), 0.0);
    const PassParts parts = timer_.time_parts(
        [&](const AfterPart& after_part) {
          ready.enqueue([&](Stage stage) { after_part({name_of(stage), 0, 0}); });
        },
        options.method);
    for (const PassPart& part : parts.of) {
      for (auto& [name, ms] : stage_ms) ms += name == part.name ? part.ms : 0;
    }
    return stage_ms;
  }

  /// Null if no graph can contain the pass.
  std::unique_ptr<GpuGraph> recorded(const ReadyLayer& ready, std::string& why_not) const {
    try {
      return std::make_unique<GpuGraph>(stream(), [&] { ready.enqueue(); });
    } catch (const std::exception& error) {
      why_not = error.what();
      return nullptr;
    }
  }

  void time_graph(const ReadyLayer& ready, const RunOptions& options, LayerTimes& times) const {
    const std::unique_ptr<GpuGraph> graph = recorded(ready, times.why_no_graph);
    if (graph == nullptr) return;
    const Launch launch = [&] { graph->launch(stream()); };
    times.graph = timer_.time({&launch, 1}, options.method).front();
  }

  LayerWork work_;
  GpuTimer& timer_;
  std::shared_ptr<cublasContext> cublas_;
  ProductLibrary library_;
  LayerDataOnGpu data_;
  bool may_be_written_ = false;  // whether a plug-in's layer had pointers into data_
  std::optional<ExactLayerResult> exact_;
};

}  // namespace

std::unique_ptr<LoadedLayer> load_layer_on_gpu(const LayerWork& work, GpuTimer& timer,
                                               const std::shared_ptr<cublasContext>& cublas) {
  return std::make_unique<GpuLoadedLayer>(work, timer, cublas);
}

}  // namespace sparkbench
