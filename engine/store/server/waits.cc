#include "store/server/waits.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace heddle::store {

ServerWaits::ServerWaits(std::string store, const StoreSetup& setup)
    : store_(std::move(store)),
      interrupted_(setup.interrupted),
      stop_(setup.stop),
      silence_(std::chrono::duration_cast<Clock::duration>(
          std::chrono::duration<double>(setup.silence_s))) {}

std::string ServerWaits::reason_to_end(Clock::time_point begun, For what,
                                       const std::string& where) {
  const bool is_caller = std::this_thread::get_id() == caller_;
  // The thread that opens the store also closes it, after the run. relaxed: it carries no data.
  const bool is_over =
      is_caller ? interrupted_ && interrupted_() : stop_->load(std::memory_order_relaxed) != 0;
  const Clock::duration most = is_over ? std::min(longest(what), longest_to_end()) : longest(what);
  if (Clock::now() - begun <= most) return "";
  return silence(what == For::bulk ? "a statement on all rows" : "a statement", begun, where);
}

std::string ServerWaits::silence(const std::string& operation, Clock::time_point begun,
                                 const std::string& where) {
  silent_.store(true, std::memory_order_relaxed);  // relaxed: as above
  std::array<char, 32> seconds{};
  (void)std::snprintf(seconds.data(), seconds.size(), "%.1f",
                      std::chrono::duration<double>(Clock::now() - begun).count());
  return "store " + store_ + ": the server has not answered for " + seconds.data() + " s to " +
         operation + " (" + where + "); check that it is not stopped, and that its disk answers";
}

ServerWaits::Clock::duration ServerWaits::longest_to_end() const {
  // A server that is well answers what is not about all rows sooner.
  constexpr std::chrono::seconds kLongest{5};
  return std::min<Clock::duration>(silence_, kLongest);
}

ServerWaits::Clock::duration ServerWaits::longest(For what) const {
  constexpr std::chrono::seconds kOnceSilent{1};
  constexpr int kBulk = 10;
  if (silent_.load(std::memory_order_relaxed)) {
    return std::min<Clock::duration>(silence_, kOnceSilent);
  }
  switch (what) {
    case For::statistics: return longest_to_end();
    case For::statement: return silence_;
    case For::bulk: return kBulk * silence_;
  }
  return silence_;
}

}  // namespace heddle::store
