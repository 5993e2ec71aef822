#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/grant/greatest.h"
#include "protocol/grant/policy.h"

namespace heddle::grant {

/// Batched largest dependency set first (predictability thesis 2019, algorithm 6): the exclusive
/// request of the largest dependency set, or the batch of k shared ones whose union, divided by the
/// delay factor f(k), is at least as large.
///
/// Batches are the first k shared requests by decreasing size of their dependency sets (§4.5).
class Bldsf final : public Policy {
 public:
  static constexpr std::string_view kName = "bldsf";
  explicit Bldsf(const Options& options) : delay_(options.delay) {}

  void choose(Decision& decision) override {
    if (decision.held) return;
    Dependencies& dependencies = decision.dependencies;
    const Best best =
        best_exclusive(decision, [&](std::size_t at) { return dependencies.size(at); });
    shared_.clear();
    for (std::size_t at = 0; at < decision.waiting.size(); ++at) {
      if (!decision.waiting[at].exclusive) shared_.emplace_back(dependencies.size(at), at);
    }
    std::sort(shared_.begin(), shared_.end(), larger_first);
    while (factors_.size() <= shared_.size()) factors_.push_back(delay_(factors_.size()));
    double speed = 0;
    std::size_t batch = 0;
    dependencies.start_union();
    for (std::size_t k = 1; k <= shared_.size(); ++k) {
      const auto together = static_cast<double>(dependencies.add_to_union(shared_[k - 1].second));
      if (together / factors_[k] <= speed) continue;
      speed = together / factors_[k];
      batch = k;
    }
    if (best.priority > speed) return decision.grant(best.at);
    for (std::size_t k = 0; k < batch; ++k) decision.grant(shared_[k].second);
  }

 private:
  /// A size and a position in `Decision::waiting`.
  using Sized = std::pair<std::uint64_t, std::size_t>;

  /// The order of decreasing size, and of arrival among equals.
  static bool larger_first(const Sized& left, const Sized& right) {
    return left.first != right.first ? left.first > right.first : left.second < right.second;
  }

  DelayFactor delay_;
  std::vector<double> factors_{1};  // by k; that of 0 is not used
  std::vector<Sized> shared_;
};

}  // namespace heddle::grant
