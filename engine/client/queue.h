#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "client/request.h"

namespace heddle::client {

/// Where transactions wait, and from which they start. `Scheduler` decides in this process when one
/// does. Another queue may stand for a scheduler in another process.
///
/// No function waits.
class Queue {
 public:
  using Ticket = std::uint64_t;

  /// The ticket of transactions that are not counted; release() ignores it.
  static constexpr Ticket kUnscheduled = 0;

  struct Submitted {
    Ticket ticket;
    bool started;
  };

  Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  virtual ~Queue() = default;

  /// Adds a transaction, and starts it if it may start now. After an exception it is not there.
  virtual Submitted submit(Request request) = 0;

  /// Has a function called when a transaction starts, by the thread that starts it, without a
  /// mutex. It must not throw. Call it once. False: it has started already, and the function is not
  /// called.
  virtual bool on_start(Ticket ticket, std::function<void()> call) = 0;

  /// Removes a transaction that waits. False: it has started already, and needs release().
  virtual bool cancel(Ticket ticket) = 0;

  /// Ends a transaction that has started, and starts those that may run now.
  /// @throws std::invalid_argument if it does not run
  virtual void release(Ticket ticket) = 0;

  /// Starts a waiting transaction in spite of conflicts and of the bound.
  virtual void force(Ticket ticket) = 0;

  /// Starts what is due. Returns the time after which to call it again for this transaction, or
  /// nothing if it does not wait any more.
  virtual std::optional<std::chrono::microseconds> poll(Ticket ticket) = 0;

  /// Off: waiting and later transactions start at once.
  virtual void enable(bool on) = 0;

  [[nodiscard]] virtual bool enabled() const = 0;
  [[nodiscard]] virtual Counters counters() const = 0;

  /// Of the transaction that waits longest.
  [[nodiscard]] virtual std::chrono::microseconds oldest_wait() const = 0;
};

}  // namespace heddle::client
