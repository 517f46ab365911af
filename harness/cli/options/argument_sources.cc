#include "harness/cli/options/argument_sources.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <optional>
#include <ostream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "kernels/files/input_file.h"
#include "results/record/safe_text.h"
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
    return read_run_head(folder);
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("--resume: {}", error.what()));
  }
}

/// Whoever wrote run.json chose where its flags write: a file elsewhere is written for those alone
/// who name it now.
void leave_out_files(const RunRecord& run, Arguments& begun, std::ostream& err) {
  for (const std::string flag : {"--json", "--csv", "--md", "--html", "--save-outputs"}) {
    const std::optional<std::string> file = take_value(begun, flag);
    if (!file) continue;
    err << fmt::format("--resume: '{}' is not written; to write it, give {} again\n",
                       one_line(*file), flag);
    const auto kernel = run.run.resolved.find("kernel");
    if (flag != "--save-outputs" || kernel == run.run.resolved.end()) continue;
    begun.push_back("--kernel=" + kernel->second);  // it had chosen one
  }
  if (const auto file = take_value(begun, "--junit")) {
    err << fmt::format("--resume: '{}' is not written: --junit is no longer a flag\n",
                       one_line(*file));
  }
  std::erase_if(begun, [](const std::string& word) {
    return word == "--csv-all" || word.starts_with("--csv-all=");  // which goes with --csv
  });
}

/// What began the run of `folder`, then `arguments`.
Arguments resume(const std::string& folder, const Arguments& arguments, std::ostream& err) {
  const RunRecord run = read_run_to_resume(folder);
  Arguments begun = run.run.argv;
  if (begun.size() < 2 || begun[1] != arguments[1]) {
    throw UsageError(fmt::format("--resume: '{}' was made by `sparkbench {}`", folder,
                                 begun.size() < 2 ? "?" : begun[1]));
  }
  for (const char* const flag : {"--out", "--resume", "--allow"}) take_value(begun, flag);
  for (const char* const flag : {"--retry-failed", "--salvage"}) std::erase(begun, flag);
  if (take_value(begun, "--worker") || take_value(begun, "--config")) {
    throw UsageError(
        fmt::format("--resume: '{}' has flags in its run.json that no run has", folder));
  }
  leave_out_files(run, begun, err);
  std::erase_if(begun, [](const std::string& word) {
    return word == "-q" || word == "--quiet" || word.starts_with("--quiet=");
  });
  begun.insert(begun.end(), arguments.begin() + 2, arguments.end());
  return begun;
}

/// How many brackets `line` leaves open, outside of quotes and comments.
int open_brackets(std::string_view line) {
  int open = 0;
  char quote = 0;
  for (const char character : line) {
    if (quote != 0) {
      if (character == quote) quote = 0;
    } else if (character == '"' || character == '\'') {
      quote = character;
    } else if (character == '#') {
      break;
    } else {
      open += character == '[' ? 1 : character == ']' ? -1 : 0;
    }
  }
  return open;
}

std::string_view trimmed_key(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\"'");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\"'") - begin + 1);
}

/// Throws std::invalid_argument for a key that a table has twice: CLI11 would join the values or
/// take the last, TOML has neither.
void require_single_keys(const std::string& text) {
  std::set<std::string> keys;
  std::string table;
  std::istringstream lines(text);
  int depth = 0;
  for (std::string line; std::getline(lines, line);) {
    const bool is_inside_array = depth > 0;
    const std::string_view content = trimmed_key(line);
    depth += open_brackets(line);
    if (is_inside_array || content.empty() || content.front() == '#') continue;
    if (content.front() == '[') {
      table = content.substr(0, content.find(']') + 1);
      continue;
    }
    const std::string key(trimmed_key(content.substr(0, content.find('='))));
    if (!keys.insert(table + key).second) {
      throw std::invalid_argument(fmt::format("has the key '{}' twice; give it once", key));
    }
  }
}

std::vector<CLI::ConfigItem> read_config(const std::string& path) {
  constexpr std::uint64_t kMostBytes = 1 << 20;
  try {
    const std::string text = read_file(path, Pipes::kRead, kMostBytes);
    require_single_keys(text);
    std::istringstream stream(text);
    return CLI::ConfigTOML().from_config(stream);
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("--config: '{}' {}", path, error.what()));
  }
}

/// The names a key may have.
std::vector<std::string> keys_of(const CLI::App& command) {
  std::vector<std::string> keys;
  for (const CLI::Option* option : command.get_options()) {
    const bool is_hidden = option->get_group().empty();
    for (const std::string& name : option->get_lnames()) {
      if (!is_hidden && name != "help" && name != "config" && name != "resume") {
        keys.push_back(name);
      }
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
  if (item.name == "resume") {
    throw UsageError(fmt::format(
        "--config {}: key: 'resume' is a flag of the command line alone; leave it out", path));
  }
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

/// The arguments are part of the record, which is JSON: there they could not be what they are, and
/// a resumed run would write to a file of another name.
void require_utf8(const Arguments& arguments) {
  for (const std::string& word : arguments) {
    if (is_utf8(word)) continue;
    throw UsageError(
        fmt::format("'{}': is not UTF-8, which a record cannot hold; allowed: text and "
                    "paths in UTF-8",
                    printable(word)));
  }
}

}  // namespace

std::vector<std::string> write_out_arguments(const CLI::App& program, const Arguments& typed,
                                             std::ostream& err) {
  if (typed.size() < 2) return typed;
  const auto commands =
      program.get_subcommands([&](const CLI::App* each) { return each->get_name() == typed[1]; });
  const bool is_worker = std::find(typed.begin(), typed.end(), "--worker") != typed.end();
  if (commands.empty() || is_worker) return typed;
  const CLI::App& command = *commands.front();
  if (command.get_option_no_throw("--config") == nullptr) return typed;
  require_utf8(typed);
  Arguments arguments = typed;
  Arguments copy = typed;
  if (const auto folder = take_value(copy, "--resume")) {
    arguments = resume(*folder, arguments, err);
  }
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
