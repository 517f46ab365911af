#include "sweeps/layer_axes.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <string>

#include "sweeps/list_flag.h"
#include "sweeps/names.h"

namespace sparkbench {
namespace {

/// The axes of the attention that a layer keeps; the others have one value in a layer.
constexpr std::array<std::string_view, 10> kSharedAxes = {
    "kernel", "pass",      "head_dim",      "lengths", "seqlen_q",
    "mask",   "dropout_p", "dropout_scale", "batch",   "total_tokens"};

LayerShape& layer_of(CaseProblem& problem) {
  if (!problem.layer) problem.layer.emplace();
  return *problem.layer;
}

template <auto kMember>
AxisAccess number_of_layer() {
  return {[](const CaseProblem& problem) {
            return problem.layer ? AxisValue((*problem.layer).*kMember) : AxisValue();
          },
          [](CaseProblem& problem, const AxisValue& value) {
            layer_of(problem).*kMember =
                std::get<std::decay_t<decltype(LayerShape().*kMember)>>(value);
          },
          true};
}

template <auto kMember>
AxisAccess name_of_layer() {
  return {[](const CaseProblem& problem) {
            return problem.layer ? AxisValue(std::string(name_of((*problem.layer).*kMember)))
                                 : AxisValue();
          },
          [](CaseProblem& problem, const AxisValue& value) {
            parse_name(std::get<std::string>(value), layer_of(problem).*kMember);
          },
          true};
}

void set_hidden(CaseProblem& problem, const AxisValue& value) {
  const int hidden = std::get<int>(value);
  if (hidden % problem.head_dim != 0) {
    throw std::invalid_argument(
        fmt::format("{} is not a multiple of head_dim {}; "
                    "allowed: its multiples",
                    hidden, problem.head_dim));
  }
  layer_of(problem).hidden = hidden;
  problem.heads = problem.heads_k = hidden / problem.head_dim;
}

std::vector<AxisValue> extents_of_layer(std::string_view flag, std::string_view text) {
  const std::vector<int> extents = parse_extents(flag, text);
  return {extents.begin(), extents.end()};
}

std::vector<AxisValue> extents_or_auto(std::string_view flag, std::string_view text) {
  return is_auto(flag, text) ? std::vector<AxisValue>{AxisValue()} : extents_of_layer(flag, text);
}

std::vector<AxisValue> booleans_of_layer(std::string_view flag, std::string_view text) {
  const std::vector<bool> values = parse_booleans(flag, text);
  return {values.begin(), values.end()};
}

template <class Enum, int kCount>
std::vector<AxisValue> names_of_layer(std::string_view flag, std::string_view text) {
  const std::vector<std::string> chosen = select_names_of<Enum, kCount>(flag, text);
  return {chosen.begin(), chosen.end()};
}

std::vector<Axis> make_layer_rows() {
  const AxisAccess hidden = {number_of_layer<&LayerShape::hidden>().get, set_hidden, true};
  return {
      {.name = "hidden",
       .flag = "--hidden",
       .help = "hidden sizes; the number of heads is hidden / head dimension",
       .allowed = "numbers from 1 to 16m",
       .initial = "2048",
       .parse = extents_of_layer,
       .access = hidden,
       .id = {.prefix = "hidden"},
       .is_of_tensors = true},
      {.name = "ffn",
       .flag = "--ffn",
       .help = "inner sizes of the feed-forward network; auto: four times hidden",
       .allowed = "numbers from 1 to 16m, or auto",
       .initial = "auto",
       .parse = extents_or_auto,
       .access = number_of_layer<&LayerShape::ffn>(),
       .derive = [](CaseProblem& p,
                    const GridTotals& /*totals*/) { p.layer->ffn = 4 * p.layer->hidden; },
       .id = {.prefix = "ffn"},
       .is_of_tensors = true},
      {.name = "activation",
       .flag = "--activation",
       .help = "activation between the two products of the feed-forward network",
       .allowed = "gelu-tanh, gelu-erf, relu",
       .initial = "gelu-tanh",
       .parse = names_of_layer<Activation, 3>,
       .access = name_of_layer<&LayerShape::activation>(),
       .id = {.prefix = ""}},
      {.name = "norm",
       .flag = "--norm",
       .help = "LayerNorm after the residuals (post), or before both blocks (pre)",
       .allowed = "post, pre",
       .initial = "post",
       .parse = names_of_layer<NormPlace, 2>,
       .access = name_of_layer<&LayerShape::norm>(),
       .id = {.prefix = "norm-"}},
      {.name = "bias",
       .flag = "--bias",
       .help = "whether the four products have a bias",
       .allowed = "true, false, both",
       .initial = "true",
       .parse = booleans_of_layer,
       .access = number_of_layer<&LayerShape::bias>(),
       .id = {.prefix = "bias-", .usual = {true}},
       .is_of_tensors = true},
      {.name = "rest",
       .flag = "--rest",
       .help = "everything but the attention: one launch per operation, fused, or (only predicted, "
               "on emulated-v100) as eager PyTorch launches it",
       .allowed = "unfused, fused, eager",
       .initial = "unfused,fused",
       .parse = names_of_layer<Rest, 3>,
       .access = name_of_layer<&LayerShape::rest>(),
       .id = {.prefix = "rest-"}},
  };
}

bool is_shared(const Axis& axis) {
  return std::find(kSharedAxes.begin(), kSharedAxes.end(), axis.name) != kSharedAxes.end();
}

}  // namespace

std::span<const Axis* const> layer_axes() {
  static const std::vector<Axis> rows = make_layer_rows();
  static const std::vector<const Axis*> pointers = [] {
    std::vector<const Axis*> made;
    made.reserve(made.size() + rows.size());
    for (const Axis& row : rows) made.push_back(&row);
    return made;
  }();
  return pointers;
}

std::string allowed_of(const Axis& axis, Workload workload) {
  if (workload == Workload::kLayer && axis.name == std::string_view("kernel")) {
    return "names or globs: 'volta-*',unfused-fp16";
  }
  const bool has_patterns =
      workload == Workload::kAttention || axis.name != std::string_view("mask");
  return has_patterns ? axis.allowed : std::string(mask_forms());
}

std::vector<const Axis*> axes_of(Workload workload) {
  std::vector<const Axis*> chosen;
  for (const Axis& axis : axes()) {
    if (workload == Workload::kAttention || is_shared(axis)) chosen.push_back(&axis);
  }
  if (workload == Workload::kLayer) {
    chosen.insert(chosen.end(), layer_axes().begin(), layer_axes().end());
  }
  return chosen;
}

bool is_said_by_tensors(const Axis& axis, Workload workload) {
  if (workload == Workload::kLayer && axis.name == std::string_view("head_dim")) return false;
  return axis.is_of_tensors;
}

std::vector<const Axis*> problem_axes_of(Workload workload) {
  std::vector<const Axis*> all(problem_axes().begin(), problem_axes().end());
  if (workload == Workload::kLayer) {
    all.insert(all.end(), layer_axes().begin(), layer_axes().end());
  }
  return all;
}

}  // namespace sparkbench
