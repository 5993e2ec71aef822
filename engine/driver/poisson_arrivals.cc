#include "driver/poisson_arrivals.h"

#include <cmath>
#include <cstddef>

namespace heddle {

namespace {

/// Sets the streams apart from those of the workers' inputs, which have the same seed.
constexpr std::uint64_t kFirstStream = std::uint64_t{1} << 32;
/// Arrivals of a worker that are counted one by one. The mean of more is as good: it is off by a
/// thousandth at most, and a rate far beyond what can be served would take minutes to count.
constexpr double kMostCounted = 1e6;

}  // namespace

PoissonArrivals::PoissonArrivals(double rate, int workers)
    : mean_gap_us_(1e6 * workers / rate), queues_(static_cast<std::size_t>(workers)) {
  begin(0);
}

void PoissonArrivals::begin(std::uint64_t seed) {
  seed_ = seed;
  for (std::size_t worker = 0; worker < queues_.size(); ++worker) {
    queues_[worker] = begun_queue(worker);
  }
}

void PoissonArrivals::take(int worker) {
  Queue& queue = queues_[static_cast<std::size_t>(worker)];
  queue.next_us += gap_us(queue.random);
  ++queue.begun;
}

double PoissonArrivals::arrived(double us) const {
  double count = 0;
  for (std::size_t worker = 0; worker < queues_.size(); ++worker) {
    if (us > kMostCounted * mean_gap_us_) {
      count += us / mean_gap_us_;
      continue;
    }
    Queue queue = begun_queue(worker);
    for (; queue.next_us < us; queue.next_us += gap_us(queue.random)) ++count;
  }
  return count;
}

double PoissonArrivals::begun() const {
  double count = 0;
  for (const Queue& queue : queues_) count += static_cast<double>(queue.begun);
  return count;
}

PoissonArrivals::Queue PoissonArrivals::begun_queue(std::size_t worker) const {
  Queue queue;
  queue.random = Random::stream(seed_, kFirstStream + worker);
  queue.next_us = gap_us(queue.random);
  return queue;
}

double PoissonArrivals::gap_us(Random& random) const {
  return -std::log1p(-random.unit()) * mean_gap_us_;
}

}  // namespace heddle
