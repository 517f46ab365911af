// Faults of a case in its worker, and how the sweep handles them.
#include <gtest/gtest.h>

#include <ostream>
#include <set>

#include "harness/environment_error.h"
#include "harness/run/workers/test_process.h"
#include "harness/run/workers/worker_pool.h"

namespace sparkbench {
namespace {

const std::string kVictim = "volta-fp16acc/fwd/b1/h1/sq33";

TEST(WorkerThatDiesWhileItStarts, IsStartedAgain) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_to_end(folder, kSmallSweep + "--out run", "start:3"), 0);
  EXPECT_EQ(count(stored_run(folder), Status::kOk), 6);
}

TEST(WorkerThatDiesWhileItStarts, IsGivenUpIfItAlwaysDoes) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_to_end(folder, kSmallSweep + "--out run", "start:99"), 3);
  EXPECT_TRUE(contains(text_of_file(folder.path() / "err"),
                       "the worker was killed by SIGKILL (Killed), 4 times"))
      << text_of_file(folder.path() / "err");
}

struct Fault {
  const char* kind;
  const char* code;
  const char* says;
};

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.kind; }

class FaultyCase : public testing::TestWithParam<Fault> {};

TEST_P(FaultyCase, CostsItsRowAndOneWorker) {
  const TemporaryFolder folder;
  const std::string fault = GetParam().kind + (":" + kVictim + "*");
  EXPECT_EQ(run_to_end(folder, kSmallSweep + "--out run --timeout 2", fault), 4);
  const RunRecord run = stored_run(folder);
  ASSERT_EQ(run.cases.size(), 6u);
  EXPECT_TRUE(run.run.complete);
  EXPECT_EQ(count(run, Status::kOk), 5);
  const CaseRecord& victim = run.cases[1];
  EXPECT_TRUE(contains(victim.id, kVictim)) << victim.id;
  EXPECT_EQ(victim.status, Status::kFailed);
  EXPECT_EQ(victim.reason.value().code, GetParam().code);
  EXPECT_TRUE(contains(victim.reason->message, GetParam().says)) << victim.reason->message;
  EXPECT_TRUE(contains(victim.reason->message,
                       "about to " + std::string(GetParam().kind) + " / for a test"))
      << victim.reason->message;
  EXPECT_TRUE(contains(victim.repro, "sparkbench sweep --device emulated-v100")) << victim.repro;
  EXPECT_EQ(victim.device, "emulated-v100");
  EXPECT_GT(victim.elapsed_s.value(), 0.0);

  const std::vector<BegunCase> cases = begun_cases(folder);
  ASSERT_EQ(cases.size(), 6u);
  EXPECT_EQ(cases[0].pid, cases[1].pid);
  EXPECT_NE(cases[1].pid, cases[2].pid);
  for (std::size_t i = 3; i < 6; ++i) EXPECT_EQ(cases[i].pid, cases[2].pid);
  EXPECT_TRUE(ends_soon(cases[1].pid));
}

std::string name_of_fault(const testing::TestParamInfo<Fault>& fault) { return fault.param.kind; }

INSTANTIATE_TEST_SUITE_P(Kinds, FaultyCase,
                         testing::Values(Fault{"abort", "E-SIGNAL", "was killed by SIGABRT"},
                                         Fault{"segv", "E-SIGNAL", "was killed by SIGSEGV"},
                                         Fault{"exit", "E-EXIT", "ended with exit status 7"},
                                         Fault{"tear", "E-EXIT", "ended with exit status 0"},
                                         Fault{"hang", "E-TIMEOUT",
                                               "took longer than --timeout 2 s"},
                                         Fault{"throw", "E-RUN", "cudaErrorIllegalAddress"}),
                         name_of_fault);

TEST(Worker, IsKeptForAllCases) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_to_end(folder, kSmallSweep), 0);
  std::set<pid_t> pids;
  for (const BegunCase& each : begun_cases(folder)) pids.insert(each.pid);
  EXPECT_EQ(pids.size(), 1u);
}

TEST(Worker, KilledFromOutsideCostsTheCaseInFlight) {
  const TemporaryFolder folder;
  TestProcess process(folder, kSmallSweep + "--out run", "hang:" + kVictim + "*");
  kill(wait_for_case(folder, kVictim).pid, SIGKILL);
  EXPECT_EQ(process.wait(), 4);
  const RunRecord run = stored_run(folder);
  EXPECT_EQ(count(run, Status::kOk), 5);
  EXPECT_TRUE(contains(run.cases.at(1).reason.value().message, "SIGKILL"));
}

TEST(Worker, ComputesWhatThisProcessWould) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_to_end(folder, kSmallSweep + "--out run"), 0);
  EXPECT_EQ(run_to_end(folder, kSmallSweep + "--in-process --out local"), 0);
  const RunRecord run = stored_run(folder);
  const RunRecord local = read_stored_run(folder.path() / "local");
  ASSERT_EQ(run.cases.size(), local.cases.size());
  for (std::size_t i = 0; i < run.cases.size(); ++i) {
    EXPECT_EQ(run.cases[i].id, local.cases[i].id);
    EXPECT_EQ(run.cases[i].config_hash, local.cases[i].config_hash);
    EXPECT_EQ(run.cases[i].accuracy.value().output_hash, local.cases[i].accuracy->output_hash);
  }
}

TEST(Worker, SharesItsErrorStreamWhenAllIsWell) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_to_end(folder, kSmallSweep + "-q", "chatter:*sq33*"), 0);
  EXPECT_TRUE(contains(text_of_file(folder.path() / "err"), "about to chatter"));
}

TEST(Worker, RefusesForItsParent) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_to_end(folder, "sweep --device emulated-v100 --kernel flash"), 2);
  EXPECT_TRUE(contains(text_of_file(folder.path() / "err"), "--kernel: unknown 'flash'"));
  EXPECT_EQ(run_to_end(folder, "sweep --device cuda:77"), 3);
}

TEST(FailFast, StopsAtTheFirstFailure) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_to_end(folder, kSmallSweep + "--fail-fast --out run", "abort:" + kVictim + "*"), 4);
  const RunRecord run = stored_run(folder);
  EXPECT_EQ(run.cases.size(), 2u);
  EXPECT_FALSE(run.run.complete);
}

TEST(SeveralDevices, ShareTheProblems) {
  const TemporaryFolder folder;
  const std::string sweep = kSmallSweep + "--device emulated-v100,emulated-v100 --out run";
  EXPECT_EQ(run_to_end(folder, sweep), 0);
  const std::vector<BegunCase> cases = begun_cases(folder);
  ASSERT_EQ(cases.size(), 6u);
  for (const BegunCase& a : cases) {
    for (const BegunCase& b : cases) {
      EXPECT_EQ(a.pid == b.pid, contains(a.id, "sq33") == contains(b.id, "sq33"));
    }
  }
  const RunRecord run = stored_run(folder);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(run.cases.at(i).position, i);
  EXPECT_EQ(run.run.resolved.at("device"), "emulated-v100,emulated-v100");
}

TEST(Worker, NamesTheDeviceThatAutoStandsFor) {
  const TemporaryFolder folder;
  const std::string flags = "--device auto --kernel volta-fp16acc --timeout 30 --out run";
  run_to_end(folder, kSmallSweep + flags, "abort:" + kVictim + "*");
  const RunRecord run = stored_run(folder);
  EXPECT_NE(run.run.resolved.at("device"), "auto");
  for (const CaseRecord& record : run.cases) {
    EXPECT_EQ(record.device, run.run.resolved.at("device"));
  }
}

TEST(SeveralDevices, AreOfOneModel) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_to_end(folder, kSmallSweep + "--device emulated-v100,emulated-t4 --out run"), 2);
  EXPECT_TRUE(contains(text_of_file(folder.path() / "err"), "of one model"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "run"));
}

TEST(Worker, ThatStartsNotInTimeIsGivenUp) {
  const TemporaryFolder folder;
  const std::string script = path_in(folder, "sleeper");
  std::ofstream(script) << "#!/bin/sh\nexec sleep 100\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  WorkerPoolOptions options{script, {"sparkbench", "sweep"}, {"emulated-v100"}, 2, 0.3};
  EXPECT_THROW(WorkerPool{options}, EnvironmentError);
  EXPECT_EQ(default_start_limit_s(2), 60);
  EXPECT_EQ(default_start_limit_s(100), 100);
  EXPECT_EQ(default_start_limit_s(1e9), 300);
}

TEST(Worker, AreToldUnderLaunchersThatIgnoreChildren) {
  const TemporaryFolder folder;
  std::signal(SIGCHLD, SIG_IGN);  // inherited through fork and exec; the test waits anyway
  pid_t pid = fork();
  if (pid == 0) {
    const std::string command = "cd '" + folder.path().string() +
                                "'; SPARKBENCH_TEST_FAULT='segv:" + kVictim + "*' exec '" +
                                SPARKBENCH_FAULTY "' " + kSmallSweep + "--out run > out 2> err";
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  while (kill(pid, 0) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::signal(SIGCHLD, SIG_DFL);
  EXPECT_TRUE(contains(find_case(stored_run(folder), kVictim).reason.value().message, "SIGSEGV"));
}

TEST(Worker, StoppedWithItsParentIsNotTimedOut) {
  const TemporaryFolder folder;
  TestProcess process(folder, kSmallSweep + "--out run --timeout 2", "pause:" + kVictim + "*");
  const pid_t worker = wait_for_case(folder, kVictim).pid;
  kill(process.pid(), SIGSTOP);
  kill(worker, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::seconds(3));
  kill(worker, SIGCONT);
  kill(process.pid(), SIGCONT);
  EXPECT_EQ(process.wait(), 0) << process.err();
}

TEST(Worker, OutOfMemoryCostsItsRowAlone) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_to_end(folder, kSmallSweep + "--out run", "exhaust:" + kVictim + "*"), 4);
  const Reason reason = find_case(stored_run(folder), kVictim).reason.value();
  EXPECT_EQ(reason.code, "E-OUT-OF-MEMORY");
  EXPECT_TRUE(contains(reason.message, "memory is too small")) << reason.message;
}

class ClosedStreams : public testing::TestWithParam<const char*> {};

TEST_P(ClosedStreams, LeaveTheJournalAlone) {
  for (const std::string mode : {"--timeout 60", "--in-process"}) {
    const TemporaryFolder folder;
    const std::string command = "cd '" + folder.path().string() + "' && '" SPARKBENCH_FAULTY "' " +
                                kSmallSweep + mode + " --out run " + GetParam();
    const int status = WEXITSTATUS(std::system(command.c_str()));
    EXPECT_TRUE(status == 0 || status == 5) << status;
    EXPECT_EQ(count(stored_run(folder), Status::kOk), 6) << mode;
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, ClosedStreams,
                         testing::Values("0<&- > /dev/null 2> /dev/null", "> /dev/null 2>&-",
                                         "1>&- 2>&-", "0<&- > /dev/null 2>&-",
                                         "0<&- 1>&- 2> /dev/null", "0<&- 1>&- 2>&-"));

}  // namespace
}  // namespace sparkbench
