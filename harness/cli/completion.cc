// sparkbench completion: a word list for each command and for each flag that takes names.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <ostream>
#include <regex>

#include "harness/candidates/known_candidates.h"
#include "harness/cli/command_docs.h"
#include "harness/cli/commands.h"
#include "harness/devices/device.h"
#include "kernels/registry.h"
#include "results/render/case_columns.h"
#include "results/study/case_filter.h"
#include "results/study/diff_text.h"
#include "sweeps/layer_axes.h"
#include "sweeps/names.h"
#include "sweeps/preset.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

using Names = std::vector<std::string>;

Names kernel_names() {
  Names names;
  for (const AttentionKernel& kernel : attention_kernels()) names.emplace_back(kernel.name);
  for (const auto& candidates : {std::span<const CandidateInfo>(kHostReferences),
                                 std::span<const CandidateInfo>(kGpuReferences),
                                 std::span<const CandidateInfo>(kVendorKernels)}) {
    for (const CandidateInfo& info : candidates) names.emplace_back(info.name);
  }
  return names;
}

Names preset_names() {
  Names names;
  for (const Workload workload : {Workload::kAttention, Workload::kLayer}) {
    for (const std::string& name : sparkbench::preset_names(workload)) names.push_back(name);
  }
  return names;
}

/// The names in "fwd, bwd, fwd+bwd"; none for prose.
Names names_in(const std::string& text) {
  static const std::regex list("[\\w+-]+(, [\\w+-]+)+");
  Names names;
  if (!std::regex_match(text, list)) return names;
  std::istringstream words(std::regex_replace(text, std::regex(","), ""));
  for (std::string word; words >> word;) names.push_back(word);
  return names;
}

/// Values of flags that all commands share, and of a command's own.
std::map<std::string, Names> names_by_flag() {
  std::map<std::string, Names> names = {{"--kernel", kernel_names()},
                                        {"--reference", kernel_names()},
                                        {"--preset", preset_names()},
                                        {"--device", device_names()},
                                        {"--columns", case_column_names()},
                                        {"diff --columns", diff_column_names()},
                                        {"--by", choosing_axes()},
                                        {"--where", {}},
                                        {"list --kernel", {}}};  // files
  for (const std::string& axis : choosing_axes()) names["--where"].push_back(axis + "=");
  for (const Axis* axis : axes_of(Workload::kLayer))
    names.emplace(axis->flag, names_in(axis->allowed));
  for (const Axis& axis : axes()) {
    names.emplace(axis.flag, names_in(axis.allowed));
    if (axis.shorthand.flag != nullptr) {
      names.emplace(axis.shorthand.flag, names_in(axis.shorthand.allowed));
    }
  }
  return names;
}

/// From "TEXT:{cold,hot}".
Names choices_in(const std::string& type_name) {
  const std::size_t open = type_name.find(":{"), close = type_name.rfind('}');
  if (open == std::string::npos || close == std::string::npos) return {};
  std::string list = type_name.substr(open + 2, close - open - 2);
  std::replace(list.begin(), list.end(), ',', ' ');
  Names names;
  std::istringstream words(list);
  for (std::string word; words >> word;) names.push_back(word);
  return names;
}

struct Completed {
  std::string flags;                          // of a command
  std::map<std::string, std::string> values;  // of each flag that takes names
};

Completed complete(const CLI::App& command) {
  static const std::map<std::string, Names> known = names_by_flag();
  Completed completed;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) {
      const std::string flag = "--" + name;
      completed.flags += (completed.flags.empty() ? "" : " ") + flag;
      Names names = choices_in(option->get_type_name());
      auto found = known.find(command.get_name() + " " + flag);
      if (found == known.end()) found = known.find(flag);
      if (names.empty() && found != known.end()) names = found->second;
      if (!names.empty() && option->get_items_expected_max() != 0) {
        completed.values[flag] = fmt::format("{}", fmt::join(names, " "));
      }
    }
  }
  return completed;
}

std::string offer(const std::string& words) {
  return fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$current\"))", words);
}

/// The script for bash to source: commands, their flags, and the values of flags that take names.
std::string bash_completion(const CLI::App& program) {
  std::string values, flags, commands;
  for (const CommandDoc& doc : command_docs()) {
    const Completed completed = complete(*program.get_subcommand(doc.name));
    for (const auto& [flag, names] : completed.values) {
      values += fmt::format("    '{} {}') {}; return ;;\n", doc.name, flag, offer(names));
    }
    flags += fmt::format("      {}) {} ;;\n", doc.name, offer(completed.flags));
    commands += std::string(commands.empty() ? "" : " ") + doc.name;
  }
  return fmt::format(
      "# source <(sparkbench completion bash)\n"
      "_sparkbench() {{\n"
      "  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}}\n"
      "  local command=${{COMP_WORDS[1]}}\n"
      "  if ((COMP_CWORD == 1)); then {}; return; fi\n"
      "  if [[ $previous == --kernel && $current == */* ]]; then previous=; fi  # a library\n"
      "  case \"$command $previous\" in\n{}  esac\n"
      "  if [[ $current == -* ]]; then\n    case $command in\n{}    esac\n"
      "  elif [[ $command == completion ]]; then\n    {}\n"
      "  else\n    COMPREPLY=($(compgen -f -- \"$current\")); compopt -o filenames\n  fi\n"
      "}}\n"
      "complete -F _sparkbench sparkbench\n",
      offer(commands), values, flags, offer("bash"));
}

}  // namespace

void add_completion_command(CLI::App& program, const Invocation& invocation, Action& action) {
  CLI::App* command = program.add_subcommand("completion");
  const auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "bash")->required()->type_name("");
  command->callback([shell, &program, &invocation, &action] {
    const std::vector<std::string> known = {"bash"};
    if (*shell != known[0]) throw UsageError(unknown_name_message("completion", *shell, known));
    action = [&program, &invocation] {
      invocation.streams.out << bash_completion(program);
      return ExitCode::kOk;
    };
  });
}

}  // namespace sparkbench
