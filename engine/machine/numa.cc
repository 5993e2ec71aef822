#include "machine/numa.h"

#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

namespace heddle::numa {

namespace {

constexpr int kNodesMax = 1024;  // the kernel's own bound

/// Reads a number and removes it; -1 if there is none.
int take_number(std::string_view& text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return -1;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// Whether a list such as "0-3,8" has one of the cores.
bool has_any(std::string_view list, const std::set<int>& cores) {
  while (!list.empty()) {
    const int first = take_number(list);
    if (first < 0) return false;
    int last = first;
    if (list.starts_with('-')) {
      list.remove_prefix(1);
      last = take_number(list);
    }
    const auto found = cores.lower_bound(first);
    if (found != cores.end() && *found <= last) return true;
    if (!list.starts_with(',')) return false;
    list.remove_prefix(1);
  }
  return false;
}

std::vector<int> usable_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  }
  return cores;
}

}  // namespace

std::vector<int> nodes_of(std::span<const int> cores, const std::filesystem::path& system) {
  constexpr std::string_view kPrefix = "node";
  const std::set<int> wanted(cores.begin(), cores.end());
  std::vector<int> found;
  std::error_code unreadable;
  for (const auto& entry : std::filesystem::directory_iterator(system, unreadable)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    std::string_view number = std::string_view(name).substr(kPrefix.size());
    const int node = take_number(number);
    if (node < 0 || node >= kNodesMax || !number.empty()) continue;
    std::string list;
    std::getline(std::ifstream(entry.path() / "cpulist"), list);
    if (has_any(list, wanted)) found.push_back(node);
  }
  if (found.empty()) return {0};
  std::ranges::sort(found);
  return found;
}

const std::vector<int>& nodes() {
  // Never destroyed: memory is released after the last static object is.
  static const auto* const found =
      new std::vector<int>(nodes_of(usable_cores(), "/sys/devices/system/node"));
  return *found;
}

int here() {
  if (nodes().size() == 1) return nodes().front();
  unsigned node = 0;
  return syscall(SYS_getcpu, nullptr, &node, nullptr) == 0 ? static_cast<int>(node) : 0;
}

int node_of(const std::byte* start) {
  if (nodes().size() == 1) return nodes().front();
  const void* page = start;
  int node = 0;
  // Without target nodes the call only reports where the page lies.
  return syscall(SYS_move_pages, 0, 1UL, &page, nullptr, &node, 0) == 0 ? std::max(node, 0) : 0;
}

void prefer(std::byte* start, std::size_t bytes, int node) {
  if (nodes().size() == 1) return;
  constexpr int kBits = 8 * static_cast<int>(sizeof(unsigned long));
  unsigned long mask[kNodesMax / kBits] = {};
  mask[node / kBits] = 1UL << (node % kBits);
  // The kernel leaves out the last bit of the number it gets.
  (void)syscall(SYS_mbind, start, bytes, MPOL_PREFERRED, mask, kNodesMax + 1, 0);
}

}  // namespace heddle::numa
