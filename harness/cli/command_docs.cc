#include "harness/cli/command_docs.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>

#include "results/render/broken_text.h"

namespace sparkbench {
namespace {

/// The option's value in help: "INT in [1 - 100]", "{cold,hot}", and "LIST" for a long list of
/// names, which is in its description.
std::string shown_type(const CLI::Option& option) {
  constexpr std::size_t kMostCharacters = 48;
  std::string type = option.get_type_name();
  const std::size_t colon = type.find(':');
  if (colon == std::string::npos) return type;
  std::string allowed = type.substr(colon + 1);
  return allowed.size() > kMostCharacters ? "LIST" : allowed;
}

/// Like CLI11's own, with descriptions wrapped at `width` characters.
class WrappedHelp : public CLI::Formatter {
 public:
  explicit WrappedHelp(int width) : width_(width) {}

  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_description(const CLI::App* command) const override;
  std::string make_subcommand(const CLI::App* command) const override;

  /// Wraps text for the space next to names of `column` characters.
  std::string filled(const std::string& text, std::size_t column) const;

 private:
  int width_;
};

std::string WrappedHelp::filled(const std::string& text, std::size_t column) const {
  constexpr int kLeastColumn = 20;
  const int room = std::max(kLeastColumn, width_ - static_cast<int>(column));
  return fmt::format("{}", fmt::join(broken(text, room, 0, Words::kWhole), "\n"));
}

std::string WrappedHelp::make_option_opts(const CLI::Option* option) const {
  std::string text;
  if (option->get_type_size() != 0) {
    const std::string type = shown_type(*option);
    if (!type.empty()) text += " " + type;
    const bool goes_on = option->get_allow_extra_args() || option->get_positional();
    const bool is_list = option->get_expected_max() == CLI::detail::expected_max_vector_size;
    if (is_list && goes_on) text += " ...";
    if (option->get_required()) text += " REQUIRED";
  }
  const auto add = [&](const char* word, const std::set<CLI::Option*>& others) {
    if (!others.empty()) text += std::string(" ") + word + ":";
    for (const CLI::Option* other : others) text += " " + other->get_name();
  };
  add("Needs", option->get_needs());
  add("Excludes", option->get_excludes());
  return text;
}

std::string WrappedHelp::make_option_desc(const CLI::Option* option) const {
  const std::string initial = option->get_default_str();
  return filled(option->get_description() + (initial.empty() ? "" : " [" + initial + "]"),
                get_column_width());
}

std::string WrappedHelp::make_description(const CLI::App* command) const {
  return filled(command->get_description(), 0) + "\n";
}

std::string WrappedHelp::make_subcommand(const CLI::App* command) const {
  std::ostringstream out;
  CLI::detail::format_help(out, command->get_display_name(true),
                           filled(command->get_description(), get_column_width()),
                           get_column_width());
  return out.str();
}

/// exit_code.h
constexpr const char* kExitStatus =
    "Exit status: 0 no error; 1 an incorrect result or a difference; 2 usage error, or a named "
    "kernel never ran; 3 no such device; 4 a case failed; 5 an output was not written; 130 "
    "interrupted.";

}  // namespace

std::span<const CommandDoc> command_docs() {
  static const std::vector<CommandDoc> docs = {
      {"sweep",
       "verifies every case of a grid, and times it on a GPU",
       {"sparkbench sweep --preset paper-forward --out runs/today",
        "sparkbench sweep --pass fwd,bwd --headdim 64,128 --seqlen 512:4k:*2 --mask causal",
        "sparkbench sweep --resume runs/today --retry-failed"}},
      {"encoder",
       "a whole encoder layer: verified and timed on a GPU, predicted for a V100",
       {"sparkbench encoder --preset paper-encoder",
        "sparkbench encoder --hidden 128 --seqlen 64 --batch 1 --rest fused",
        "sparkbench encoder --lengths uniform:1:2k --batch 16 --mask causal --pass fwd,fwd+bwd"}},
      {"accuracy",
       "compares the errors of FP16-ACC, FP32-ACC and unfused fp16, metric by metric",
       {"sparkbench accuracy --preset paper-accuracy --json accuracy.json",
        "sparkbench accuracy --seqlen 128,512 --by mask"}},
      {"advise",
       "says which kernel to use for one problem: time, memory, error, and how to switch",
       {"sparkbench advise --headdim 64 --seqlen 4k --mask causal --dropout 0.1 --train",
        "sparkbench advise --headdim 128 --seqlen 8k --heads 32 --heads-k 8 --figure advice.svg"}},
      {"judge",
       "says whether a kernel is right, which cases are wrong, and how it compares",
       {"sparkbench judge --kernel volta-fp32acc",
        "sparkbench judge --kernel ./libmine.so:fast --html judgement.html"}},
      {"run",
       "reports everything known about each kernel on one problem",
       {"sparkbench run --kernel volta-fp32acc --seqlen 512 --causal true"}},
      {"report",
       "prints a stored run, and writes its files again",
       {"sparkbench report runs/today --where mask=causal --by headdim",
        "sparkbench report runs/today --columns kernel,seqlen_q,time_ms,noise",
        "sparkbench report runs/today --reference cublas-fp16 --html today.html"}},
      {"diff",
       "compares two stored runs, case by case",
       {"sparkbench diff runs/monday runs/tuesday --json diff.json",
        "sparkbench diff runs/monday runs/tuesday --all --columns time,verdict"}},
      {"merge", "joins several runs into one", {"sparkbench merge part-1 part-2 -o whole"}},
      {"list",
       "names kernels, devices, presets and axes; --json",
       {"sparkbench list", "sparkbench list --json"}},
      {"info",
       "describes device, build and machine; --json; --check: whether it is fit to measure on",
       {"sparkbench info --check"}},
      {"mask",
       "draws a pattern, counts its pairs and tiles; --output SVG, text; --json",
       {"sparkbench mask causal-chunk:64 --seqlen 512",
        "sparkbench mask sink:4+window:128/full --seqlen 1k --output mask.svg"}},
      {"check-arithmetic",
       "compares the emulated arithmetic with recordings or with a GPU",
       {"sparkbench check-arithmetic --profile volta --vectors v100.csv"}},
      {"completion",
       "prints a script that completes commands, flags and names in bash",
       {"source <(sparkbench completion bash)"}},
  };
  return docs;
}

void document_commands(CLI::App& program, std::span<const CommandDoc> docs, int width) {
  const auto help = std::make_shared<WrappedHelp>(width);
  program.formatter(help);
  for (CLI::App* command : program.get_subcommands({})) {
    const auto doc = std::find_if(docs.begin(), docs.end(), [&](const CommandDoc& each) {
      return each.name == command->get_name();
    });
    if (doc == docs.end()) {
      throw std::logic_error(command->get_name() + " is not documented");
    }
    command->formatter(help);
    command->description(doc->summary);
    command->footer(fmt::format("{}\n\nExamples:\n  {}", help->filled(kExitStatus, 0),
                                fmt::join(doc->examples, "\n  ")));
  }
  program.footer(fmt::format("`{} COMMAND --help` has the flags and examples of a command.",
                             program.get_name()));
}

}  // namespace sparkbench
