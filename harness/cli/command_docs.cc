#include "harness/cli/command_docs.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <stdexcept>

#include "harness/cli/help_format.h"

namespace sparkbench {

std::span<const CommandDoc> command_docs() {
  static const std::vector<CommandDoc> docs = {
      {"sweep",
       "verifies every case of a grid, and times it where there is a GPU",
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
      {"run",
       "tells all that is known of each kernel on one problem",
       {"sparkbench run --kernel volta-fp32acc --seqlen 512 --causal true"}},
      {"report",
       "prints a stored run, and writes its files anew",
       {"sparkbench report runs/today --where mask=causal --by headdim",
        "sparkbench report runs/today --columns kernel,seqlen_q,time_ms,noise",
        "sparkbench report runs/today --reference cublas-fp16 --html today.html"}},
      {"diff",
       "compares two stored runs, case by case",
       {"sparkbench diff runs/monday runs/tuesday --json diff.json",
        "sparkbench diff runs/monday runs/tuesday --all --columns time,verdict"}},
      {"merge", "makes one run of several", {"sparkbench merge part-1 part-2 -o whole"}},
      {"list",
       "names kernels, devices, presets and axes; --json",
       {"sparkbench list", "sparkbench list --json"}},
      {"info",
       "describes device, build and machine; --json; --check: is it fit to measure on",
       {"sparkbench info --check"}},
      {"mask",
       "draws a pattern, counts its pairs and tiles; --output SVG, text; --json",
       {"sparkbench mask causal-chunk:64 --seqlen 512",
        "sparkbench mask sink:4+window:128/full --seqlen 1k --output mask.svg"}},
      {"inspect",
       "reads the kernels' machine code: registers, occupancy, main loops, which gates hold",
       {"sparkbench inspect --kernel 'volta-fp32acc/fwd/*'",
        "sparkbench inspect --columns registers,stack_B,threads"}},
      {"predict",
       "says how many cycles machine code for sm_70 takes on a V100, by a model",
       {"sparkbench predict --kernel 'volta-fp32acc/fwd/*'",
        "sparkbench predict --listing code.sass --function gemm --threads 128"}},
      {"check-arithmetic",
       "replays recorded tensor-core and special-function outputs, or asks a GPU",
       {"sparkbench check-arithmetic --profile volta --vectors v100.csv"}},
      {"completion",
       "prints what makes bash or zsh complete commands, flags and names",
       {"source <(sparkbench completion bash)"}},
      {"man", "prints the manual page", {"sparkbench man > sparkbench.1"}},
  };
  return docs;
}

/// exit_code.h
constexpr const char* kExitStatus =
    "Exit status: 0 all is well; 1 an incorrect result or a difference; 2 usage, or a kernel that "
    "was "
    "named did not run; 3 no such device; 4 a case failed; 5 an output was not written; 130 "
    "interrupted.";

void document_commands(CLI::App& program, int width) {
  const auto help = std::make_shared<WrappedHelp>(width);
  program.formatter(help);
  for (CLI::App* command : program.get_subcommands({})) {
    const auto docs = command_docs();
    const auto doc = std::find_if(docs.begin(), docs.end(), [&](const CommandDoc& each) {
      return each.name == command->get_name();
    });
    if (doc == docs.end()) {
      throw std::logic_error("command_docs() has no '" + command->get_name() + "'");
    }
    command->formatter(help);
    command->description(doc->summary);
    command->footer(fmt::format("{}\n\nExamples:\n  {}", help->filled(kExitStatus, 0),
                                fmt::join(doc->examples, "\n  ")));
  }
  program.footer("`sparkbench COMMAND --help` has the flags and examples of a command.");
}

}  // namespace sparkbench
