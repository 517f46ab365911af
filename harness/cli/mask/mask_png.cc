// Drawings of patterns as PNG, by libpng's simplified interface.
#include "harness/cli/mask/mask_picture.h"
#include "harness/environment_error.h"

#ifdef SPARKBENCH_HAS_PNG
#include <png.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "harness/cli/mask/mask_cells.h"
#endif

namespace sparkbench {

#ifdef SPARKBENCH_HAS_PNG
namespace {

constexpr int kPngCells = 1024, kLeastPixels = 512, kBorder = 8;
constexpr png_byte kWhite = 255, kLight = 170, kDark = 40, kBorderGray = 110;

png_byte gray_of(CellKind kind) {
  return kind == CellKind::kFull ? kDark : kind == CellKind::kCut ? kLight : kWhite;
}

/// A gray image, panels from left to right.
struct GrayImage {
  int width, height;
  std::vector<png_byte> pixels;

  GrayImage(int w, int h)
      : width(w),
        height(h),
        pixels(static_cast<std::size_t>(w) * static_cast<std::size_t>(h), kBorderGray) {}

  /// Each cell `scale` pixels wide and high.
  void draw(const MaskCells& cells, int scale, int left) {
    for (int y = 0; y < cells.rows * scale; ++y) {
      for (int x = 0; x < cells.columns * scale; ++x) {
        pixels[static_cast<std::size_t>(y + kBorder) * static_cast<std::size_t>(width) +
               static_cast<std::size_t>(left + x)] = gray_of(cells.at(y / scale, x / scale));
      }
    }
  }
};

std::string encoded(const GrayImage& image) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.format = PNG_FORMAT_GRAY;
  png.width = static_cast<png_uint_32>(image.width);
  png.height = static_cast<png_uint_32>(image.height);
  png_alloc_size_t bytes = 0;
  const auto write = [&](void* memory) {
    return png_image_write_to_memory(&png, memory, &bytes, 0, image.pixels.data(), 0, nullptr);
  };
  // Twice: how long it is, then what it is.
  std::string text;
  if (write(nullptr) != 0) {
    text.resize(bytes);
    if (write(text.data()) != 0) return text.substr(0, bytes);
  }
  throw std::runtime_error(std::string("libpng: ") + png.message);
}

}  // namespace

std::string draw_png(const Pattern& pattern) {
  std::vector<MaskCells> panels;
  for (std::size_t i = 0; i < pattern.unions.size(); ++i) {
    panels.push_back(cells_of(pattern, static_cast<int>(i), kPngCells));
  }
  const int scale = std::max(1, kLeastPixels / std::max(panels[0].rows, panels[0].columns));
  const int panel_width = panels[0].columns * scale + kBorder;
  GrayImage image(static_cast<int>(panels.size()) * panel_width + kBorder,
                  panels[0].rows * scale + 2 * kBorder);
  int left = kBorder;
  for (const MaskCells& cells : panels) {
    image.draw(cells, scale, left);
    left += panel_width;
  }
  return encoded(image);
}
#else
std::string draw_png(const Pattern& /*pattern*/) {
  throw EnvironmentError(
      "--output: this build has no libpng and draws no .png; allowed: .svg, .txt, or a build where "
      "libpng is (Debian: libpng-dev)");
}
#endif

}  // namespace sparkbench
