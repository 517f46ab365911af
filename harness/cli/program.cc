#include "harness/cli/program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <exception>
#include <new>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "harness/build_info.h"
#include "harness/cli/options/argument_sources.h"
#include "harness/cli/options/table_options.h"
#include "harness/cli/standard_streams.h"
#include "harness/environment_error.h"
#include "kernels/base/meant_names.h"
#include "results/record/safe_text.h"
#include "results/store/output_file.h"
#include "results/study/case_filter.h"
#include "sweeps/names.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

/// A note on flags that users of other programs try.
struct FlagNote {
  std::string_view flag, note;
};
constexpr std::string_view kDtype =
    "sweep, run, judge and accuracy have --dtype fp16,bf16; other commands compute in fp16; "
    "tensors "
    "of --tensors may be F16, BF16 or F32, and are rounded";
constexpr FlagNote kNotes[] = {
    {"--dtype", kDtype},
    {"--precision", kDtype},
    {"--bf16", kDtype},
    {"--fp16", kDtype},
};

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_group().empty()) flags.push_back(option->get_name());
  }
  return flags;
}

bool is_among(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// "; encoder, accuracy and run take it", for a flag of other commands.
std::string commands_with(const CLI::App& program, const std::string& flag) {
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands({})) {
    if (is_among(flags_of(*command), flag)) names.push_back(command->get_name());
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
  return is_axis && is_among(flags, "--where") && !is_among(flags, "--preset")
             ? fmt::format(", did you mean '--where {}=VALUE'?", axis)
             : "";
}

std::string hint_for(const CLI::App& program, const CLI::App& command, const std::string& word) {
  if (!word.starts_with('-')) return ": a value stands after its flag";
  const std::string flag = word.substr(0, word.find('='));
  const std::vector<std::string> known = flags_of(command);
  if (std::string condition = condition_for(known, flag); !condition.empty()) return condition;
  for (const FlagNote& each : kNotes) {
    if (each.flag == flag) return fmt::format(": {}", each.note);
  }
  if (const auto names = named_otherwise(flag, known); !names.empty()) return did_you_mean(names);
  const std::string others = commands_with(program, flag);
  return others.empty() ? did_you_mean(meant_names(flag, known)) : others;
}

/// "sweep: unknown '--sequlen', did you mean '--seqlen'?; see sparkbench sweep --help". `command`
/// is `program` itself for a word before any command.
std::string unknown_argument_message(const CLI::App& program, const CLI::App& command,
                                     const std::string& word) {
  const std::string name =
      &command == &program ? program.get_name() : program.get_name() + " " + command.get_name();
  return fmt::format("{}: unknown '{}'{}; see {} --help", command.get_name(), word,
                     hint_for(program, command, word), name);
}

/// Replaces CLI11's "The following argument was not expected: swep" by the nearest command.
void check_command_name(const CLI::App& program, const std::vector<std::string>& argv) {
  if (argv.size() < 2 || argv[1].empty() || argv[1][0] == '-') return;
  std::vector<std::string> known;
  for (const CLI::App* command : program.get_subcommands({})) known.push_back(command->get_name());
  if (std::find(known.begin(), known.end(), argv[1]) == known.end()) {
    throw UsageError(unknown_name_message("command", argv[1], known));
  }
}

/// Replaces CLI11's "The following arguments were not expected: 64 --sequlen" by the nearest flag.
[[noreturn]] void refuse_argument(const CLI::App& program) {
  const CLI::App& chosen = *program.get_subcommands().front();
  const CLI::App& command = chosen.remaining().empty() ? program : chosen;
  throw UsageError(unknown_argument_message(program, command, command.remaining().front()));
}

void require_written(std::ostream& out) {
  if (!out.flush()) throw OutputError("standard output: could not be written");
}

/// An empty value usually comes from an unset shell variable; to ignore it would silently do
/// something else. CLI11 takes the next word as the value of "--flag=".
void refuse_empty_values(const std::vector<std::string>& argv) {
  for (std::size_t i = 1; i < argv.size(); ++i) {
    const std::string& word = argv[i];
    const bool is_flag = word.starts_with("--") && word.find('=') + 1 == word.size();
    if (!word.empty() && !is_flag) continue;
    const std::string& before = argv[i - 1];
    const std::string flag = is_flag                            ? word.substr(0, word.size() - 1)
                             : before.starts_with('-') && i > 1 ? before
                                                                : std::string("an argument");
    throw UsageError(flag + ": '' is empty; give a value, or leave it out");
  }
}

/// Replaces CLI11's "run is required" by RUN, the name in its help.
std::string parse_error_message(const std::string& command, std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  constexpr std::string_view kEnd = " is required";
  if (command.empty() || message.starts_with('-') || !message.ends_with(kEnd)) return message;
  message.resize(message.size() - kEnd.size());
  for (char& letter : message) letter = static_cast<char>(std::toupper(letter));
  return command + ": " + message + " is missing";
}

/// CLI11's codes for --help and --version are 0. We print its errors ourselves, in one line.
int report_parse_error(const CLI::App& program, const CLI::ParseError& error,
                       const Streams& streams) {
  if (error.get_exit_code() == 0) {
    const int code = program.exit(error, streams.out, streams.err);
    require_written(streams.out);
    return code;
  }
  const auto chosen = program.get_subcommands();
  const std::string command = chosen.empty() ? "" : chosen.front()->get_name();
  const std::string& name = program.get_name();
  streams.err << name << ": " << bounded(one_line(parse_error_message(command, error.what())))
              << "; see " << name << " " << command << (command.empty() ? "" : " ") << "--help\n";
  return static_cast<int>(ExitCode::kUsage);
}

void add_commands(CLI::App& program, const Invocation& invocation, Action& action) {
  add_sweep_command(program, invocation, action);
  add_encoder_command(program, invocation, action);
  add_accuracy_command(program, invocation, action);
  add_advise_command(program, invocation, action);
  add_judge_command(program, invocation, action);
  add_run_command(program, invocation, action);
  add_report_command(program, invocation, action);
  add_merge_command(program, invocation, action);
  add_diff_command(program, invocation, action);
  add_list_command(program, invocation, action);
  add_info_command(program, invocation, action);
  add_mask_command(program, invocation, action);
  add_check_arithmetic_command(program, invocation, action);
  add_completion_command(program, invocation, action);
}

int parse_and_run(const ProgramDescription& description, const std::vector<std::string>& typed,
                  const Streams& streams, const ProgramSettings& settings) {
  CLI::App program(description.summary, description.name);
  program.set_version_flag("--version", fmt::format("{} {}", description.name, kVersion));
  program.require_subcommand(1);
  Invocation invocation{typed,
                        streams,
                        settings.worker_executable,
                        settings.before_case,
                        settings.predictor,
                        settings.load_kernels,
                        settings.worker_arguments};
  Action action;
  description.add_commands(program, invocation, action);
  document_commands(program, description.docs, *table_view({}, streams.out).width);
  check_command_name(program, typed);
  refuse_empty_values(typed);
  const std::vector<std::string>& argv = invocation.argv =
      write_out_arguments(program, typed, streams.err);
  refuse_empty_values(argv);
  try {
    std::vector<std::string> reversed(argv.rbegin(), argv.rend() - 1);
    program.parse(std::move(reversed));
  } catch (const CLI::ExtrasError&) {
    refuse_argument(program);
  } catch (const CLI::ParseError& error) {
    return report_parse_error(program, error, streams);
  }
  const ExitCode code = action();
  require_written(streams.out);
  return static_cast<int>(code);
}

}  // namespace

int run_program(const ProgramDescription& description, const std::vector<std::string>& argv,
                std::ostream& out, std::ostream& err, const ProgramSettings& settings) {
  const auto fail = [&](const std::exception& error, ExitCode code) {
    err << description.name << ": " << bounded(one_line(error.what())) << '\n';
    return static_cast<int>(code);
  };
  reset_signals();
  try {
    return parse_and_run(description, argv, {out, err}, settings);
  } catch (const UsageError& error) {
    return fail(error, ExitCode::kUsage);
  } catch (const EnvironmentError& error) {
    return fail(error, ExitCode::kEnvironment);
  } catch (const OutputError& error) {
    return fail(error, ExitCode::kOutput);
  } catch (const std::bad_alloc&) {
    return fail(EnvironmentError("out of memory: this machine has too little for what was asked"),
                ExitCode::kEnvironment);
  } catch (const std::exception& error) {
    return fail(error, ExitCode::kIncomplete);
  }
}

int run_program(const std::vector<std::string>& argv, std::ostream& out, std::ostream& err,
                const ProgramSettings& settings) {
  const ProgramDescription sparkbench{
      "sparkbench", "How fast, how large and how wrong fused attention kernels are", command_docs(),
      add_commands};
  return run_program(sparkbench, argv, out, err, settings);
}

}  // namespace sparkbench
