#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "machine/sampling.h"
#include "machine/timeline.h"

namespace heddle {

/// The events of one real core. Only the core's own thread uses it while the run lasts.
class CoreLog {
 public:
  using Ticks = std::uint64_t;

  /// @param events their place, so that a core never waits for memory; later ones are dropped
  /// @param skipped_states states whose accesses are not recorded
  /// @param any_full set once a log has dropped an event: then no core begins another transaction
  CoreLog(std::uint16_t core, std::span<TimelineEvent> events, const Stretches& stretches,
          std::span<const std::uint32_t> skipped_states, std::atomic<bool>& any_full);

  /// Whether a transaction that begins now is recorded.
  [[nodiscard]] bool records(Ticks now) noexcept {
    // relaxed: carries no data; seeing it a transaction later does as well.
    return opened_ && stretches_.contains(now) && !any_full_.load(std::memory_order_relaxed);
  }
  /// Whether the accesses of a state are recorded.
  [[nodiscard]] bool records_access(std::uint32_t state) const noexcept {
    return state >= skipped_.size() || skipped_[state] == 0;
  }

  /// The measured window begins: later transactions may be recorded.
  void open() noexcept { opened_ = true; }
  void add(Ticks time, std::uint16_t what, std::uint32_t subject, std::uint64_t number) noexcept;
  /// Adds a step of a spinning wait; if it is not the first, extends the last event.
  void add_spin(Ticks begin, Ticks end, bool first) noexcept;

  // After the core has ended:

  [[nodiscard]] std::span<const TimelineEvent> events() const { return events_.first(count_); }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  std::span<TimelineEvent> events_;
  std::size_t count_ = 0;
  std::uint64_t dropped_ = 0;
  Stretches stretches_;
  std::vector<std::uint8_t> skipped_;  ///< by state
  std::atomic<bool>& any_full_;
  std::uint16_t core_;
  bool opened_ = false;
};

}  // namespace heddle
