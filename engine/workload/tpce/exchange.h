#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

namespace heddle::tpce {

/// A trade that the brokerage has sent to the market, and at what price the market makes it.
struct SubmittedTrade {
  std::uint32_t trade;
  std::uint32_t account;
  std::uint32_t security;
  std::uint32_t broker;
  std::uint32_t quantity;
  std::uint32_t price_cents;
};

/// The transaction that sends trades to the market: the worker that has drawn it, and how many that
/// worker has drawn before.
struct Sender {
  std::uint32_t worker;
  std::uint32_t number;
};

/// The market exchange emulator of the specification (clause 6): trades that transactions have
/// submitted wait here for their Trade-Results.
///
/// A procedure submits at its end, before it is known whether the attempt commits. So each attempt
/// replaces what an earlier one of the same transaction has submitted. A trade may be collected
/// while the attempt that commits is still to come; its Trade-Result then finds a trade that is not
/// submitted, and does nothing, and the later attempt submits it again. No trade is thus completed
/// twice. Where admission lets another worker run the transaction, a trade may be collected between
/// the end of the procedure and its commit: it then stays submitted.
class MarketExchange {
 public:
  explicit MarketExchange(std::size_t workers) : desks_(workers) {}

  /// Thread-safe: with admission another worker may run what this one has drawn.
  void submit(const Sender& sender, std::span<const SubmittedTrade> trades) {
    Desk& desk = desks_[sender.worker];
    const std::lock_guard lock(desk.one_at_a_time);
    std::erase_if(desk.waiting, [&](const Waiting& one) { return one.number == sender.number; });
    for (const SubmittedTrade& trade : trades) desk.waiting.push_back({sender.number, trade});
  }

  /// Moves the trades of the transactions that a worker has drawn to the end of `trades`.
  void collect(std::size_t worker, std::deque<SubmittedTrade>& trades) {
    Desk& desk = desks_[worker];
    const std::lock_guard lock(desk.one_at_a_time);
    for (const Waiting& one : desk.waiting) trades.push_back(one.trade);
    desk.waiting.clear();
  }

 private:
  struct Waiting {
    std::uint32_t number;  ///< of the transaction
    SubmittedTrade trade;
  };
  /// The trades of one worker's transactions; on its own cache lines.
  struct alignas(64) Desk {
    std::mutex one_at_a_time;
    std::vector<Waiting> waiting;
  };

  std::vector<Desk> desks_;
};

}  // namespace heddle::tpce
