// sparkbench encoder: one encoder layer, every case of a grid.
#include <ostream>

#include "harness/cli/measuring_command.h"
#include "results/render/case_table.h"
#include "results/render/summary.h"

namespace sparkbench {

void add_encoder_command(CLI::App& program, const Invocation& invocation, Action& action) {
  const auto report = [](const RunRecord& run, const TableView& view, std::ostream& out) {
    out << format_case_table(run, view) << '\n' << format_end(run, view);
  };
  add_measuring_command(program, invocation, action,
                        {.name = "encoder",
                         .is_timed = true,
                         .workload = Workload::kLayer,
                         .takes_tensors = true,
                         .add_flags = add_software_factor_flag,
                         .report = report});
}

}  // namespace sparkbench
