#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "machine/schedule.h"
#include "machine/turn_order.h"

namespace heddle {

/// A step of a scripted run, and the cores that could have made it.
struct ScriptStep {
  std::uint64_t able;  ///< bit c: core c; includes the core that made it
  int core;            ///< that made it
  /// Whether a switch was due: the core of the previous step could not continue, or was spinning.
  /// Otherwise, a switch to another core would have been a preemption.
  bool due;
  bool operator==(const ScriptStep&) const = default;
};

/// Cores in the order that a script gives (ScheduleKind::script); records the steps.
///
/// A core that spins has its next turn after all others that can run have had theirs.
class ScriptedOrder final : public TurnOrder {
 public:
  static constexpr int kMostCores = 64;

  /// @param steps receives the steps that are made; must outlive this
  ScriptedOrder(Script script, std::vector<ScriptStep>& steps)
      : script_(std::move(script)), steps_(steps) {
    steps_.clear();
  }

  [[nodiscard]] std::uint64_t next_say() const override {
    return at_ == script_.size() ? kNever : script_[at_].step;
  }

  [[nodiscard]] std::size_t before(std::uint64_t step, std::size_t running,
                                   const CoreSet& able) override {
    const std::size_t core = listed(step, able, running);
    spun_ &= ~bit(core);
    return core;
  }

  void spun(std::size_t core) override {
    spun_ |= bit(core);
    spins_ = true;
  }

  [[nodiscard]] std::size_t next(std::uint64_t step, const CoreSet& able) override {
    const std::uint64_t all = able.to_ullong();
    if ((all & ~spun_) == 0) spun_ = all == bit(last_) ? 0 : bit(last_);
    const std::uint64_t fresh = all & ~spun_;
    const std::size_t core = listed(step, able, static_cast<std::size_t>(std::countr_zero(fresh)));
    // Two spinning cores would pass the turn back and forth forever; hence cores that have not had
    // a turn come first.
    if (due_at_ != step) choice_ = spins_ ? fresh : all;
    due_at_ = step;
    spins_ = false;
    spun_ &= ~bit(core);
    last_ = core;
    return core;
  }

  void made(std::uint64_t step, std::size_t core, const CoreSet& able) override {
    const bool due = due_at_ == step;
    steps_.push_back({(due ? choice_ : able.to_ullong()) | bit(core), static_cast<int>(core), due});
    last_ = core;
  }

 private:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  [[nodiscard]] static std::uint64_t bit(std::size_t core) { return std::uint64_t{1} << core; }

  /// The core that the script names here; a switch to a core that can't run is ignored.
  std::size_t listed(std::uint64_t step, const CoreSet& able, std::size_t otherwise) {
    std::size_t core = otherwise;
    for (; at_ < script_.size() && script_[at_].step <= step; ++at_) {
      const auto wanted = static_cast<std::size_t>(script_[at_].core);
      if (script_[at_].step == step && wanted < kMostCores && able[wanted]) core = wanted;
    }
    return core;
  }

  Script script_;
  std::vector<ScriptStep>& steps_;
  std::size_t at_ = 0;             ///< the next switch
  std::uint64_t spun_ = 0;         ///< the cores that spin and have had their turn
  bool spins_ = false;             ///< the running core does
  std::size_t last_ = 0;           ///< the core that ran last
  std::uint64_t due_at_ = kNever;  ///< the last step at which a switch was due …
  std::uint64_t choice_ = 0;       ///< … and the cores that it could have gone to
};

/// The steps of the last scripted run in this thread.
[[nodiscard]] const std::vector<ScriptStep>& steps_of_last_script() noexcept;

}  // namespace heddle
