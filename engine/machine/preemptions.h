#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "machine/script.h"

namespace heddle {

/// What a search went through.
struct Explored {
  std::uint64_t schedules = 0;
  std::uint64_t steps = 0;  ///< of all of them
  bool all = false;         ///< whether it went to the end: it was not stopped
  Script last;              ///< the last of them
};

/// Goes through all schedules of a small program that have at most so many preemptions: that is
/// enough for most errors, and far fewer than all (Musuvathi and Qadeer, Iterative Context Bounding
/// for Systematic Testing of Multithreaded Programs, PLDI 2007).
///
/// It begins with the one where nobody is preempted, and goes on depth first. Each schedule is a
/// script: where it departs from what would happen by itself. Who goes on once a core parks, spins
/// or ends is free; a switch from a core that could have gone on is a preemption.
class Preemptions {
 public:
  /// Runs the program under a script: a run_crew() with ScheduleKind::script, of a program that
  /// does the same whenever its schedule is. False: stop.
  using Run = std::function<bool(const Script&)>;

  explicit Preemptions(int most) : most_(most) {}

  /// Goes through them all, or until it is stopped.
  /// @param from the first; what comes before it is left out
  Explored explore(const Run& run, const Script& from = {});

 private:
  struct Choice {
    Switch change;
    bool preempts;
  };
  /// A schedule that was run, and those that follow from it by one change more.
  struct Visited {
    std::vector<Choice> choices;
    std::size_t next = 0;
    int preemptions = 0;
  };

  int begin_before(const Script& from, const Run& run);
  Visited& note_choices(int preemptions);

  int most_;
  std::vector<Visited> path_;  ///< from the first schedule to the last that was run
  std::size_t depth_ = 0;      ///< of the path; what is behind it is room to be used again
  Script script_;
};

/// Leaves out of a script what it takes not to fail: no switch of the result can be spared.
/// @param fails runs the program under a script; of the one given it is true
[[nodiscard]] Script shrink(Script script, const std::function<bool(const Script&)>& fails);

}  // namespace heddle
