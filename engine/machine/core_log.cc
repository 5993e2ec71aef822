#include "machine/core_log.h"

#include <algorithm>

namespace heddle {

CoreLog::CoreLog(std::uint16_t core, std::span<TimelineEvent> events, const Stretches& stretches,
                 std::span<const std::uint32_t> skipped_states, std::atomic<bool>& any_full)
    : events_(events), stretches_(stretches), any_full_(any_full), core_(core) {
  for (const std::uint32_t state : skipped_states) {
    skipped_.resize(std::max(skipped_.size(), state + std::size_t{1}), 0);
    skipped_[state] = 1;
  }
}

void CoreLog::add(Ticks time, std::uint16_t what, std::uint32_t subject,
                  std::uint64_t number) noexcept {
  if (count_ == events_.size()) [[unlikely]] {
    ++dropped_;
    any_full_.store(true, std::memory_order_relaxed);  // relaxed: carries no data
    return;
  }
  events_[count_++] = {
      .time = time, .number = number, .subject = subject, .core = core_, .what = what};
}

void CoreLog::add_spin(Ticks begin, Ticks end, bool first) noexcept {
  // An event that was dropped is not extended.
  if (!first && dropped_ == 0 && count_ > 0) {
    TimelineEvent& last = events_[count_ - 1];
    if (last.what == Timeline::kSpun) {
      last.number = end - last.time;
      return;
    }
  }
  add(begin, Timeline::kSpun, Timeline::kNobody, end - begin);
}

}  // namespace heddle
