#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::client {

/// A key that a transaction accesses, by its hash. Two keys with one hash are one key: this costs
/// waits, never correctness.
struct Key {
  std::uint64_t hash;
  bool exclusive;
};

enum class Mode : std::uint8_t {
  kFifo,   ///< in the order of arrival, keys are ignored
  kSmf,    ///< the oldest that conflicts with no running one; the wait is bounded
  kLocks,  ///< conflicting ones one after the other in the order of arrival; the wait is not
           ///< bounded
};

struct Options {
  Mode mode = Mode::kSmf;
  std::size_t concurrency = 0;  ///< transactions that run at a time; 0: any number
  std::uint64_t barrier = 32;   ///< with kSmf, later ones that may start before the oldest
  std::chrono::microseconds longest_wait{1'000'000};  ///< with kSmf, of the oldest
};

struct Request {
  std::vector<Key> keys;
  bool scheduled = true;  ///< false: its keys are ignored, except with kLocks
};

/// Counts since the scheduler was made.
struct Counters {
  std::uint64_t started = 0;      ///< transactions that the scheduler has started.
  std::uint64_t passed = 0;       ///< transactions that ran unscheduled, because it was off.
  std::uint64_t waited = 0;       ///< those of `started` that did not start at once.
  std::uint64_t overtakings = 0;  ///< those of `started` that older ones still waited behind.
  std::uint64_t forced = 0;  ///< those of `started` that started in spite of a conflict or bound.
  std::uint64_t cancelled = 0;                ///< those that stopped waiting and did not start.
  std::chrono::microseconds longest_wait{0};  ///< of a transaction that has started.
  std::size_t running = 0;                    ///< now.
  std::size_t waiting = 0;                    ///< now.
};

/// Leaves each key once, in the stronger of its modes.
inline void merge_keys(std::vector<Key>& keys) {
  std::sort(keys.begin(), keys.end(), [](const Key& one, const Key& two) {
    return one.hash != two.hash ? one.hash < two.hash : one.exclusive > two.exclusive;
  });
  const auto end = std::unique(keys.begin(), keys.end(),
                               [](const Key& one, const Key& two) { return one.hash == two.hash; });
  keys.erase(end, keys.end());
}

}  // namespace heddle::client
