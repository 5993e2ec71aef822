#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "machine/timeline.h"

namespace heddle {

/// The cores of one run of the virtual machine, whoever decides which of them goes on.
///
/// What cores wait for is a word and the value it had when they looked. Functions without a comment
/// are those of VirtualMachine, called by the running core.
class Cores {
 public:
  using Ticks = std::uint64_t;
  using Word = std::atomic<std::uint64_t>;

  Cores() = default;
  Cores(const Cores&) = delete;
  Cores& operator=(const Cores&) = delete;
  virtual ~Cores() = default;

  /// Runs them, and `look_on` from outside every now and then until it returns false.
  /// @param begin the time it is
  /// @return whether all have left; if not, this must be kept for good
  virtual bool run(Ticks begin, const std::function<bool()>& look_on) = 0;

  /// Of the running core; once run() is over, when it was.
  [[nodiscard]] Ticks now() const { return clock_; }
  /// Something that the running core does, or that befalls it, now.
  [[nodiscard]] TimelineEvent event(std::uint16_t what, std::uint32_t subject,
                                    std::uint64_t number) const {
    return {.time = clock_,
            .number = number,
            .subject = subject,
            .core = static_cast<std::uint16_t>(core_),
            .what = what};
  }
  /// Why some have not left.
  [[nodiscard]] const std::string& left_behind() const { return left_behind_; }

  [[nodiscard]] virtual std::uintptr_t number_of(const void* object) = 0;
  virtual void pause() = 0;
  /// A pause of a core that waits on an object. Returns what to record of it.
  [[nodiscard]] virtual TimelineEvent spin(const void* on) = 0;
  virtual void park(const Word& word, std::uint64_t expected, Ticks timeout) = 0;
  virtual void idle(const Word& stop, Ticks duration) = 0;
  /// @param word nullptr: wakes everyone; may be called from outside, too
  virtual void unpark(const void* word) = 0;

 protected:
  /// What a core is parked on.
  struct Parking {
    const Word* word = nullptr;  ///< nullptr: it is not parked
    std::uint64_t expected = 0;
    Ticks since = 0;
    bool ends = false;  ///< by itself, if nobody wakes the core

    /// Whether the core will sleep on for good although it has no reason to.
    [[nodiscard]] bool missed_its_wake_up() const {
      // relaxed: there is one thread.
      return word != nullptr && !ends && word->load(std::memory_order_relaxed) != expected;
    }
  };

  /// Returned by run().
  bool leave_behind(std::string why) {
    left_behind_ = std::move(why);
    return false;
  }
  bool leave_parked() {
    return leave_behind("every core that has not left is parked, and nobody is left to wake it");
  }
  bool leave_asleep(std::size_t core) {
    return leave_behind("core " + std::to_string(core) +
                        " is parked on a word that has moved on: its wake-up was lost");
  }
  bool leave_late(std::uint64_t grace_us) {
    return leave_behind("some cores did not leave within " + std::to_string(grace_us) +
                        " us of virtual time after they were told to");
  }

  int core_ = 0;  ///< the running one
  Ticks clock_ = 0;

 private:
  std::string left_behind_;
};

}  // namespace heddle
