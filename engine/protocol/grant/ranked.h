#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "protocol/grant/policy.h"

namespace heddle::grant {

/// A rank by transaction type: another policy decides, between those that wait of the highest rank.
///
/// The ranks are parameters that a search may choose. A type that would be starved by others is
/// kept by the barrier, which applies to any policy here: arrival and age no longer bound a wait.
class Ranked final : public Policy, private Dependencies {
 public:
  /// @param ranks by type; a type without a rank has 0
  Ranked(std::unique_ptr<Policy> policy, std::vector<int> ranks)
      : policy_(std::move(policy)), ranks_(std::move(ranks)) {}

  void choose(Decision& decision) override {
    int highest = std::numeric_limits<int>::min();
    for (const Candidate& each : decision.waiting) highest = std::max(highest, rank(each));
    candidates_.clear();
    places_.clear();
    chosen_.clear();
    for (std::size_t at = 0; at < decision.waiting.size(); ++at) {
      if (rank(decision.waiting[at]) != highest) continue;
      candidates_.push_back(decision.waiting[at]);
      // The one of the highest rank may have waited for another than the last that held the lock.
      candidates_.back().unblocked = true;
      places_.push_back(at);
    }
    all_ = &decision.dependencies;
    Decision among{candidates_, decision.held, *this, chosen_};
    policy_->choose(among);
    for (const std::uint32_t at : chosen_) decision.grant(places_[at]);
  }

  [[nodiscard]] bool has_barrier() const override { return true; }
  [[nodiscard]] bool follows_blockers() const override { return policy_->follows_blockers(); }
  [[nodiscard]] bool learns_times() const override { return policy_->learns_times(); }

 private:
  [[nodiscard]] int rank(const Candidate& candidate) const {
    const auto type = static_cast<std::size_t>(candidate.type);
    return type < ranks_.size() ? ranks_[type] : 0;
  }

  // Positions among those of the highest rank are positions among all that wait.
  std::uint64_t size(std::size_t at) override { return all_->size(places_[at]); }
  void start_union() override { all_->start_union(); }
  std::uint64_t add_to_union(std::size_t at) override { return all_->add_to_union(places_[at]); }
  std::uint64_t depth(std::size_t at) override { return all_->depth(places_[at]); }
  std::uint64_t blocking_locks(std::size_t at) override {
    return all_->blocking_locks(places_[at]);
  }
  std::uint64_t weight(std::size_t at) override { return all_->weight(places_[at]); }
  double remaining(std::size_t at) override { return all_->remaining(places_[at]); }

  std::unique_ptr<Policy> policy_;
  std::vector<int> ranks_;

  // Of the present decision.
  Dependencies* all_ = nullptr;
  std::vector<Candidate> candidates_;
  std::vector<std::size_t> places_;  ///< of candidates_, in Decision::waiting
  std::vector<std::uint32_t> chosen_;
};

}  // namespace heddle::grant
