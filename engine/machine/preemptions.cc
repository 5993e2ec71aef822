#include "machine/preemptions.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <utility>

namespace heddle {

Explored Preemptions::explore(const Run& run, const Script& from) {
  int preemptions = begin_before(from, run);
  Explored explored;
  while (true) {
    const bool goes_on = run(script_);
    ++explored.schedules;
    explored.steps += steps_of_last_script().size();
    explored.last = script_;
    if (!goes_on) return explored;
    note_choices(preemptions);
    while (depth_ > 0 && path_[depth_ - 1].next == path_[depth_ - 1].choices.size()) {
      --depth_;
      if (depth_ > 0) script_.pop_back();
    }
    if (depth_ == 0) break;
    Visited& at = path_[depth_ - 1];
    const Choice& choice = at.choices[at.next++];
    preemptions = at.preemptions + int{choice.preempts};
    script_.push_back(choice.change);
  }
  explored.all = true;
  return explored;
}

/// Restores the state of a search just before it runs the schedule `from`.
/// @return the number of preemptions in it
int Preemptions::begin_before(const Script& from, const Run& run) {
  depth_ = 0;
  script_.clear();
  int preemptions = 0;
  for (const Switch& change : from) {
    (void)run(script_);
    Visited& visited = note_choices(preemptions);
    const auto found = std::find_if(visited.choices.begin(), visited.choices.end(),
                                    [&](const Choice& choice) { return choice.change == change; });
    if (found == visited.choices.end()) {
      throw std::invalid_argument(
          "the script to begin with does not belong to this search: at step " +
          std::to_string(change.step) + " it has no switch to core " + std::to_string(change.core));
    }
    visited.next = static_cast<std::size_t>(found - visited.choices.begin()) + 1;
    preemptions += int{found->preempts};
    script_.push_back(change);
  }
  return preemptions;
}

/// For the last run: records which other cores could have made the steps after its script's last
/// switch.
Preemptions::Visited& Preemptions::note_choices(int preemptions) {
  if (depth_ == path_.size()) path_.emplace_back();
  Visited& visited = path_[depth_++];
  visited = {.choices = std::move(visited.choices), .preemptions = preemptions};
  visited.choices.clear();
  const std::vector<ScriptStep>& steps = steps_of_last_script();
  for (std::uint64_t step = script_.empty() ? 0 : script_.back().step + 1; step < steps.size();
       ++step) {
    const ScriptStep& made = steps[step];
    if (!made.due && preemptions == most_) continue;
    for (std::uint64_t others = made.able & ~(std::uint64_t{1} << made.core); others != 0;
         others &= others - 1) {
      visited.choices.push_back({{step, std::countr_zero(others)}, !made.due});
    }
  }
  return visited;
}

Script shrink(Script script, const std::function<bool(const Script&)>& fails) {
  for (bool shrunk = true; shrunk;) {
    shrunk = false;
    for (std::size_t at = script.size(); at > 0; --at) {
      Script shorter = script;
      shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(at - 1));
      if (!fails(shorter)) continue;
      script = std::move(shorter);
      shrunk = true;
    }
  }
  return script;
}

}  // namespace heddle
