#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

/// The length of tests. They are written for `make test`, which must be quick; HEDDLE_TEST_SCALE
/// multiplies their lengths, and `make test-full` sets it to 10.
namespace heddle::test {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

[[nodiscard]] inline double read_scale() {
  const char* given = std::getenv("HEDDLE_TEST_SCALE");
  if (given == nullptr || *given == '\0') return 1;
  char* end = nullptr;
  const double scale = std::strtod(given, &end);
  if (*end == '\0' && scale > 0 && scale <= 1000) return scale;
  std::fprintf(stderr, "HEDDLE_TEST_SCALE is '%s'; allowed: a number above 0, 1000 at most\n",
               given);
  std::exit(2);
}

[[nodiscard]] inline double scale() {
  static const double read = read_scale();
  return read;
}

/// Whether every combination is tested, or a part in which each side of every pair occurs.
[[nodiscard]] inline bool full_length() { return scale() >= 10; }

/// The number of trials, tables or schedules; fewer where a sanitizer slows each down.
[[nodiscard]] inline std::uint64_t scaled(std::uint64_t quick) {
  const double slower = kSanitized ? 0.5 : 1;
  const double count = static_cast<double>(quick) * slower * scale();
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(count));
}

/// The length of a run, in seconds.
[[nodiscard]] inline double scaled_seconds(double quick) { return quick * scale(); }

}  // namespace heddle::test
