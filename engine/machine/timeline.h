#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "machine/sampling.h"

namespace heddle {

/// An event of a core at one moment of a run.
struct TimelineEvent {
  std::uint64_t time;     ///< ticks
  std::uint64_t number;   ///< a parameter; its meaning depends on `what`
  std::uint32_t subject;  ///< the event's object; its meaning depends on `what`
  std::uint16_t core;
  std::uint16_t what;  ///< kSpun, or a number to which the recording code assigns a meaning
};

/// The recorded events of a run. Those of a simulated one are in the order in which the machine
/// executed them: on one core in the order of time, between cores up to the machine's skew. Those
/// of real cores are in the order of their time-stamp counters.
class Timeline {
 public:
  /// The machine's own event: the core has spun for `number` ticks, on a word whose line last
  /// belonged exclusively to core `subject` (kNobody: unknown, or its own).
  static constexpr std::uint16_t kSpun = 0;
  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};

  /// @param most events; later ones are dropped
  /// @param beginning the `what` of an event that begins something on its core
  /// @param sampling the part to record, on a machine that samples
  Timeline(std::size_t most, std::uint16_t beginning, Sampling sampling = {})
      : most_(most), beginning_(beginning), sampling_(std::move(sampling)) {}

  /// Starts counting events. Of the earlier ones only those still going on are kept: each core's
  /// events since its last beginning.
  void open() {
    forget();
    open_ = true;
    if (events_.size() <= most_) return;
    // Long attempts on many cores have more events than the limit before the first one counts.
    dropped_ += events_.size() - most_;
    events_.resize(most_);
    for (std::size_t& last : last_of_core_) {
      if (last >= most_) last = kNone;
    }
  }

  void add(const TimelineEvent& event) {
    if (event.core >= last_of_core_.size()) {
      last_of_core_.resize(event.core + std::size_t{1}, kNone);
    }
    if (full()) {
      ++dropped_;
      last_of_core_[event.core] = kNone;
      return;
    }
    if (events_.size() >= most_) forget();
    last_of_core_[event.core] = events_.size();
    events_.push_back(event);
  }

  /// Adds a step of a spinning wait; if it is not the first, extends the core's last event.
  void add_spin(const TimelineEvent& spin, bool first) {
    if (!first && spin.core < last_of_core_.size() && last_of_core_[spin.core] != kNone) {
      TimelineEvent& last = events_[last_of_core_[spin.core]];
      if (last.what == kSpun) {
        last.number = spin.time + spin.number - last.time;
        return;
      }
    }
    if (first || !full()) add(spin);
  }

  /// Sets the events, which were recorded elsewhere.
  void take(std::vector<TimelineEvent> events, std::uint64_t dropped) {
    events_ = std::move(events);
    dropped_ = dropped;
  }

  /// The most events.
  [[nodiscard]] std::size_t most() const { return most_; }
  [[nodiscard]] const Sampling& sampling() const { return sampling_; }

  /// Whether the limit is reached.
  [[nodiscard]] bool full() const { return open_ && events_.size() >= most_; }

  [[nodiscard]] const std::vector<TimelineEvent>& events() const { return events_; }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  void forget() {
    std::vector<std::size_t> begun(last_of_core_.size(), events_.size());
    std::fill(last_of_core_.begin(), last_of_core_.end(), kNone);
    for (std::size_t at = 0; at < events_.size(); ++at) {
      if (events_[at].what == beginning_) begun[events_[at].core] = at;
    }
    std::size_t kept = 0;
    for (std::size_t at = 0; at < events_.size(); ++at) {
      const TimelineEvent event = events_[at];
      if (at < begun[event.core]) continue;
      last_of_core_[event.core] = kept;
      events_[kept++] = event;
    }
    events_.resize(kept);
  }

  std::size_t most_;
  std::uint16_t beginning_;
  Sampling sampling_;
  bool open_ = false;
  std::vector<TimelineEvent> events_;
  std::vector<std::size_t> last_of_core_;  ///< the position of each core's last event
  std::uint64_t dropped_ = 0;
};

}  // namespace heddle
