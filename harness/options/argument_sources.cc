#include "harness/options/argument_sources.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <optional>
#include <stdexcept>

#include "results/store/stored_run.h"
#include "sweeps/names.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

using Arguments = std::vector<std::string>;

/// Removes every `flag`, with its value, "--flag VALUE" or "--flag=VALUE". The last value, if any.
std::optional<std::string> take_value(Arguments& arguments, const std::string& flag) {
  std::optional<std::string> value;
  for (auto word = arguments.begin(); word != arguments.end();) {
    if (word->starts_with(flag + "=")) {
      value = word->substr(flag.size() + 1);
      word = arguments.erase(word);
    } else if (*word == flag && word + 1 != arguments.end()) {
      value = word[1];
      word = arguments.erase(word, word + 2);
    } else {
      ++word;
    }
  }
  return value;
}

RunRecord read_run_to_resume(const std::string& folder) {
  try {
    return read_stored_run(folder);
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("--resume: {}", error.what()));
  }
}

/// What began the run of `folder`, then `arguments`.
Arguments resume(const std::string& folder, const Arguments& arguments) {
  Arguments begun = read_run_to_resume(folder).run.argv;
  if (begun.size() < 2 || begun[1] != arguments[1]) {
    throw UsageError(fmt::format("--resume: '{}' was made by `sparkbench {}`", folder,
                                 begun.size() < 2 ? "?" : begun[1]));
  }
  for (const char* const flag : {"--out", "--resume", "--allow"}) take_value(begun, flag);
  std::erase(begun, "--retry-failed");
  std::erase_if(begun, [](const std::string& word) {
    return word == "-q" || word == "--quiet" || word.starts_with("--quiet=");
  });
  begun.insert(begun.end(), arguments.begin() + 2, arguments.end());
  return begun;
}

std::vector<CLI::ConfigItem> read_config(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw UsageError(fmt::format("--config: '{}' cannot be read", path));
  return CLI::ConfigTOML().from_config(file);
}

/// The names a key may have.
std::vector<std::string> keys_of(const CLI::App& command) {
  std::vector<std::string> keys;
  for (const CLI::Option* option : command.get_options()) {
    const bool is_hidden = option->get_group().empty();
    for (const std::string& name : option->get_lnames()) {
      if (!is_hidden && name != "help" && name != "config") keys.push_back(name);
    }
  }
  return keys;
}

/// Whether the item is for `command`: false for the table of another. Throws UsageError for a table
/// of none.
bool concerns(const CLI::ConfigItem& item, const CLI::App& program, const CLI::App& command,
              const std::string& path) {
  if (item.parents.empty()) return true;
  std::vector<std::string> known;
  for (const CLI::App* each : program.get_subcommands({})) known.push_back(each->get_name());
  const std::string table = item.parents.front();
  if (item.parents.size() > 1 || std::find(known.begin(), known.end(), table) == known.end()) {
    const std::string full_name = fmt::format("{}", fmt::join(item.parents, "."));
    throw UsageError(
        unknown_name_message(fmt::format("--config {}: table", path), full_name, known));
  }
  return table == command.get_name();
}

Arguments flags_of(const CLI::ConfigItem& item, const CLI::App& command, const std::string& path) {
  const std::vector<std::string> keys = keys_of(command);
  if (std::find(keys.begin(), keys.end(), item.name) == keys.end()) {
    throw UsageError(unknown_name_message(fmt::format("--config {}: key", path), item.name, keys));
  }
  const std::string flag = "--" + item.name;
  const CLI::Option& option = *command.get_option(flag);
  if (option.get_multi_option_policy() != CLI::MultiOptionPolicy::TakeAll) {
    return {fmt::format("{}={}", flag, fmt::join(item.inputs, ","))};
  }
  Arguments flags;
  for (const std::string& input : item.inputs) flags.push_back(fmt::format("{}={}", flag, input));
  return flags;
}

}  // namespace

std::vector<std::string> write_out_arguments(const CLI::App& program, const Arguments& typed) {
  if (typed.size() < 2) return typed;
  const auto commands =
      program.get_subcommands([&](const CLI::App* each) { return each->get_name() == typed[1]; });
  const bool is_worker = std::find(typed.begin(), typed.end(), "--worker") != typed.end();
  if (commands.empty() || is_worker) return typed;
  const CLI::App& command = *commands.front();
  if (command.get_option_no_throw("--config") == nullptr) return typed;
  Arguments arguments = typed;
  Arguments copy = typed;
  if (const auto folder = take_value(copy, "--resume")) arguments = resume(*folder, arguments);
  if (const auto path = take_value(arguments, "--config")) {
    Arguments flags;
    for (const CLI::ConfigItem& item : read_config(*path)) {
      const bool is_border_of_table = item.name == "++" || item.name == "--";
      if (!concerns(item, program, command, *path) || is_border_of_table) continue;
      for (std::string& flag : flags_of(item, command, *path)) flags.push_back(std::move(flag));
    }
    arguments.insert(arguments.begin() + 2, flags.begin(), flags.end());
  }
  return arguments;
}

}  // namespace sparkbench
