// A kernel with its own dropout mask, and one that declines a problem.
#include "harness/run/case_runner.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "kernels/base/unsupported_error.h"
#include "reference/exact/exact.h"

namespace sparkbench {
namespace {

/// A vendor's kernel on a problem: changes an outcome whose rows are exact.
using Behaviour = std::function<void(const Problem&, RunOutcome&)>;

/// The dropout of every problem that ran, and of every one that was timed.
struct CallLog {
  std::vector<float> run, timed;
};

class VendorProblem : public LoadedProblem {
 public:
  VendorProblem(const ProblemData& data, const Behaviour& behave, CallLog& log)
      : data_(data), behave_(behave), log_(log) {}

  RunOutcome run(const Candidate&, const RunOptions&) override {
    log_.run.push_back(data_.problem().dropout_p);
    const auto& rows = data_.plan().rows;
    const RoundedForward exact = rounded_forward(data_.problem(), data_.inputs(), rows);
    RunOutcome outcome;
    outcome.rows = gather_rows(data_.problem(), exact.o, exact.lse, rows);
    behave_(data_.problem(), outcome);
    return outcome;
  }

  std::vector<Timing> time(std::span<const Candidate* const>, const RunOptions&) override {
    log_.timed.push_back(data_.problem().dropout_p);
    return {Timing{std::vector<double>(3, 1.0), {{}, {}, {}}, "noise", true, 0.001}};
  }

 private:
  const ProblemData& data_;
  const Behaviour& behave_;
  CallLog& log_;
};

/// A vendor's kernel.
class VendorKernel : public Candidate {
 public:
  VendorKernel() : Candidate({"vendor", "", CandidateKind::kVendorKernel, Accumulator::kFp32}) {}
  Support supports(const Problem&, Pass) const override { return {}; }
  std::uint64_t workspace_bytes(const Problem&, Pass, bool) const override { return 0; }
  const ArithmeticProfile& arithmetic() const override { return arithmetic_profile("hopper"); }
  bool draws_own_dropout_mask() const override { return true; }
};

/// Has one candidate, which draws its own dropout mask.
class VendorDevice : public Device {
 public:
  VendorDevice(Behaviour behave, CallLog& log) : behave_(std::move(behave)), log_(log) {
    info_.kind = DeviceKind::kGpu;
    info_.sm = 90;
    candidates_.push_back(std::make_unique<VendorKernel>());
  }

  const std::string& name() const override { return name_; }
  const DeviceInfo& info() const override { return info_; }
  Candidates candidates() const override { return candidates_; }
  CheckBudget check_budget() const override {
    return {std::numeric_limits<double>::infinity(), 1 << 20};
  }
  std::unique_ptr<LoadedProblem> load(const ProblemData& data, GradientData*) override {
    return std::make_unique<VendorProblem>(data, behave_, log_);
  }

 private:
  Behaviour behave_;
  CallLog& log_;
  std::string name_ = "cuda:0";
  DeviceInfo info_;
  OwnedCandidates candidates_;
};

CaseRecord run(Behaviour behave, float dropout_p, CallLog& log) {
  VendorDevice device(std::move(behave), log);
  Problem problem;
  problem.seqlen_q = problem.seqlen_k = 16;
  problem.dropout_p = dropout_p;
  return CaseRunner(device, {}).run({"vendor", {Pass::kForward, problem}});
}

void forget_o(RunOutcome& outcome) {
  for (Half& element : outcome.rows.o) element = to_half(0.0f);
}

TEST(CaseRunnerVendor, IsJudgedWithoutDropoutAndTimedWith) {
  CallLog log;
  const CaseRecord record = run(
      [](const Problem& problem, RunOutcome& outcome) {
        if (problem.dropout_p > 0) forget_o(outcome);  // as wrong as another dropout mask
      },
      0.25f, log);
  EXPECT_EQ(record.status, Status::kOk);
  EXPECT_EQ(log.run, (std::vector<float>{0.0f, 0.25f}));
  EXPECT_EQ(log.timed, (std::vector<float>{0.25f}));
  ASSERT_TRUE(record.accuracy);
  EXPECT_LT(record.accuracy->rel_l2, 1e-3);
  EXPECT_EQ(record.problem.dropout_p, 0.25f);
  EXPECT_NE(find_warning(record, "W-OWN-DROPOUT-MASK"), nullptr);
}

TEST(CaseRunnerVendor, IsNotTimedWhenIncorrectWithoutDropout) {
  CallLog log;
  const CaseRecord record =
      run([](const Problem&, RunOutcome& outcome) { forget_o(outcome); }, 0.25f, log);
  EXPECT_EQ(record.status, Status::kIncorrect);
  EXPECT_TRUE(log.timed.empty());
}

TEST(CaseRunnerVendor, IsJudgedDirectlyWhereNothingIsDropped) {
  CallLog log;
  const CaseRecord record = run([](const Problem&, RunOutcome&) {}, 0.0f, log);
  EXPECT_EQ(record.status, Status::kOk);
  EXPECT_EQ(log.run, (std::vector<float>{0.0f}));
  EXPECT_EQ(log.timed, (std::vector<float>{0.0f}));
  EXPECT_EQ(find_warning(record, "W-OWN-DROPOUT-MASK"), nullptr);
}

TEST(CaseRunnerVendor, IsSkippedWithItsReasonWhereItDeclines) {
  CallLog log;
  const CaseRecord record =
      run([](const Problem&,
             RunOutcome&) { throw UnsupportedError("cuDNN has no kernel for this graph"); },
          0.25f, log);
  EXPECT_EQ(record.status, Status::kSkipped);
  ASSERT_TRUE(record.reason);
  EXPECT_EQ(record.reason->code, "E-UNSUPPORTED");
  EXPECT_EQ(record.reason->message, "cuDNN has no kernel for this graph");
}

}  // namespace
}  // namespace sparkbench
