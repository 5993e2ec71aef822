#include "workload/replay/arrivals.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace heddle::replay {

double Arrivals::before(double us) const {
  const double recorded = us * speed_;
  if (!(recorded > 0)) return 0;
  const double rounds = std::floor(recorded / round_us_);
  const double into = recorded - rounds * round_us_;
  const auto begins = program_->begins();
  const auto later = std::partition_point(
      begins.begin(), begins.end(),
      [into](std::uint64_t begin) { return static_cast<double>(begin) < into; });
  return rounds * static_cast<double>(begins.size()) + static_cast<double>(later - begins.begin());
}

double Arrivals::length_us(const Program& program) {
  const auto gaps = static_cast<double>(program.transactions() - 1);
  const auto last = static_cast<double>(program.begins().back());
  return last * (gaps + 1) / gaps;
}

}  // namespace heddle::replay
