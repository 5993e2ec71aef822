#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include <pybind11/pybind11.h>

#include "client/queue.h"

namespace heddle::client {

/// That a thread or task is inside a transaction. A context variable has the innermost one.
struct Inside {
  const Queue* scheduler;
  pybind11::object type;   ///< of the transaction
  pybind11::object outer;  ///< another one, or None
  bool ended = false;
};

/// The place of a transaction that waits or runs. Python's `Transaction` inherits it.
///
/// Python raises KeyboardInterrupt, and the exceptions of other threads, between any two steps of
/// Python code. Each step is one function here, so that the object always knows whether it has a
/// place. The destructor gives the place back, if nothing else has.
class Place {
 public:
  Place() = default;
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place();

  /// Takes a place. True: the transaction has started; false: it waits.
  bool admit(const std::shared_ptr<Queue>& scheduler, Request request);

  /// Lets what follows run inside the transaction, if it has a scheduler.
  void begin(const pybind11::object& type);

  /// Lets what follows in the caller's context run inside the transaction too, until the result has
  /// ended. Null: the transaction has no scheduler.
  std::shared_ptr<Inside> include(const pybind11::object& type);

  /// Undoes admit() and begin(), as far as they have been done.
  /// @throws std::invalid_argument if another has given the place back
  void leave();

  /// Whether begin() has been called, and not leave().
  [[nodiscard]] bool entered() const { return entered_; }

  /// Those of the scheduler, for this transaction.
  bool on_start(std::function<void()> call);
  void force();
  [[nodiscard]] std::optional<std::chrono::microseconds> poll();

  /// The type of the transaction of a scheduler that the caller is inside; None: it is in none.
  static pybind11::object surrounding(const Queue& scheduler);

 private:
  void give_back();

  std::shared_ptr<Queue> scheduler_;
  Queue::Ticket ticket_ = Queue::kUnscheduled;
  unsigned forks_ = 0;  ///< that lead to the process which has taken the place
  bool entered_ = false;
  std::shared_ptr<Inside> inside_;
};

}  // namespace heddle::client
