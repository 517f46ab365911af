#include "harness/plugin/plugin_kernel.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "harness/plugin/plugin_problem.h"
#include "harness/plugin/test_problem.h"
#include "kernels/base/unsupported_error.h"
#include "kernels/machine/out_of_device_memory.h"
#include "kernels/testing/messages.h"

namespace sparkbench {
namespace {

/// The calls that the fake kernel got, and its answers.
struct Fake {
  std::vector<std::string> calls;
  sparkbench_problem problem{};
  sparkbench_tensors tensors{};
  void* stream = nullptr;
  void* workspace = nullptr;
  int32_t status = SPARKBENCH_OK;
  std::string fails;  // the call that returns `status`
  const char* why_not = nullptr;
  const char* error = "because";
  std::size_t workspace_bytes = 0;
};
Fake fake;

int32_t answer(const char* call) {
  fake.calls.emplace_back(call);
  return fake.fails == call ? fake.status : SPARKBENCH_OK;
}

sparkbench_kernel fake_table() {
  sparkbench_kernel table{};
  table.struct_bytes = sizeof table;
  table.name = "fake";
  table.version = "7";
  table.backend = SPARKBENCH_CUDA;
  table.supports = [](const sparkbench_problem* problem) {
    fake.problem = *problem;
    return fake.why_not;
  };
  table.workspace_bytes = [](const sparkbench_problem*) { return fake.workspace_bytes; };
  table.prepare = [](const sparkbench_problem* problem, void* workspace, void* stream,
                     void** plan) {
    fake.problem = *problem;
    fake.workspace = workspace;
    fake.stream = stream;
    *plan = &fake;
    return answer("prepare");
  };
  table.forward = [](void* plan, const sparkbench_tensors* tensors, void* stream) {
    EXPECT_EQ(plan, &fake);
    EXPECT_EQ(stream, fake.stream);
    fake.tensors = *tensors;
    return answer("forward");
  };
  table.backward = [](void*, const sparkbench_tensors* tensors, void*) {
    fake.tensors = *tensors;
    return answer("backward");
  };
  table.peak_bytes = [](void*) -> size_t { return 12; };
  table.destroy = [](void*) { answer("destroy"); };
  table.last_error = [] { return fake.error; };
  return table;
}

DeviceInfo h100() {
  DeviceInfo device;
  device.kind = DeviceKind::kGpu;
  device.sm = 90;
  return device;
}

PluginKernel kernel_with(const sparkbench_kernel& table, std::optional<int> gpu = 3) {
  return PluginKernel(checked_kernels("./x.so", {{&table, "./x.so:fake", ""}}).front(), h100(), gpu,
                      false);
}

class PluginKernelTest : public testing::Test {
 protected:
  PluginKernelTest() { fake = Fake(); }

  /// Prepares on host memory in the place of a GPU's.
  Prepared prepare(const PluginKernel& kernel, Pass pass) {
    options_.pass = pass;
    const ForwardTensors forward =
        contiguous_tensors(problem_, &half_[0], &half_[1], &half_[2], &half_[3], &lse_);
    const BackwardTensors backward =
        pass == Pass::kForward
            ? BackwardTensors{}
            : contiguous_tensors(problem_, &half_[0], &half_[1], &half_[2], &half_[3], &half_[4],
                                 &lse_, &half_[5], &half_[6], &half_[7]);
    const auto allocate = [](std::size_t bytes) {
      return std::shared_ptr<void>(std::malloc(bytes), std::free);
    };
    return kernel.prepare({problem_,
                           {},
                           options_,
                           forward,
                           backward,
                           PackedLengths{},
                           stream(),
                           nullptr,
                           allocate,
                           nullptr});
  }
  CUstream_st* stream() { return reinterpret_cast<CUstream_st*>(&half_[0]); }

  std::string why_fails(const std::string& call, int32_t status, const char* error = "because") {
    fake = Fake();
    fake.fails = call;
    fake.status = status;
    fake.error = error;
    const sparkbench_kernel table = fake_table();
    return message_of<std::exception>([&] {
      const PluginKernel kernel = kernel_with(table);
      const Prepared prepared = prepare(kernel, Pass::kForwardBackward);
      prepared.forward();
      prepared.backward();
    });
  }

  Problem problem_ = small_problem();
  RunOptions options_;
  Half half_[8] = {};
  float lse_ = 0;
};

TEST_F(PluginKernelTest, IsAsItsTableSays) {
  sparkbench_kernel table = fake_table();
  table.accumulator = SPARKBENCH_ACC_FP16;
  table.draws_own_dropout = 1;
  table.has_no_lse = 1;
  const PluginKernel kernel = kernel_with(table);
  EXPECT_EQ(kernel.name(), "fake");
  EXPECT_EQ(kernel.flag_item(), "./x.so:fake");
  EXPECT_EQ(kernel.accumulator(), Accumulator::kFp16);
  EXPECT_EQ(kernel.role(), Role::kFused);
  EXPECT_TRUE(kernel.draws_own_dropout_mask());
  EXPECT_FALSE(kernel.writes_lse());
  EXPECT_EQ(kernel.libraries(), (Libraries{{"fake", "7"}}));
}

TEST_F(PluginKernelTest, SupportsWhatItSays) {
  sparkbench_kernel table = fake_table();
  EXPECT_TRUE(kernel_with(table).supports(problem_, Pass::kBackward));
  EXPECT_EQ(fake.problem.pass, SPARKBENCH_BACKWARD);
  EXPECT_EQ(fake.problem.device, 3);
  fake.why_not = "head_dim 16\nis too small";
  EXPECT_EQ(kernel_with(table).supports(problem_, Pass::kForward).why_not,
            "fake: head_dim 16 is too small");
  fake.workspace_bytes = 1000;
  EXPECT_EQ(kernel_with(table).workspace_bytes(problem_, Pass::kForward, false), 0u);
  fake.why_not = nullptr;
  EXPECT_EQ(kernel_with(table).workspace_bytes(problem_, Pass::kForward, false), 1000u);
  EXPECT_EQ(kernel_with(table, std::nullopt).supports(problem_, Pass::kForward).why_not,
            "fake runs on GPUs only; allowed: --device cuda:0");
  table.backend = SPARKBENCH_HOST;
  EXPECT_TRUE(contains(kernel_with(table).supports(problem_, Pass::kForward).why_not,
                       "fake runs on the host"));
  table.backend = SPARKBENCH_CUDA;
  table.backward = nullptr;
  EXPECT_EQ(kernel_with(table).supports(problem_, Pass::kBackward).why_not,
            "fake has no backward pass");
  table.supports = nullptr;
  EXPECT_TRUE(kernel_with(table).supports(problem_, Pass::kForward));
}

TEST_F(PluginKernelTest, IsAskedForTheTypesThatItTakes) {
  sparkbench_kernel table = fake_table();
  CaseProblem of_case(Pass::kForward, problem_);
  EXPECT_TRUE(kernel_with(table).supports_case(of_case));
  of_case.element = ElementType::kBf16;
  EXPECT_EQ(kernel_with(table).supports_case(of_case).why_not, "fake does not compute in bf16");
  table.dtypes = SPARKBENCH_TAKES(SPARKBENCH_BF16);
  EXPECT_TRUE(kernel_with(table).supports_case(of_case));
  EXPECT_EQ(fake.problem.dtype, SPARKBENCH_BF16);
  EXPECT_EQ(kernel_with(table).supports(problem_, Pass::kForward).why_not,
            "fake does not compute in fp16");
  fake.workspace_bytes = 1000;
  of_case.layout = TensorLayout::kQkvPacked;
  EXPECT_EQ(kernel_with(table).case_workspace_bytes(of_case, false), 1000u);
  EXPECT_EQ(fake.problem.layout, SPARKBENCH_QKV_PACKED);
  EXPECT_EQ(kernel_with(table).workspace_bytes(problem_, Pass::kForward, false), 0u);
  table.accumulator = SPARKBENCH_ACC_FP16;
  EXPECT_EQ(kernel_with(table).supports_case(of_case).why_not,
            "fake accumulates in fp16, and no tensor core does so for bf16");
}

TEST_F(PluginKernelTest, MayAllocateItsOutputs) {
  sparkbench_kernel table = fake_table();
  table.outputs = [](void*, sparkbench_tensors* tensors, void* stream) {
    EXPECT_EQ(stream, fake.stream);
    tensors->o = {fake.workspace, 1, 2, 3};
    tensors->lse = nullptr;
    return answer("outputs");
  };
  fake.workspace_bytes = 100;
  const PluginKernel kernel = kernel_with(table);
  const Prepared prepared = prepare(kernel, Pass::kForwardBackward);
  prepared.forward();
  prepared.backward();
  EXPECT_EQ(fake.tensors.q.data, &half_[0]);
  EXPECT_EQ(fake.tensors.o.data, nullptr);
  EXPECT_EQ(fake.tensors.lse, nullptr);
  EXPECT_EQ(fake.tensors.dv.data, nullptr);
  const OwnOutputs own = prepared.own_outputs();
  EXPECT_EQ(own.o.data, fake.workspace);
  EXPECT_EQ(own.o.head_stride, 3);
  EXPECT_EQ(own.dq.data, nullptr);
  EXPECT_GE(prepared.seconds.value(), 0.0);
  fake.fails = "outputs";
  fake.status = SPARKBENCH_ERROR;
  EXPECT_EQ(message_of<std::runtime_error>([&] { prepared.own_outputs(); }),
            "fake: outputs: because");
}

TEST_F(PluginKernelTest, WritesToTheOutputsGivenUnlessItAllocates) {
  const sparkbench_kernel table = fake_table();
  const PluginKernel kernel = kernel_with(table);
  EXPECT_FALSE(prepare(kernel, Pass::kForward).own_outputs);
}

TEST_F(PluginKernelTest, BindsItsTensorsWhenItIsPrepared) {
  fake.workspace_bytes = 100;
  const sparkbench_kernel table = fake_table();
  {
    const PluginKernel kernel = kernel_with(table);
    const Prepared prepared = prepare(kernel, Pass::kForwardBackward);
    EXPECT_EQ(prepared.workspace_bytes, 100u);
    EXPECT_NE(fake.workspace, nullptr);
    EXPECT_EQ(fake.stream, stream());
    EXPECT_EQ(prepared.more_peak_bytes(), 12u);
    prepared.forward();
    EXPECT_EQ(fake.tensors.struct_bytes, sizeof fake.tensors);
    EXPECT_EQ(fake.tensors.q.data, &half_[0]);
    EXPECT_EQ(fake.tensors.q.batch_stride, 5 * 6 * 16);
    EXPECT_EQ(fake.tensors.q.seqlen_stride, 6 * 16);
    EXPECT_EQ(fake.tensors.q.head_stride, 16);
    EXPECT_EQ(fake.tensors.k.data, &half_[1]);
    EXPECT_EQ(fake.tensors.k.batch_stride, 9 * 2 * 16);
    EXPECT_EQ(fake.tensors.v.data, &half_[2]);
    EXPECT_EQ(fake.tensors.o.data, &half_[3]);
    EXPECT_EQ(fake.tensors.lse, &lse_);
    prepared.backward();
    EXPECT_EQ(fake.tensors.d_o.data, &half_[4]);
    EXPECT_EQ(fake.tensors.dq.data, &half_[5]);
    EXPECT_EQ(fake.tensors.dk.data, &half_[6]);
    EXPECT_EQ(fake.tensors.dk.seqlen_stride, 2 * 16);
    EXPECT_EQ(fake.tensors.dv.data, &half_[7]);
    prepared.forward();
  }
  EXPECT_EQ(fake.calls,
            (std::vector<std::string>{"prepare", "forward", "backward", "forward", "destroy"}));
}

TEST_F(PluginKernelTest, HasNoGradientsInAForwardPass) {
  sparkbench_kernel table = fake_table();
  table.peak_bytes = nullptr;
  table.workspace_bytes = nullptr;
  const PluginKernel kernel = kernel_with(table);
  const Prepared prepared = prepare(kernel, Pass::kForward);
  prepared.forward();
  EXPECT_EQ(fake.workspace, nullptr);
  EXPECT_EQ(fake.tensors.d_o.data, nullptr);
  EXPECT_EQ(fake.tensors.dq.data, nullptr);
  EXPECT_FALSE(prepared.backward);
  EXPECT_FALSE(prepared.more_peak_bytes);
}

TEST_F(PluginKernelTest, FailsInItsOwnWords) {
  EXPECT_EQ(why_fails("prepare", SPARKBENCH_ERROR), "fake: prepare: because");
  EXPECT_EQ(fake.calls, std::vector<std::string>{"prepare"}) << "there is no plan to destroy";
  EXPECT_EQ(why_fails("forward", SPARKBENCH_ERROR, "a\tb\x01"), "fake: forward: a b?");
  EXPECT_EQ(fake.calls.back(), "destroy");
  EXPECT_EQ(why_fails("backward", SPARKBENCH_ERROR, nullptr),
            "fake: backward: it does not say why");
  EXPECT_EQ(why_fails("forward", 17, ""),
            "fake: forward returned 17, which is no sparkbench_status: it does not say why");
}

TEST_F(PluginKernelTest, TellsWhatItDoesNotSupportFromFailures) {
  const sparkbench_kernel table = fake_table();
  const PluginKernel kernel = kernel_with(table);
  fake.fails = "prepare";
  fake.status = SPARKBENCH_UNSUPPORTED;
  EXPECT_THROW(prepare(kernel, Pass::kForward), UnsupportedError);
  fake.status = SPARKBENCH_OUT_OF_MEMORY;
  EXPECT_THROW(prepare(kernel, Pass::kForward), OutOfDeviceMemory);
}

}  // namespace
}  // namespace sparkbench
