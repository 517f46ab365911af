#include "kernels/jit/device_sights.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/jit/compiled_code.h"
#include "kernels/jit/driver_module.h"
#include "kernels/jit/pattern_source.h"
#include "kernels/jit/tile_sights.h"
#include "kernels/machine/cuda_resources.h"

namespace sparkbench {
namespace {

constexpr unsigned kThreads = 128;

/// While it lives, this thread may allocate although a stream is being captured.
class AllocatingWhileCaptured {
 public:
  AllocatingWhileCaptured() { CUDA_CHECK(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  ~AllocatingWhileCaptured() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  AllocatingWhileCaptured(const AllocatingWhileCaptured&) = delete;
  AllocatingWhileCaptured& operator=(const AllocatingWhileCaptured&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// A pattern's source on a device.
struct LoadedSource {
  DriverModule module;
  CUfunc_st* see_tiles;
  CUfunc_st* write_tiles;
  JitReport report;
};

template <class T>
void upload(const DeviceBuffer& to, const std::vector<T>& from, const CudaStream& stream) {
  CUDA_CHECK(cudaMemcpyAsync(to.as<void>(), from.data(), sizeof(T) * from.size(),
                             cudaMemcpyHostToDevice, stream.get()));
}

class DeviceSights : public TileSights {
 public:
  DeviceSights(std::shared_ptr<const LoadedSource> loaded, PatternSource source,
               std::shared_ptr<const SparseMask> mask, int device)
      : loaded_(std::move(loaded)),
        source_(std::move(source)),
        mask_(std::move(mask)),
        device_(device) {}

  std::vector<SeenTile> of_union(int of_union, const SightedTiles& tiles) const override {
    require_device();
    const AllocatingWhileCaptured relaxed;
    TileQuestion asked = question(of_union, tiles);
    const auto count =
        static_cast<std::size_t>(asked.row_tiles) * static_cast<std::size_t>(asked.key_tiles);
    std::vector<SeenTile> seen(count);
    const DeviceBuffer memory(sizeof(SeenTile) * count);
    const CudaStream stream;
    auto* of_tiles = memory.as<SeenTile>();
    void* arguments[] = {&asked, &of_tiles};
    loaded_->module.launch(loaded_->see_tiles, static_cast<unsigned>(count), kThreads, stream.get(),
                           arguments);
    CUDA_CHECK(cudaMemcpyAsync(seen.data(), of_tiles, memory.bytes(), cudaMemcpyDeviceToHost,
                               stream.get()));
    stream.synchronize();
    return seen;
  }

  bool write_words(const SightedTiles& tiles, std::span<const Place> firsts,
                   std::span<const Place> others, std::span<std::uint32_t> words) const override {
    if (words.empty()) return true;
    require_device();
    const AllocatingWhileCaptured relaxed;
    const CudaStream stream;
    const DeviceBuffer memory(words.size_bytes()), differing(sizeof(int));
    CUDA_CHECK(cudaMemsetAsync(differing.as<void>(), 0, sizeof(int), stream.get()));
    visit_places(tiles, firsts, memory.as<std::uint32_t>(), nullptr, stream);
    visit_places(tiles, others, memory.as<std::uint32_t>(), differing.as<int>(), stream);
    int unlike = 0;
    CUDA_CHECK(cudaMemcpyAsync(words.data(), memory.as<void>(), words.size_bytes(),
                               cudaMemcpyDeviceToHost, stream.get()));
    CUDA_CHECK(cudaMemcpyAsync(&unlike, differing.as<void>(), sizeof(int), cudaMemcpyDeviceToHost,
                               stream.get()));
    stream.synchronize();
    return unlike == 0;
  }

 private:
  /// `places` must be sorted by pattern.
  void visit_places(const SightedTiles& tiles, std::span<const Place> places, std::uint32_t* words,
                    int* differing, const CudaStream& stream) const {
    for (std::size_t begin = 0; begin < places.size();) {
      const int of_union = places[begin].of_union;
      std::vector<CutTilePlace> of_one;
      for (; begin < places.size() && places[begin].of_union == of_union; ++begin) {
        of_one.push_back(places[begin].tile);
      }
      const DeviceBuffer memory(sizeof(CutTilePlace) * of_one.size());
      upload(memory, of_one, stream);
      TileQuestion asked = question(of_union, tiles);
      auto* given = memory.as<CutTilePlace>();
      void* arguments[] = {&asked, &given, &words, &differing};
      loaded_->module.launch(loaded_->write_tiles, static_cast<unsigned>(of_one.size()), kThreads,
                             stream.get(), arguments);
      stream.synchronize();  // before its memory goes
    }
  }

  TileQuestion question(int of_union, const SightedTiles& tiles) const {
    return tile_question(source_, mask_->pattern, of_union, tiles);
  }
  void require_device() const {
    int current = -1;
    CUDA_CHECK(cudaGetDevice(&current));
    if (current != device_) throw std::logic_error("the pattern's code is on another GPU");
  }

  std::shared_ptr<const LoadedSource> loaded_;
  PatternSource source_;
  std::shared_ptr<const SparseMask> mask_;
  int device_;
};

int sm_of(int device) {
  int major = 0, minor = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  return 10 * major + minor;
}

std::shared_ptr<const LoadedSource> load_source(const JitSource& source, int device) {
  const auto start = std::chrono::steady_clock::now();
  const int sm = sm_of(device);
  const Nvrtc& nvrtc = nvrtc_for(sm);
  CUDA_CHECK(cudaFree(nullptr));  // the GPU's context, so that it is no part of what follows
  CompiledCode code = compiled_code(nvrtc, source, sm, DiskCache::of_environment());
  DriverModule module(code.cubin);
  auto* const see_tiles = module.function("see_tiles");
  auto* const write_tiles = module.function("write_tiles");
  const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;
  return std::make_shared<const LoadedSource>(
      LoadedSource{std::move(module),
                   see_tiles,
                   write_tiles,
                   {.is_used = true,
                    .first_call_ms = ms.count(),
                    .is_from_disk = code.is_from_disk,
                    .compiler = "NVRTC " + nvrtc.version() + ", " + nvrtc.library(),
                    .note = std::move(code.note)}});
}

std::shared_ptr<const LoadedSource> loaded_source(const JitSource& source, int device) {
  // Never freed, as the modules are.
  static auto& loaded =
      *new std::map<std::pair<int, std::string>, std::shared_ptr<const LoadedSource>>();
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  auto& one = loaded[{device, source.text}];
  if (one == nullptr) one = load_source(source, device);
  return one;
}

bool is_turned_off() {
  const char* const value = std::getenv("SPARKBENCH_JIT");
  return value != nullptr && std::string_view(value) == "off";
}

}  // namespace

SightedMask with_device_sights(const std::shared_ptr<const SparseMask>& mask) {
  if (mask->sights != nullptr) throw std::logic_error("the mask has sights already");
  std::optional<PatternSource> source = pattern_source(mask->pattern);
  if (!source) {
    return {mask,
            {.why_not = "only zones and expressions together are compiled, and of those that "
                        "have an expression"}};
  }
  if (is_turned_off()) return {mask, {.why_not = "SPARKBENCH_JIT is off"}};
  int device = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  std::shared_ptr<const LoadedSource> loaded;
  try {
    loaded = loaded_source(source->source, device);
  } catch (const NvrtcMissing& error) {
    return {mask, {.why_not = error.what()}};
  }
  JitReport report = loaded->report;
  SparseMask sighted = *mask;
  sighted.sights =
      std::make_shared<const DeviceSights>(std::move(loaded), std::move(*source), mask, device);
  return {std::make_shared<const SparseMask>(std::move(sighted)), std::move(report)};
}

}  // namespace sparkbench
