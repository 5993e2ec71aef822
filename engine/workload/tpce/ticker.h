#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "workload/tpce/inputs.h"
#include "workload/tpce/scale.h"

namespace heddle::tpce {

/// A worker's ticker: entries that no Market-Feed has processed yet.
class Ticker {
 public:
  [[nodiscard]] std::size_t entries() const { return entries_; }

  /// Adds a sale of a security.
  void add(std::uint32_t security, std::uint32_t price_cents, std::uint32_t quantity) {
    ++entries_;
    const auto end = ticks_.begin() + static_cast<std::ptrdiff_t>(count_);
    const auto at = std::lower_bound(
        ticks_.begin(), end, security,
        [](const Tick& tick, std::uint32_t wanted) { return tick.security < wanted; });
    if (at != end && at->security == security) {
      at->price_cents = price_cents;
      at->lowest_cents = std::min(at->lowest_cents, price_cents);
      at->highest_cents = std::max(at->highest_cents, price_cents);
      at->volume += quantity;
      ++at->entries;
      return;
    }
    std::move_backward(at, end, end + 1);
    *at = {security, price_cents, price_cents, price_cents, quantity, 1};
    ++count_;
  }

  /// Moves the entries to a Market-Feed.
  void drain(MarketFeedInput& input) {
    input.count = static_cast<std::uint32_t>(count_);
    input.ticks = ticks_;
    entries_ = 0;
    count_ = 0;
  }

 private:
  std::size_t entries_ = 0;
  std::size_t count_ = 0;  ///< of ticks
  std::array<Tick, kMostEntriesPerFeed> ticks_;
};

}  // namespace heddle::tpce
