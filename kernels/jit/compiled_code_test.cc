// Compiles with each NVRTC that the machine has, which takes no GPU; skips where it has none.
#include "kernels/jit/compiled_code.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <optional>

#include "kernels/jit/pattern_source.h"
#include "kernels/mask/pattern/pattern_spec.h"

namespace sparkbench {
namespace {

namespace fs = std::filesystem;

PatternSource source_of(std::string_view mask, int heads = 0) {
  return pattern_source(parse_pattern(mask, 300, 400, heads)).value();
}

/// The NVRTC for the oldest of these architectures that there is one for; nullptr for none.
const Nvrtc* any_nvrtc(int& sm) {
  for (const int each : {70, 75, 90}) {
    try {
      sm = each;
      return &nvrtc_for(each);
    } catch (const NvrtcMissing&) {
    }
  }
  return nullptr;
}

class CompiledCodeTest : public testing::Test {
 protected:
  CompiledCodeTest()
      : folder_(fs::path(testing::TempDir()) / ("compiled_code_" + std::to_string(getpid()))),
        cache_(folder_) {}
  ~CompiledCodeTest() override { fs::remove_all(folder_); }

  void SetUp() override {
    nvrtc_ = any_nvrtc(sm_);
    if (nvrtc_ == nullptr) GTEST_SKIP() << "no NVRTC";
  }

  fs::path folder_;
  DiskCache cache_;
  int sm_ = 0;
  const Nvrtc* nvrtc_ = nullptr;
};

TEST_F(CompiledCodeTest, IsFromDiskTheSecondTime) {
  const JitSource source = source_of("window:64+where:k<=q&&(q-k<128||k%64==0)").source;
  const CompiledCode first = compiled_code(*nvrtc_, source, sm_, cache_);
  EXPECT_EQ(first.cubin.substr(1, 3), "ELF");
  EXPECT_FALSE(first.is_from_disk);
  EXPECT_EQ(first.note, "");
  const CompiledCode second = compiled_code(*nvrtc_, source, sm_, cache_);
  EXPECT_TRUE(second.is_from_disk);
  EXPECT_EQ(second.cubin, first.cubin);
}

TEST_F(CompiledCodeTest, RebuildsADamagedEntry) {
  const JitSource source = source_of("where:k<=q").source;
  const CompiledCode first = compiled_code(*nvrtc_, source, sm_, cache_);
  for (const auto& entry : fs::directory_iterator(folder_)) {
    fs::resize_file(entry.path(), fs::file_size(entry.path()) - 7);
  }
  const CompiledCode again = compiled_code(*nvrtc_, source, sm_, cache_);
  EXPECT_FALSE(again.is_from_disk);
  EXPECT_EQ(again.cubin, first.cubin);
  EXPECT_TRUE(compiled_code(*nvrtc_, source, sm_, cache_).is_from_disk);
}

TEST_F(CompiledCodeTest, IsMadeWhereNothingCanBeKept) {
  std::ofstream(folder_.string()) << "no folder";
  const CompiledCode code = compiled_code(*nvrtc_, source_of("where:k<=q").source, sm_, cache_);
  EXPECT_EQ(code.cubin.substr(1, 3), "ELF");
  EXPECT_NE(code.note.find(folder_.string()), std::string::npos) << code.note;
}

TEST_F(CompiledCodeTest, SaysTheCompilersWords) {
  try {
    compiled_code(*nvrtc_, {"__global__ void f() { no_such_name(); }", {}}, sm_, cache_);
    ADD_FAILURE() << "it is taken";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("no_such_name"), std::string::npos) << error.what();
  }
  EXPECT_FALSE(fs::exists(folder_));
}

TEST(Nvrtc, SaysWhatIsMissing) {
  EXPECT_THROW(Nvrtc("libnvrtc.so.none"), NvrtcMissing);
  try {
    nvrtc_for(12);
    ADD_FAILURE() << "sm_12 is taken";
  } catch (const NvrtcMissing& error) {
    const std::string text = error.what();
    for (const char* const part :
         {"sm_12", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "SPARKBENCH_NVRTC"}) {
      EXPECT_NE(text.find(part), std::string::npos) << text;
    }
  }
}

TEST(PatternSource, IsTheSameForEveryLength) {
  const auto text = [](int seqlen) {
    return pattern_source(parse_pattern("where:q-k<seqlen_k/2", seqlen, seqlen))->source.text;
  };
  EXPECT_EQ(text(128), text(4096));
}

TEST(PatternSource, HasATextForEachUnionAndNotForEachHead) {
  const PatternSource source = source_of("where:(q+h)%2==0", 6);
  EXPECT_EQ(source.texts, std::vector<int>(6, 0));
  EXPECT_EQ(source.heads, (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(source_of("full/window:3/where:k<=q").texts, (std::vector<int>{0, 1, 2}));
}

TEST(PatternSource, IsNothingForWhatZonesOrBitsSay) {
  for (const std::string_view mask :
       {"window:64+sink:1", "strided:3+where:k<=q", "documents:30+where:k<=q"}) {
    EXPECT_FALSE(pattern_source(parse_pattern(mask, 64, 64))) << mask;
  }
}

}  // namespace
}  // namespace sparkbench
