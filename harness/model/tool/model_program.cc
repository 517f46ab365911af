#include "harness/model/tool/model_program.h"

#include "harness/cli/program.h"

namespace sparkbench {
namespace {

const std::vector<CommandDoc>& model_docs() {
  static const std::vector<CommandDoc> docs = {
      {"inspect",
       "reads the kernels' machine code: registers, occupancy, main loops, gates",
       {"sparkbench-model inspect --kernel 'volta-fp32acc/fwd/*'",
        "sparkbench-model inspect --columns registers,stack_B,threads"}},
      {"predict",
       "predicts the cycles of sm_70 machine code on a V100 with a model",
       {"sparkbench-model predict --kernel 'volta-fp32acc/fwd/*'",
        "sparkbench-model predict --listing code.sass --function gemm --threads 128"}},
      {"against",
       "compares predicted times with times that others published",
       {"sparkbench-model against harness/model/published_v100.json"}},
  };
  return docs;
}

void add_model_commands(CLI::App& program, const Invocation& invocation, Action& action) {
  add_inspect_command(program, invocation, action);
  add_predict_command(program, invocation, action);
  add_against_command(program, invocation, action);
}

}  // namespace

int run_model_program(const std::vector<std::string>& argv, std::ostream& out, std::ostream& err) {
  const ProgramDescription description{"sparkbench-model",
                                       "The model of a V100 that predicts times from machine code",
                                       model_docs(), add_model_commands};
  return run_program(description, argv, out, err, {});
}

}  // namespace sparkbench
