#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "machine/script.h"

namespace heddle {

/// The result of a search.
struct Explored {
  std::uint64_t schedules = 0;
  std::uint64_t steps = 0;  ///< of all schedules
  bool all = false;         ///< whether it completed without being stopped
  Script last;              ///< the last schedule
};

/// Enumerates all schedules of a small program with at most a given number of preemptions: that is
/// enough for most errors, and far fewer than all schedules (Musuvathi and Qadeer, Iterative
/// Context Bounding for Systematic Testing of Multithreaded Programs, PLDI 2007).
///
/// It begins with the schedule without preemptions, and continues depth first. Each schedule is a
/// script: the switches at which it departs from the default order. The choice of the next core
/// after a core parks, spins or ends is free; a switch from a core that could continue is a
/// preemption.
class Preemptions {
 public:
  /// Runs the program under a script: a run_crew() with ScheduleKind::script, of a program that is
  /// deterministic given its schedule. Returns false to stop the search.
  using Run = std::function<bool(const Script&)>;

  explicit Preemptions(int most) : most_(most) {}

  /// Runs all schedules, or until it is stopped.
  /// @param from the first schedule; those before it are skipped
  Explored explore(const Run& run, const Script& from = {});

 private:
  struct Choice {
    Switch change;
    bool preempts;
  };
  /// A schedule that was run, and those that follow from it by one more change.
  struct Visited {
    std::vector<Choice> choices;
    std::size_t next = 0;
    int preemptions = 0;
  };

  int begin_before(const Script& from, const Run& run);
  Visited& note_choices(int preemptions);

  int most_;
  std::vector<Visited> path_;  ///< from the first schedule to the last that was run
  std::size_t depth_ = 0;      ///< in use of the path; entries after it are reused
  Script script_;
};

/// Removes from a script the switches that are not needed to fail: none can be removed from the
/// result.
/// @param fails runs the program under a script; true for the given one
[[nodiscard]] Script shrink(Script script, const std::function<bool(const Script&)>& fails);

}  // namespace heddle
