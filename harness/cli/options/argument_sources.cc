#include "harness/cli/options/argument_sources.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <optional>
#include <ostream>
#include <stdexcept>

#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "kernels/base/files/input_file.h"
#include "results/record/safe_text.h"
#include "results/store/stored_run.h"
#include "sweeps/names.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

using Arguments = std::vector<std::string>;

/// Removes every `flag` with its value, "--flag VALUE" or "--flag=VALUE". Returns the last value,
/// if any.
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

/// The author of run.json chose the paths in its flags. A file elsewhere is written only if the
/// user names it now.
void leave_out_files(const RunRecord& run, Arguments& begun, std::ostream& err) {
  for (const std::string flag : {"--json", "--csv", "--md", "--html", "--save-outputs"}) {
    const std::optional<std::string> file = take_value(begun, flag);
    if (!file) continue;
    err << fmt::format("--resume: '{}' is not written; to write it, give {} again\n",
                       one_line(*file), flag);
    const auto kernel = run.run.resolved.find("kernel");
    if (flag != "--save-outputs" || kernel == run.run.resolved.end()) continue;
    Arguments copy = begun;
    if (take_value(copy, "--kernel")) continue;
    begun.push_back("--kernel=" + kernel->second);  // it had chosen one
  }
  if (const auto file = take_value(begun, "--junit")) {
    err << fmt::format("--resume: '{}' is not written: --junit is no longer a flag\n",
                       one_line(*file));
  }
  std::erase_if(begun, [](const std::string& word) {
    return word == "--csv-all" || word.starts_with("--csv-all=");  // it belongs to --csv
  });
}

/// The arguments that began the run of `folder`, followed by `arguments`.
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

/// The names that a key may have.
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

std::vector<std::string> commands_of(const CLI::App& program) {
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

/// The place of an error: "--config sweep.toml, line 3".
std::string place_in(const std::string& path, const toml::source_region& source) {
  return fmt::format("--config {}, line {}", path, source.begin.line);
}

toml::table read_config(const std::string& path) {
  constexpr std::uint64_t kMostBytes = 1 << 20;
  try {
    return toml::parse(read_file(path, Pipes::kRead, kMostBytes));
  } catch (const toml::parse_error& error) {
    throw UsageError(
        fmt::format("{}: is not TOML: {}", place_in(path, error.source()), error.description()));
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("--config: '{}' {}", path, error.what()));
  }
}

/// A value in a flag's form; null unless it is a string, number or boolean.
std::optional<std::string> text_of(const toml::node& value) {
  if (const auto* text = value.as_string()) return text->get();
  if (const auto* number = value.as_integer()) return std::to_string(number->get());
  if (const auto* number = value.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* is_on = value.as_boolean()) return is_on->get() ? "true" : "false";
  return std::nullopt;
}

std::vector<std::string> texts_of(const toml::node& value, const std::string& place,
                                  const std::string& key) {
  std::vector<std::string> texts;
  const auto add = [&](const toml::node& one) {
    const auto text = text_of(one);
    if (!text) {
      throw UsageError(
          fmt::format("{}: key '{}' has a value that no flag takes; allowed: a string, a number, "
                      "true, false, or a list of these",
                      place, key));
    }
    texts.push_back(*text);
  };
  if (const auto* list = value.as_array()) {
    for (const toml::node& each : *list) add(each);
  } else {
    add(value);
  }
  return texts;
}

Arguments flags_of(const toml::key& key, const toml::node& value, const CLI::App& command,
                   const std::string& path) {
  const std::string name(key.str()), place = place_in(path, key.source());
  if (name == "resume") {
    throw UsageError(place + ": key: 'resume' is a flag of the command line alone; leave it out");
  }
  const std::vector<std::string> keys = keys_of(command);
  if (std::find(keys.begin(), keys.end(), name) == keys.end()) {
    throw UsageError(unknown_name_message(place + ": key", name, keys));
  }
  const std::vector<std::string> texts = texts_of(value, place, name);
  const std::string flag = "--" + name;
  const CLI::Option& option = *command.get_option(flag);
  if (option.get_multi_option_policy() != CLI::MultiOptionPolicy::TakeAll) {
    return {fmt::format("{}={}", flag, fmt::join(texts, ","))};
  }
  Arguments flags;
  for (const std::string& text : texts) flags.push_back(fmt::format("{}={}", flag, text));
  return flags;
}

/// The keys at the top, then those of the command's table, which take precedence.
Arguments configured_flags(const std::string& path, const CLI::App& program,
                           const CLI::App& command) {
  const toml::table config = read_config(path);
  Arguments flags;
  const auto add = [&](const toml::key& key, const toml::node& value) {
    for (std::string& flag : flags_of(key, value, command, path)) flags.push_back(std::move(flag));
  };
  const std::vector<std::string> known = commands_of(program);
  for (const auto& [key, value] : config) {
    if (!value.is_table()) {
      add(key, value);
    } else if (std::find(known.begin(), known.end(), key.str()) == known.end()) {
      throw UsageError(
          unknown_name_message(place_in(path, key.source()) + ": table", key.str(), known));
    }
  }
  if (const toml::table* const own = config[command.get_name()].as_table()) {
    for (const auto& [key, value] : *own) add(key, value);
  }
  return flags;
}

/// The arguments are part of the record, which is JSON. Text that is not UTF-8 could not be stored
/// there, and a resumed run would write to a file of another name.
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
    const Arguments flags = configured_flags(*path, program, command);
    arguments.insert(arguments.begin() + 2, flags.begin(), flags.end());
  }
  return arguments;
}

}  // namespace sparkbench
