#include "harness/plan/planned_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <span>
#include <type_traits>
#include <utility>

#include "harness/candidates/known_candidates.h"
#include "harness/cli/options/one_problem.h"
#include "harness/devices/environment.h"
#include "harness/model/predictor.h"
#include "harness/plugin/plugin_kernel.h"
#include "harness/plugin/plugin_layer.h"
#include "harness/run/run_files.h"
#include "results/record/case_id.h"
#include "results/record/provenance.h"
#include "results/record/record_fields.h"
#include "sweeps/list_flag.h"
#include "sweeps/names.h"
#include "sweeps/preset.h"
#include "sweeps/usage_error.h"
#include "sweeps/work.h"

namespace sparkbench {
namespace {

/// Without kernels for other devices if the item names a whole library with some for this one, and
/// without those that are here under the same name for this one.
std::vector<CheckedKernel> kernels_for(const Device& device, const std::string& item,
                                       std::vector<CheckedKernel> kernels) {
  const int32_t backend = gpu_index(device) ? SPARKBENCH_CUDA : SPARKBENCH_HOST;
  std::set<std::string> here;
  for (const CheckedKernel& kernel : kernels) {
    if (kernel.table.backend == backend) here.insert(kernel.name);
  }
  const auto is_wanted = [&](const CheckedKernel& kernel) {
    if (kernel.table.backend == backend) return true;
    return kernel.spec == item && !here.contains(kernel.name);
  };
  if (std::ranges::any_of(kernels, is_wanted)) std::erase_if(kernels, std::not_fn(is_wanted));
  return kernels;
}

/// Those that compute what the command measures. Throws UsageError if none does.
std::vector<CheckedKernel> kernels_of(Workload workload, const std::string& item,
                                      const std::vector<ForeignKernel>& kernels) {
  const bool are_layers = workload == Workload::kLayer;
  std::vector<CheckedKernel> checked = checked_kernels(item, kernels);
  std::erase_if(checked, [&](const CheckedKernel& kernel) {
    return (kernel.table.computes_layers != 0) != are_layers;
  });
  if (!checked.empty()) return checked;
  throw UsageError(
      are_layers
          ? fmt::format("--kernel: '{}' computes attention by itself; allowed: kernels that "
                        "compute whole layers (computes_layers), and sparkbench's own",
                        item)
          : fmt::format("--kernel: '{}' computes whole layers; allowed: sparkbench encoder", item));
}

std::unique_ptr<const Candidate> made_of(CheckedKernel kernel, const Device& device,
                                         bool is_deterministic) {
  const auto make = [&]<class Kind>(std::type_identity<Kind>) {
    return std::make_unique<Kind>(std::move(kernel), device.info(), gpu_index(device),
                                  is_deterministic);
  };
  if (kernel.table.computes_layers != 0) return make(std::type_identity<PluginLayer>());
  return make(std::type_identity<PluginKernel>());
}

/// Gives the kernels that an item of --kernel stands for to the device. Returns their names.
/// Throws UsageError for a kernel with the name of another item's.
std::vector<std::string> take_kernels(const std::string& item,
                                      const std::vector<ForeignKernel>& kernels,
                                      const SweepOptions& options, Device& device) {
  std::vector<std::string> names;
  const bool is_deterministic = *options.method.deterministic;
  for (CheckedKernel& kernel :
       kernels_for(device, item, kernels_of(options.workload, item, kernels))) {
    const std::string name = kernel.name, spec = kernel.spec;
    names.push_back(name);
    const auto candidates = device.candidates();
    const auto known = std::ranges::find_if(
        candidates, [&](const auto& candidate) { return candidate->name() == name; });
    if (known == candidates.end()) {
      device.add_candidate(made_of(std::move(kernel), device, is_deterministic));
    } else if ((*known)->flag_item() != spec) {
      throw UsageError(fmt::format(
          "--kernel: '{}': another kernel is called '{}': {}; give one of them another name", item,
          name, (*known)->flag_item()));
    }
  }
  return names;
}

/// Loads what --kernel names and sparkbench does not have, and puts the kernels' names in its
/// place.
void load_foreign_kernels(const SweepRequest& request, Device& device, SweepOptions& options) {
  const auto given = options.axes.find("--kernel");
  if (given == options.axes.end()) return;
  std::vector<std::string> names;
  for (const std::string_view each : split_list("--kernel", given->second)) {
    const std::string item(each);
    const auto kernels = request.load_kernels(item);
    if (!kernels) {
      names.push_back(item);
      continue;
    }
    for (std::string& name : take_kernels(item, *kernels, options, device)) {
      names.push_back(std::move(name));
    }
  }
  given->second = fmt::format("{}", fmt::join(names, ","));
}

/// Throws UsageError for a known name that is missing on this device or machine.
void check_are_here(const AxisFlags& flags, const std::vector<std::string>& known,
                    const Device& device) {
  const auto globs = flags.find("--kernel");
  if (globs == flags.end()) return;
  const auto refuse = [&](std::string_view glob, std::span<const CandidateInfo> candidates) {
    for (const CandidateInfo& info : candidates) {
      if (!glob_matches(glob, info.name)) continue;
      throw UsageError(fmt::format("--kernel: '{}': {} does not run on {} here ({}); allowed: {}",
                                   glob, info.name, device.name(), info.summary,
                                   fmt::join(known, ", ")));
    }
  };
  for (const std::string_view glob : split_list("--kernel", globs->second)) {
    if (std::any_of(known.begin(), known.end(),
                    [&](const std::string& name) { return glob_matches(glob, name); })) {
      continue;
    }
    refuse(glob, kHostReferences);
    refuse(glob, kGpuReferences);
    refuse(glob, kVendorKernels);
  }
}

/// Throws UsageError for a backward pass with tensors that lack the incoming gradient.
void require_gradient(const std::vector<SweepCase>& cases, const OwnInputs& own) {
  const char* const missing = own.missing_gradient();
  if (missing == nullptr || !has_backward(cases)) return;
  throw UsageError(fmt::format("--tensors: '{}' has no tensor '{}', which a backward pass needs",
                               own.path, missing));
}

/// The names that --kernel may use or, without --kernel, the chosen kernels.
std::vector<std::string> known_kernels(const AxisFlags& flags, const Device& device) {
  const auto globs = flags.find("--kernel");
  const bool is_named = globs != flags.end() && globs->second != "*";
  std::vector<std::string> known;
  for (const auto& candidate : device.candidates()) {
    if (is_named || candidate->runs_unnamed()) known.push_back(candidate->name());
  }
  return known;
}

/// On a GPU with the baseline, and the fused kernels that run there if none is named.
Comparison comparison_on(const Device& device) {
  Comparison comparison;
  comparison.is_timed = device.info().kind == DeviceKind::kGpu;
  for (const auto& candidate : device.candidates()) {
    const bool is_check = candidate->role() == Role::kReference && !candidate->accumulator();
    if (candidate->runs_unnamed() && !is_check) comparison.rivals.push_back(candidate->name());
  }
  return comparison;
}

/// Keeps the first of equal cases: a flag may override the axis in which two models differ.
void drop_repeated(std::vector<SweepCase>& cases) {
  std::set<std::string> ids;
  std::erase_if(cases, [&](const SweepCase& each) {
    return !ids.insert(make_case_id(each.kernel, each.problem)).second;
  });
}

std::vector<SweepCase> expand(const SweepOptions& options, const Device& device,
                              const OwnInputs* own) {
  const std::vector<std::string> known = known_kernels(options.axes, device);
  AxisFlags flags = options.axes;
  const bool saves = !options.files.outputs.empty();
  if (saves && !flags.contains("--kernel")) flags["--kernel"] = kernel_to_save(device);
  check_are_here(flags, known, device);
  if (own != nullptr) {
    for (const auto& [flag, value] : own->extents()) flags[flag] = value;
  }
  std::vector<SweepCase> cases =
      expand_preset(find_preset(options.preset, options.workload), flags, known, options.workload,
                    options.seed, comparison_on(device));
  drop_repeated(cases);
  if (own != nullptr) require_gradient(cases, *own);
  require_one_problem(cases, options);
  if (saves) check_savable(cases, device);
  return cases;
}

bool is_eager_layer(const SweepCase& each) {
  return each.problem.layer && each.problem.layer->rest == Rest::kEager;
}

/// Throws UsageError for eager layers on a device that they are not predicted for, and for a
/// software factor without any.
void check_eager_layers(const std::vector<SweepCase>& cases, const SweepOptions& options,
                        const Device& device) {
  if (std::ranges::none_of(cases, is_eager_layer)) {
    if (options.software_factor.empty()) return;
    throw UsageError(
        "--software-factor: it multiplies what PyTorch launches in an eager layer, and no case is "
        "one; allowed: with --rest eager");
  }
  if (is_emulated_v100(device.info())) return;
  throw UsageError(fmt::format(
      "--rest: eager layers are only predicted, for emulated-v100; allowed on {}: unfused, fused; "
      "PyTorch's own: python -m sparkbench encoder --kernel 'peers:torch-eager-*' --rest unfused",
      device.name()));
}

/// "normal,uniform", without duplicates.
std::string inputs_of(const std::vector<SweepCase>& cases) {
  std::vector<std::string> inputs;
  for (const SweepCase& each : cases) {
    const std::string& input = each.problem.input.value();
    if (std::find(inputs.begin(), inputs.end(), input) == inputs.end()) inputs.push_back(input);
  }
  return fmt::format("{}", fmt::join(inputs, ","));
}

/// `is_timed`: whether the command measures time if the device can.
RunSettings make_run_settings(const SweepOptions& options, const Device& device, bool is_timed,
                              const std::vector<SweepCase>& cases,
                              std::shared_ptr<const OwnInputs> own) {
  RunSettings settings;
  settings.input.seed = options.seed;
  settings.is_deterministic = *options.method.deterministic;
  settings.is_verified = !options.skips_verification && !options.is_profiled;
  settings.is_profiled = options.is_profiled;

  Method& method = settings.method = options.method;
  method.flop_convention = kFlopConvention;
  if (own == nullptr) {
    method.input = inputs_of(cases);
  } else {
    method.input = "tensors";
    method.input_file = std::filesystem::path(own->path).filename().string();
    method.input_hash = own->hash;
    settings.own = std::move(own);
  }
  if (!has_backward(cases)) method.deterministic.reset();
  if (!settings.is_verified) {
    method.oracle.reset();
    method.tolerance_ratio.reset();
  }
  if (options.is_in_process) method.timeout_s.reset();
  if (method.cache == "cold") method.flush_bytes = 2 * device.info().l2_bytes.value_or(0);
  const bool has_clock = device.info().kind == DeviceKind::kGpu;
  if (!is_timed || options.is_profiled || !has_clock) leave_untimed(method);
  return settings;
}

/// In the form of --kernel; presets choose none.
std::string kernels_asked_for(const SweepOptions& options, const Device& device) {
  const auto given = options.axes.find("--kernel");
  if (given != options.axes.end()) return given->second;
  return options.files.outputs.empty() ? "*" : kernel_to_save(device);
}

/// Fields of the method that a flag of this name sets.
constexpr std::string_view kMethodFlags[] = {"cache",        "min_samples", "min_seconds",
                                             "max_noise",    "duty_cycle",  "tolerance_ratio",
                                             "deterministic"};

std::map<std::string, std::string> resolve(const SweepOptions& options, const Device& device,
                                           const Method& method) {
  std::map<std::string, std::string> resolved = {
      {"kernel", kernels_asked_for(options, device)},
      {"device", device.name()},
      {"seed", std::to_string(options.seed)},
      {"input", method.input},
      {"verify", options.skips_verification ? "false" : "true"},
      {"timeout", fmt::format("{}", *options.method.timeout_s)},
  };
  visit_fields(options.method, [&](const char* name, const auto& field) {
    if (std::ranges::find(kMethodFlags, name) == std::end(kMethodFlags)) return;
    if constexpr (IsOptional<std::remove_cvref_t<decltype(field)>>::value) {
      resolved[name] = fmt::format("{}", *field);
    }
  });
  if (!options.preset.empty()) resolved["preset"] = options.preset;
  if (!options.tensors_file.empty()) resolved["tensors"] = options.tensors_file;
  if (!options.software_factor.empty()) resolved["software_factor"] = options.software_factor;
  if (!options.files.outputs.empty()) resolved["save_outputs"] = options.files.outputs;
  if (!options.shard.empty()) resolved["shard"] = options.shard;
  return resolved;
}

}  // namespace

PlannedSweep::PlannedSweep(const SweepRequest& request, const std::string& device_name) {
  SweepOptions options = request.options;
  std::shared_ptr<const OwnInputs> own;
  if (!options.tensors_file.empty()) own = read_own_inputs(options.workload, options.tensors_file);
  device_ = open_device(device_name);
  load_foreign_kernels(request, *device_, options);
  const std::vector<SweepCase> cases = expand(options, *device_, own.get());
  check_eager_layers(cases, options, *device_);
  RunSettings settings =
      make_run_settings(options, *device_, request.is_timed, cases, std::move(own));
  settings.keeps_outputs = !options.files.outputs.empty();
  settings.before_case = request.before_case;
  settings.times_parts = request.times_parts;
  settings.predictor = request.is_timed ? request.predictor : nullptr;
  if (!options.software_factor.empty()) {
    settings.software = parse_software_factor(options.software_factor);
  }
  plan_.build = describe_build();
  plan_.environment = describe_environment(*device_);
  plan_.method = settings.method;
  plan_.run.seed = options.seed;
  plan_.run.resolved = resolve(options, *device_, settings.method);
  runner_ = std::make_unique<CaseRunner>(*device_, std::move(settings));
  std::string ids;
  for (const SweepCase& sweep_case : cases) {
    plan_.cases.push_back(runner_->begin(sweep_case));
    ids += plan_.cases.back().id + "\n";
    plan_.cases.back().position = plan_.cases.size() - 1;
    plan_.cases.back().provenance = provenance_of(plan_);
  }
  plan_.run.resolved[kGrid] = to_hex(fnv1a(ids));
}

namespace {

struct Shard {
  int index = 1;  // from 1
  int count = 1;
};

Shard parse_shard(const std::string& text) {
  if (text.empty()) return {};
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) {
    throw UsageError(fmt::format("--shard: '{}' is not I/N; allowed: 1/8 to 8/8, say", text));
  }
  const Shard shard{parse_extent("--shard", text.substr(0, slash)),
                    parse_extent("--shard", text.substr(slash + 1))};
  if (shard.index > shard.count) {
    throw UsageError(fmt::format("--shard: there is no part {} of {}; allowed: 1/{} to {}/{}",
                                 shard.index, shard.count, shard.count, shard.count, shard.count));
  }
  return shard;
}

}  // namespace

std::vector<std::size_t> positions_of_shard(const std::vector<CaseRecord>& cases,
                                            const std::string& shard) {
  const auto [index, count] = parse_shard(shard);
  std::vector<std::size_t> positions;
  std::string problem;
  int turn = count;  // the shard that gets the problem, from 1
  for (std::size_t position = 0; position < cases.size(); ++position) {
    const std::string key = make_problem_key(cases[position].problem);
    if (key != problem) turn = turn % count + 1;
    problem = key;
    if (turn == index) positions.push_back(position);
  }
  return positions;
}

}  // namespace sparkbench
