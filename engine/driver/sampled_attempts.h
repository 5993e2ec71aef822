#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "protocol/attempts.h"
#include "protocol/expected_access.h"
#include "protocol/protocol.h"

namespace heddle {

/// One worker's attempts in a run of which the accesses of some transactions are recorded: theirs
/// go through an observer, and the others are made as in every run.
template <class M>
class SampledAttempts final : public Attempts<M> {
 public:
  /// @param observed they share the executor of the unobserved ones
  /// @param selected by type, whether the accesses of recorded transactions are observed
  /// @param all whether all transactions are observed
  SampledAttempts(std::unique_ptr<Attempts<M>> unobserved, std::unique_ptr<Attempts<M>> observed,
                  std::vector<bool> selected, bool all)
      : unobserved_(std::move(unobserved)),
        observed_(std::move(observed)),
        selected_(std::move(selected)),
        all_(all) {}

  Attempt<M> attempt(const std::byte* input, int type, std::uint32_t prior_aborts) override {
    const bool observes = all_ || (M::recording() && selected_[static_cast<std::size_t>(type)]);
    Attempts<M>& attempts = observes ? *observed_ : *unobserved_;
    const Attempt<M> attempt = attempts.attempt(input, type, prior_aborts);
    this->policy_ = attempts.policy();
    return attempt;
  }

  [[nodiscard]] bool wants_expectations() const override {
    return unobserved_->wants_expectations();
  }
  void expect(std::span<const ExpectedAccess> accesses) override { unobserved_->expect(accesses); }

 private:
  std::unique_ptr<Attempts<M>> unobserved_;
  std::unique_ptr<Attempts<M>> observed_;
  std::vector<bool> selected_;
  bool all_;
};

}  // namespace heddle
