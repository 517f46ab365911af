#include "sweeps/lengths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "kernels/testing/messages.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

/// A file that is deleted with the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_(std::filesystem::path(testing::TempDir()) /
              (std::string("sparkbench_lengths_") +
               testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  std::string path() const { return path_.string(); }
  std::string spec() const { return "file:" + path(); }

 private:
  std::filesystem::path path_;
};

CaseProblem problem_of(const std::string& spec, int batch, std::uint64_t seed = 0) {
  CaseProblem problem;
  problem.batch = batch;
  problem.seed = seed;
  problem.lengths_spec = spec;
  set_lengths(problem);
  return problem;
}

std::vector<int> lengths_of_queries(const CaseProblem& problem) {
  std::vector<int> lengths;
  for (int i = 0; i < problem.batch; ++i) lengths.push_back(problem.seqlen_q_of(i));
  return lengths;
}

std::string error_of(const std::string& text) {
  return message_of<UsageError>([&] { parse_lengths("--lengths", text); });
}

TEST(Lengths, AreNoneOrAListOfForms) {
  EXPECT_TRUE(parse_lengths("--lengths", "none").empty());
  EXPECT_EQ(parse_lengths("--lengths", "uniform:0:2k,uniform:7:7,uniform:0:2048"),
            (std::vector<std::string>{"uniform:0:2048", "uniform:7:7"}));
}

TEST(Lengths, NameWhatIsWrongInThem) {
  const std::string allowed =
      "; allowed: uniform:A:B, file:PATH (a length a line, or two: of q and k), or none";
  EXPECT_EQ(error_of("unifrom:1:2k"),
            "--lengths: 'unifrom:1:2k' says no lengths, did you mean 'uniform:1:2k'?" + allowed);
  EXPECT_EQ(error_of("512"), "--lengths: '512' says no lengths" + allowed);
  EXPECT_EQ(error_of("none,uniform:1:2"), "--lengths: 'none' stands alone" + allowed);
  EXPECT_EQ(error_of("uniform:1"), "--lengths: 'uniform:1' has not two numbers" + allowed);
  EXPECT_EQ(error_of("uniform:1:2:3"), "--lengths: 'uniform:1:2:3' has not two numbers" + allowed);
  EXPECT_EQ(error_of("uniform:9:2"),
            "--lengths: 'uniform:9:2' runs from the larger to the smaller" + allowed);
  EXPECT_EQ(error_of("uniform:x:2"), "--lengths: 'uniform:x:2' is not a whole number" + allowed);
  EXPECT_EQ(error_of("uniform:-1:2"), "--lengths: 'uniform:-1:2' is below 0" + allowed);
  EXPECT_EQ(error_of("uniform:1:17m"), "--lengths: 'uniform:1:17m' is too large" + allowed);
  EXPECT_EQ(error_of("uniform:1:2,"),
            "--lengths: 'uniform:1:2,' has an empty item; allowed: values separated by single "
            "commas");
}

TEST(Lengths, OfAUniformRangeAreDrawnByTheSeed) {
  const std::vector<int> all = lengths_of_queries(problem_of("uniform:3:6", 1000, 5));
  for (const int length : all) EXPECT_TRUE(length >= 3 && length <= 6) << length;
  for (int length = 3; length <= 6; ++length) {
    EXPECT_NEAR(static_cast<double>(std::count(all.begin(), all.end(), length)), 250.0, 60.0);
  }
  const std::vector<int> first = lengths_of_queries(problem_of("uniform:3:6", 10, 5));
  EXPECT_EQ(first, std::vector<int>(all.begin(), all.begin() + 10));
  EXPECT_EQ(lengths_of_queries(problem_of("uniform:3:6", 1000, 5)), all);
  EXPECT_NE(lengths_of_queries(problem_of("uniform:3:6", 1000, 6)), all);
}

TEST(Lengths, OfRowsAndKeysAreDrawnAlike) {
  const CaseProblem problem = problem_of("uniform:0:100", 50);
  for (int i = 0; i < problem.batch; ++i) EXPECT_EQ(problem.seqlen_q_of(i), problem.seqlen_k_of(i));
  EXPECT_EQ(problem.total_q, problem.total_k);
}

TEST(Lengths, OfAFileStandALineEach) {
  const TemporaryFile file("5\n# comment\n\n 7\t9 \r\n0 3\n1k");
  EXPECT_EQ(parse_lengths("--lengths", file.spec()), std::vector<std::string>{file.spec()});
  const CaseProblem problem = problem_of(file.spec(), 0);
  EXPECT_EQ(problem.batch, 4);
  EXPECT_EQ(lengths_of_queries(problem), (std::vector<int>{5, 7, 0, 1024}));
  EXPECT_EQ(problem.seqlen_k_of(0), 5);
  EXPECT_EQ(problem.seqlen_k_of(1), 9);
  EXPECT_EQ(problem.seqlen_k_of(2), 3);
  EXPECT_EQ(problem.seqlen_q, 1024);
  EXPECT_EQ(problem.seqlen_k, 1024);
  EXPECT_EQ(problem.total_q, 1036);
  EXPECT_EQ(problem.total_k, 1041);
}

TEST(Lengths, OfAnEmptyFileAreNoSequence) {
  const TemporaryFile file("\n");
  const CaseProblem problem = problem_of(file.spec(), 0);
  EXPECT_EQ(problem.batch, 0);
  EXPECT_EQ(problem.seqlen_q, 0);
  EXPECT_EQ(problem.total_q, 0);
  EXPECT_EQ(problem.lengths_hash, "cbf29ce484222325");
}

TEST(Lengths, NameTheLineOfAFileThatIsWrong) {
  const auto error_in = [](const std::string& text) {
    const TemporaryFile file(text);
    const std::string error = error_of(file.spec());
    const std::size_t path = error.find('\'');
    return error.substr(0, path) + error.substr(error.find('\'', path + 1) + 1);
  };
  const std::string allowed =
      "; allowed: one length, or two (of q and of k), from 0 to 16m (suffix k = 1024, m = 1024k)";
  EXPECT_EQ(error_in("1\nx\n"), "--lengths: file , line 2: 'x' is not a whole number" + allowed);
  EXPECT_EQ(error_in("1 2 3"), "--lengths: file , line 1: '1 2 3' is not a whole number" + allowed);
  EXPECT_EQ(error_in("1\n\n3 -4"), "--lengths: file , line 3: '3 -4' is below 0" + allowed);
  EXPECT_EQ(error_in("99m"), "--lengths: file , line 1: '99m' is too large" + allowed);
}

TEST(Lengths, RefuseWhatIsNoFileOrTooMuch) {
  EXPECT_TRUE(error_of("file:/no/such").starts_with("--lengths: file '/no/such' cannot be read"));
  EXPECT_TRUE(
      error_of("file:/dev/zero").starts_with("--lengths: file '/dev/zero' is no regular file"));
  EXPECT_TRUE(error_of("file:").starts_with("--lengths: file '' cannot be read"));
  std::string many;
  for (int i = 0; i < 64; ++i) many += "16m\n";
  const TemporaryFile file(many);
  EXPECT_EQ(error_of(file.spec()),
            "--lengths: '" + file.spec() +
                "' makes 64 sequences of 1073741824 tokens; allowed: fewer than 2^22, of less "
                "than 2^30");
}

TEST(Lengths, OfAFileAreAsManyAsTheBatch) {
  const TemporaryFile file("5\n6\n");
  EXPECT_EQ(problem_of(file.spec(), 2).batch, 2);
  try {
    problem_of(file.spec(), 3);
    ADD_FAILURE() << "three sequences of two lines";
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string(error.what()),
              "--batch: 3, but " + file.spec() + " has 2 sequences; leave --batch out");
  }
}

TEST(Lengths, HashIsThatOfTheirText) {
  // FNV-1a, 64 bits, of printf '5 5\n7 9\n', computed by another program.
  EXPECT_EQ(hash_of(SequenceLengths({{5, 5}, {7, 9}})), "71e348485cfdbabb");
  EXPECT_NE(hash_of(SequenceLengths({{7, 9}, {5, 5}})), hash_of(SequenceLengths({{5, 5}, {7, 9}})));
}

TEST(Lengths, HaveAMean) {
  EXPECT_EQ(mean_length("uniform:1:2048"), 1024);
  EXPECT_EQ(mean_length("uniform:0:0"), 1);
}

}  // namespace
}  // namespace sparkbench
