#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <semaphore>
#include <utility>

#include "client/scheduler.h"

namespace heddle::client {

/// A transaction that a thread has waited for. The scheduler counts it as running until its end.
class Admission {
 public:
  /// Waits until the scheduler starts it.
  Admission(Scheduler& scheduler, Request request) : scheduler_(&scheduler) {
    const auto [ticket, started] = scheduler.submit(std::move(request));
    ticket_ = ticket;
    if (started) return;
    // Shared: the thread that starts it may still be in release() when this one returns.
    const auto gate = std::make_shared<std::binary_semaphore>(0);
    if (!scheduler.on_start(ticket, [gate] { gate->release(); })) return;
    while (const std::optional<std::chrono::microseconds> next = scheduler.poll(ticket)) {
      if (gate->try_acquire_for(*next)) return;
    }
  }

  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;
  ~Admission() { scheduler_->release(ticket_); }

 private:
  Scheduler* scheduler_;
  Scheduler::Ticket ticket_ = Scheduler::kUnscheduled;
};

}  // namespace heddle::client
