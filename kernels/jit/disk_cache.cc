#include "kernels/jit/disk_cache.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

namespace sparkbench {
namespace {

// A file: this line; the sizes of key and content and a sum over both, as 64-bit numbers; both.
constexpr std::string_view kFirstLine = "sparkbench cache 1\n";

struct EntryHeader {
  std::uint64_t key_bytes, content_bytes, sum;
};

/// FNV-1a of 64 bits, from a basis on.
std::uint64_t fnv(std::string_view bytes, std::uint64_t hash) {
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  }
  return hash;
}

constexpr std::uint64_t kBasis = 0xcbf29ce484222325u, kOtherBasis = 0x84222325cbf29ce4u;

std::uint64_t sum_of_entry(std::string_view key, std::string_view content) {
  return fnv(content, fnv(key, kBasis));
}

std::string hex_of(std::uint64_t number) {
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[number >> shift & 15u];
  return text;
}

std::optional<std::string> content_of(std::string_view file, std::string_view key) {
  EntryHeader header{};
  if (!file.starts_with(kFirstLine)) return std::nullopt;
  file.remove_prefix(kFirstLine.size());
  if (file.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, file.data(), sizeof(header));
  file.remove_prefix(sizeof(header));
  if (header.key_bytes != key.size() || file.size() < key.size() ||
      header.content_bytes != file.size() - key.size()) {
    return std::nullopt;
  }
  const std::string_view content = file.substr(key.size());
  if (file.substr(0, key.size()) != key || header.sum != sum_of_entry(key, content)) {
    return std::nullopt;
  }
  return std::string(content);
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

DiskCache DiskCache::of_environment() {
  const std::string named = variable("SPARKBENCH_JIT_CACHE");
  if (named == "off") return DiskCache({});
  if (!named.empty()) return DiskCache(named);
  if (const std::string caches = variable("XDG_CACHE_HOME"); !caches.empty()) {
    return DiskCache(std::filesystem::path(caches) / "sparkbench");
  }
  const std::string home = variable("HOME");
  if (home.empty()) return DiskCache({});
  return DiskCache(std::filesystem::path(home) / ".cache" / "sparkbench");
}

std::filesystem::path DiskCache::file_of(std::string_view key) const {
  return folder_ / (hex_of(fnv(key, kBasis)) + hex_of(fnv(key, kOtherBasis)) + ".bin");
}

std::optional<std::string> DiskCache::read(std::string_view key) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream file(file_of(key), std::ios::binary);
  if (!file) return std::nullopt;
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return content_of(bytes, key);
}

std::string DiskCache::write(std::string_view key, std::string_view content) const {
  if (folder_.empty()) return "";
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) return folder_.string() + ": " + error.message();
  static std::atomic<unsigned> count = 0;
  const std::filesystem::path file = file_of(key);
  const std::filesystem::path own =
      file.string() + "." + std::to_string(getpid()) + "." + std::to_string(count++);
  const EntryHeader header{key.size(), content.size(), sum_of_entry(key, content)};
  std::ofstream out(own, std::ios::binary);
  out << kFirstLine;
  out.write(reinterpret_cast<const char*>(&header), sizeof(header));
  out << key << content;
  out.close();
  if (out) std::filesystem::rename(own, file, error);
  if (out && !error) return "";
  const std::string why = error ? error.message() : std::strerror(errno);
  std::filesystem::remove(own, error);
  return own.string() + ": " + why;
}

}  // namespace sparkbench
