#include "machine/memory_guard.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <limits>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace heddle {

namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
constexpr auto kBetweenLooks = std::chrono::milliseconds(10);
/// The number of bytes that may be mapped between two checks: a check costs as much as filling some
/// pages.
constexpr std::uint64_t kUnseenBytes = std::uint64_t{16} << 20;

struct Guard {
  std::uint64_t reserve = 0;
  std::vector<MemoryGroup> groups;
};

/// Lives as long as the process: databases may outlive any static object.
Guard& guard() {
  static auto* const only = new Guard;
  return *only;
}

thread_local bool guarded = false;
thread_local std::uint64_t unseen = 0;

/// The number behind a name in a file of lines `NAME NUMBER`; `missing` if there is none.
std::uint64_t number_named(const std::string& path, const std::string& name,
                           std::uint64_t missing) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    std::uint64_t number = 0;
    if (word == name && file >> number) return number;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return missing;
}

std::uint64_t left_of(std::uint64_t limit, std::uint64_t used) {
  return limit - std::min(limit, used);
}

std::uint64_t system_left() {
  const std::uint64_t kib = number_named("/proc/meminfo", "MemAvailable:", kUnlimited >> 10);
  return kib << 10;
}

std::uint64_t group_left(const MemoryGroup& group) {
  std::uint64_t used = 0;
  if (!(std::ifstream(group.usage_file) >> used)) return kUnlimited;
  const std::uint64_t cache = number_named(group.stat_file, "inactive_file", 0);
  return left_of(group.limit, left_of(used, cache));
}

std::uint64_t address_space_left() {
  rlimit limit{};
  std::uint64_t pages = 0;
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
  if (!(std::ifstream("/proc/self/statm") >> pages)) return kUnlimited;
  return left_of(limit.rlim_cur, pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
}

}  // namespace

void guard_memory(std::uint64_t reserve_bytes, std::vector<MemoryGroup> groups) {
  guard() = {.reserve = reserve_bytes, .groups = std::move(groups)};
}

std::uint64_t memory_left() {
  std::uint64_t left = std::min(system_left(), address_space_left());
  for (const MemoryGroup& group : guard().groups) left = std::min(left, group_left(group));
  return left;
}

std::uint64_t resident_bytes() {
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  if (!(std::ifstream("/proc/self/statm") >> all >> resident)) return 0;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

LoadingGuard::LoadingGuard() {
  guarded = true;
  unseen = kUnseenBytes;
}

LoadingGuard::~LoadingGuard() { guarded = false; }

void LoadingGuard::require(std::uint64_t bytes) {
  if (!guarded || guard().reserve == 0) return;
  unseen += bytes;
  if (unseen < kUnseenBytes) return;
  unseen = 0;
  if (left_of(memory_left(), bytes) < guard().reserve) throw std::bad_alloc();
}

bool MemoryWatch::is_short() {
  if (short_ || guard().reserve == 0) return short_;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return false;
  next_look_ = now + kBetweenLooks;
  short_ = memory_left() < guard().reserve;
  return short_;
}

}  // namespace heddle
