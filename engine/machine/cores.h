#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "machine/timeline.h"

namespace heddle {

/// The cores of one run of the virtual machine, independent of the rule that picks the next core to
/// run.
///
/// Cores wait for a word to change from the value that they read. Functions without a comment are
/// those of VirtualMachine, called by the running core.
class Cores {
 public:
  using Ticks = std::uint64_t;
  using Word = std::atomic<std::uint64_t>;

  Cores() = default;
  Cores(const Cores&) = delete;
  Cores& operator=(const Cores&) = delete;
  virtual ~Cores() = default;

  /// Runs the cores, and calls `look_on` from outside at intervals until it returns false.
  /// @param begin the start time
  /// @return whether all cores have left; if not, this object must be kept for good
  virtual bool run(Ticks begin, const std::function<bool()>& look_on) = 0;

  /// The running core's time; after run(), the end time.
  [[nodiscard]] Ticks now() const { return clock_; }
  /// An event of the running core at the present time.
  [[nodiscard]] TimelineEvent event(std::uint16_t what, std::uint32_t subject,
                                    std::uint64_t number) const {
    return {.time = clock_,
            .number = number,
            .subject = subject,
            .core = static_cast<std::uint16_t>(core_),
            .what = what};
  }
  /// The reason why some cores have not left.
  [[nodiscard]] const std::string& left_behind() const { return left_behind_; }

  [[nodiscard]] virtual std::uintptr_t number_of(const void* object) = 0;
  virtual void pause() = 0;
  /// A pause of a core that waits on an object. Returns the event to record.
  [[nodiscard]] virtual TimelineEvent spin(const void* on) = 0;
  virtual void park(const Word& word, std::uint64_t expected, Ticks timeout) = 0;
  virtual void idle(const Word& stop, Ticks duration) = 0;
  /// @param word nullptr: wakes every core; may also be called from outside a run
  virtual void unpark(const void* word) = 0;

 protected:
  /// The word on which a core is parked.
  struct Parking {
    const Word* word = nullptr;  ///< nullptr: it is not parked
    std::uint64_t expected = 0;
    Ticks since = 0;
    bool ends = false;  ///< ends by itself if no other core wakes it

    /// Whether the core will sleep for good although its reason to sleep has gone.
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
    return leave_behind("every core that has not left is parked, and no core is left to wake it");
  }
  bool leave_asleep(std::size_t core) {
    return leave_behind("core " + std::to_string(core) +
                        " is parked on a word that has changed: its wake-up was lost");
  }
  bool leave_late(std::uint64_t grace_us) {
    return leave_behind("some cores did not leave within " + std::to_string(grace_us) +
                        " us of virtual time after they were asked to");
  }

  int core_ = 0;  ///< the running core
  /// Every core has been woken, because the run is over. A core may have found it going on just
  /// before, and be about to park: without a time-out no other would wake it again.
  bool all_woken_ = false;
  Ticks clock_ = 0;

 private:
  std::string left_behind_;
};

}  // namespace heddle
