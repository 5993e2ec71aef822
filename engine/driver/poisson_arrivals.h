#pragma once

#include <cstdint>
#include <vector>

#include "model/random.h"

namespace heddle {

/// Transactions that arrive at a fixed mean rate, independently of each other: a Poisson process,
/// split evenly over the workers. Each worker has a queue of its own.
///
/// A process begins with every run, at time 0 of its clock, and the seed alone decides it: policies
/// compared with one seed serve the same arrivals.
class PoissonArrivals {
 public:
  /// @param rate transactions per second, over all workers; above 0
  PoissonArrivals(double rate, int workers);

  /// Begins the process of a run.
  void begin(std::uint64_t seed);

  /// The arrival time of the transaction that a worker takes next, in microseconds. Both functions
  /// may be called by several workers at a time, each for itself.
  [[nodiscard]] double next_us(int worker) const { return queue(worker).next_us; }
  void take(int worker);

  /// The number of transactions that arrive before a time, over all workers. Where it is large, the
  /// mean; otherwise exact, in some nanoseconds for each of them.
  [[nodiscard]] double arrived(double us) const;
  /// The number of transactions taken, over all workers. Only while no worker takes any.
  [[nodiscard]] double begun() const;

 private:
  /// One per cache line, since its worker writes it with every transaction.
  struct alignas(64) Queue {
    Random random{0};
    double next_us = 0;
    std::uint64_t begun = 0;
  };

  [[nodiscard]] const Queue& queue(int worker) const {
    return queues_[static_cast<std::size_t>(worker)];
  }
  [[nodiscard]] Queue begun_queue(std::size_t worker) const;
  [[nodiscard]] double gap_us(Random& random) const;

  double mean_gap_us_;  ///< of one worker
  std::uint64_t seed_ = 0;
  std::vector<Queue> queues_;
};

}  // namespace heddle
