#include "kernels/jit/disk_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include "kernels/base/files/temporary_file.h"

namespace sparkbench {
namespace {

// A file: this line; the sizes of key and content and a sum over both, as 64-bit numbers; both.
constexpr std::string_view kFirstLine = "sparkbench cache 1\n";
constexpr off_t kMostBytes = 64 << 20;  // the code of a mask is some kilobytes

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

bool is_off(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::tolower(letter));
  return text == "off";
}

/// Whether only this user and root can have written it.
bool is_trusted(const struct stat& status) {
  const bool is_own = status.st_uid == geteuid() || status.st_uid == 0;
  return is_own && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// Makes it and its parents, each accessible only to this user whatever the umask is. False with
/// errno.
bool make_folders(const std::filesystem::path& path) {
  struct stat status {};
  if (path.empty() || stat(path.c_str(), &status) == 0) return true;
  if (!make_folders(path.parent_path())) return false;
  if (mkdir(path.c_str(), 0700) != 0) return errno == EEXIST;
  return chmod(path.c_str(), 0700) == 0;
}

/// Once for each folder in a process; otherwise each mask would repeat it.
void say_once(const std::string& why_not) {
  static std::mutex mutex;
  static auto& said = *new std::set<std::string>();
  const std::lock_guard lock(mutex);
  if (said.insert(why_not).second) std::fprintf(stderr, "sparkbench: %s\n", why_not.c_str());
}

/// An entry's bytes, if its file is trusted and undamaged.
std::optional<std::string> bytes_of(int folder, const std::string& name) {
  const FileDescriptor file(
      openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!file.is_open() || fstat(file.get(), &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode) || !is_trusted(status) || status.st_size > kMostBytes) {
    return std::nullopt;
  }
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::read(file.get(), &bytes[done], bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

}  // namespace

DiskCache DiskCache::of_environment() {
  const std::string named = variable("SPARKBENCH_JIT_CACHE");
  if (is_off(named)) return DiskCache({});
  if (!named.empty()) return DiskCache(named);
  if (const std::filesystem::path caches = variable("XDG_CACHE_HOME"); caches.is_absolute()) {
    return DiskCache(caches / "sparkbench");
  }
  const std::filesystem::path home = variable("HOME");
  if (!home.is_absolute()) return DiskCache({});
  return DiskCache(home / ".cache" / "sparkbench");
}

std::string DiskCache::name_of(std::string_view key) {
  return hex_of(fnv(key, kBasis)) + hex_of(fnv(key, kOtherBasis)) + ".bin";
}

/// Not open if no folder can be used: `why_not` says why.
FileDescriptor DiskCache::open_folder(std::string& why_not) const {
  FileDescriptor folder(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  if (!folder.is_open() || fstat(folder.get(), &status) != 0) {
    why_not = folder_.string() + ": " + std::strerror(errno);
    return FileDescriptor(-1);
  }
  if (is_trusted(status)) return folder;
  why_not =
      "the cache in " + folder_.string() +
      " is not used, since others than this user can write there; allowed: a folder that is "
      "yours or root's and writable for nobody else (chmod go-w), or SPARKBENCH_JIT_CACHE=off";
  say_once(why_not);
  return FileDescriptor(-1);
}

std::optional<std::string> DiskCache::read(std::string_view key) const {
  if (folder_.empty()) return std::nullopt;
  std::string why_not;
  const FileDescriptor folder = open_folder(why_not);
  if (!folder.is_open()) return std::nullopt;
  const std::optional<std::string> bytes = bytes_of(folder.get(), name_of(key));
  return bytes ? content_of(*bytes, key) : std::nullopt;
}

std::string DiskCache::write(std::string_view key, std::string_view content) const {
  if (folder_.empty()) return "";
  std::string why_not = folder_.string() + ": ";
  if (!make_folders(folder_)) return why_not + std::strerror(errno);
  const FileDescriptor folder = open_folder(why_not);
  if (!folder.is_open()) return why_not;
  const EntryHeader header{key.size(), content.size(), sum_of_entry(key, content)};
  std::string bytes(kFirstLine);
  bytes.append(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes.append(key).append(content);
  const std::string name = name_of(key);
  TemporaryFile file(folder.get(), name, 0644);
  if (file.is_open() && file.write(bytes) && file.take_name()) return "";
  return (folder_ / name).string() + ": " + std::strerror(errno);
}

}  // namespace sparkbench
