// sparkbench accuracy: FP16-ACC against FP32-ACC against the unfused computation, without timing.
#include <ostream>

#include "harness/commands/measuring_command.h"
#include "results/render/accuracy_table.h"
#include "results/render/summary.h"
#include "results/render/tensors_read.h"
#include "results/study/accuracy_advice.h"
#include "results/study/accuracy_axes.h"
#include "results/study/accuracy_breaks.h"
#include "sweeps/usage_error.h"

namespace sparkbench {

void add_accuracy_command(CLI::App& program, const Invocation& invocation, Action& action) {
  const auto require_verification = [](const std::vector<SweepCase>& /*cases*/,
                                       const SweepOptions& options) {
    if (!options.skips_verification) return;
    throw UsageError("--no-verify: accuracy has nothing else to do than to verify");
  };
  const auto report = [](const RunRecord& run, std::ostream& out) {
    if (const std::string line = tensors_line(run); !line.empty()) out << line << '\n';
    for (const auto& format :
         {format_accuracy_table, format_accuracy_axes, format_accuracy_breaks}) {
      const std::string block = format(run, TableStyle::kTerminal);
      if (!block.empty()) out << block << '\n';
    }
    out << format_accuracy_advice(run) << "\n\n"
        << format_summary(run, TableStyle::kTerminal) << '\n'
        << format_recommendation(run) << '\n';
  };
  add_measuring_command(program, invocation, action,
                        {.name = "accuracy",
                         .help = "Compare the errors of the accumulators, untimed",
                         .is_timed = false,
                         .takes_tensors = true,
                         .complete_options = {},
                         .check_cases = require_verification,
                         .report = report});
}

}  // namespace sparkbench
