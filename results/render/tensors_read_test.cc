#include "results/render/tensors_read.h"

#include <gtest/gtest.h>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

TEST(TensorsRead, TellsTheShapeOfEach) {
  RunRecord run = sample_backward_run();
  for (CaseRecord& record : run.cases) record.problem.seqlen_k = 40;
  EXPECT_EQ(tensors_line(run), "");
  run.method.input_file = "layer7.safetensors";
  EXPECT_EQ(tensors_line(run),
            "Tensors of layer7.safetensors: q and d_o [1, 128, 2, 64], k and v [1, 40, 2, 64], "
            "read as [batch, seqlen, heads, head_dim]\n");
  run.cases = {sample_run().cases[0]};
  EXPECT_EQ(shapes_read(run),
            "q [1, 128, 2, 64], k and v [1, 128, 2, 64], read as [batch, seqlen, heads, head_dim]");
}

}  // namespace
}  // namespace sparkbench
