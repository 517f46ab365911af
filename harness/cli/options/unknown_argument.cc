#include "harness/cli/options/unknown_argument.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <vector>

#include "kernels/meant_names.h"
#include "results/study/case_filter.h"

namespace sparkbench {
namespace {

/// A note on flags that users of other programs try.
struct FlagNote {
  std::string_view flag, note;
};
constexpr std::string_view kFp16Alone =
    "kernels take fp16 and give fp16, and there is nothing to choose; tensors of --tensors may be "
    "BF16 or F32, and are rounded";
constexpr FlagNote kNotes[] = {
    {"--dtype", kFp16Alone},
    {"--precision", kFp16Alone},
    {"--bf16", kFp16Alone},
    {"--fp16", kFp16Alone},
};

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_group().empty()) flags.push_back(option->get_name());
  }
  return flags;
}

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// "; encoder, accuracy and run take it", for a flag of other commands.
std::string commands_with(const CLI::App& program, const std::string& flag) {
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands({})) {
    if (has(flags_of(*command), flag)) names.push_back(command->get_name());
  }
  constexpr std::size_t kMost = 4;
  if (names.empty() || names.size() > kMost) return "";
  const std::string last = names.back();
  names.pop_back();
  return names.empty() ? fmt::format("; {} takes it", last)
                       : fmt::format("; {} and {} take it", fmt::join(names, ", "), last);
}

/// The --where condition that replaces an axis flag, in a command that shows stored cases.
std::string condition_for(const std::vector<std::string>& flags, const std::string& flag) {
  const std::string axis = flag.substr(std::min<std::size_t>(2, flag.size()));
  const bool is_axis = axis == "kernel" || axis == "device" || find_choosing_axis(axis) != nullptr;
  return is_axis && has(flags, "--where") && !has(flags, "--preset")
             ? fmt::format(", did you mean '--where {}=VALUE'?", axis)
             : "";
}

std::string hint_for(const CLI::App& program, const CLI::App& command, const std::string& word) {
  if (!word.starts_with('-')) return ": a value stands after its flag";
  const std::string flag = word.substr(0, word.find('='));
  for (const FlagNote& each : kNotes) {
    if (each.flag == flag) return fmt::format(": {}", each.note);
  }
  const std::vector<std::string> known = flags_of(command);
  if (std::string condition = condition_for(known, flag); !condition.empty()) return condition;
  if (const auto names = named_otherwise(flag, known); !names.empty()) return did_you_mean(names);
  const std::string others = commands_with(program, flag);
  return others.empty() ? did_you_mean(meant_names(flag, known)) : others;
}

}  // namespace

std::string unknown_argument_message(const CLI::App& program, const CLI::App& command,
                                     const std::string& word) {
  const std::string name =
      &command == &program ? program.get_name() : program.get_name() + " " + command.get_name();
  return fmt::format("{}: unknown '{}'{}; see {} --help", command.get_name(), word,
                     hint_for(program, command, word), name);
}

}  // namespace sparkbench
