#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "machine/schedule.h"
#include "machine/turn_order.h"

namespace heddle {

/// Probabilistic concurrency testing: the core of the highest priority runs, and at a few steps
/// drawn beforehand the running core gets the lowest priority (Burckhardt et al., A Randomized
/// Scheduler with Probabilistic Guarantees of Finding Bugs, ASPLOS 2010).
///
/// The paper assumes a program of a fixed number of steps; here every stretch of that many steps
/// counts as one program, with priorities and change points of its own. A core that spins gets the
/// lowest priority until its stretch ends.
class Priorities final : public TurnOrder {
 public:
  Priorities(std::size_t cores, const ScheduleOptions& schedule, std::uint64_t seed)
      : random_(seed),
        steps_(schedule.steps),
        of_core_(cores),
        changes_(static_cast<std::size_t>(schedule.depth - 1)) {
    draw(0);
  }

  [[nodiscard]] std::uint64_t next_say() const override {
    return next_change_ == changes_.size() ? end_ : changes_[next_change_].step;
  }

  [[nodiscard]] std::size_t before(std::uint64_t step, std::size_t /*running*/,
                                   const CoreSet& able) override {
    if (step >= end_) draw(step);
    std::size_t first = highest(able);
    for (; next_change_ < changes_.size() && changes_[next_change_].step <= step; ++next_change_) {
      of_core_[first] = changes_[next_change_].priority;
      first = highest(able);
    }
    return first;
  }

  void spun(std::size_t core) override { of_core_[core] = --lowest_; }

  [[nodiscard]] std::size_t next(std::uint64_t /*step*/, const CoreSet& able) override {
    return highest(able);
  }

  void made(std::uint64_t /*step*/, std::size_t /*core*/, const CoreSet& /*able*/) override {}

 private:
  /// From this step on the core whose turn it is has this priority.
  struct Change {
    std::uint64_t step;
    std::int64_t priority;
  };

  /// Starts a stretch. Spinning cores' priorities are negative; those after a change come next.
  void draw(std::uint64_t step) {
    end_ = step + steps_;
    lowest_ = 0;
    std::iota(of_core_.begin(), of_core_.end(), static_cast<std::int64_t>(changes_.size()));
    for (std::size_t i = of_core_.size(); i > 1; --i) {
      std::swap(of_core_[i - 1], of_core_[random_() % i]);
    }
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      changes_[i] = {step + random_() % steps_, static_cast<std::int64_t>(i)};
    }
    std::sort(changes_.begin(), changes_.end(), [](const Change& one, const Change& other) {
      return std::pair(one.step, one.priority) < std::pair(other.step, other.priority);
    });
    next_change_ = 0;
  }

  [[nodiscard]] std::size_t highest(const CoreSet& able) const {
    std::size_t best = of_core_.size();
    for (std::size_t core = 0; core < of_core_.size(); ++core) {
      if (able[core] && (best == of_core_.size() || of_core_[core] > of_core_[best])) best = core;
    }
    return best;
  }

  std::mt19937_64 random_;
  std::uint64_t steps_;
  std::vector<std::int64_t> of_core_;
  std::vector<Change> changes_;
  std::size_t next_change_ = 0;
  std::uint64_t end_ = 0;  ///< of the stretch
  std::int64_t lowest_ = 0;
};

}  // namespace heddle
