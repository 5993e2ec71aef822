#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/backoff_range.h"
#include "protocol/compiled_policy.h"
#include "protocol/policy.h"

namespace heddle {

/// How long an aborted transaction waits before it runs again.
enum class BackoffKind : std::uint8_t {
  none,         ///< not at all
  exponential,  ///< as Silo's code does: doubles on abort, halves on commit
  constant,     ///< a fixed time, tuned for the workload (the option's value "static")
  policy,       ///< the policy's backoff table (Polyjuice §4.5)
};

/// One worker's backoff times, one per transaction type.
class Backoff {
 public:
  /// The longest backoff of any table; the initial values are bounded in the same way.
  static constexpr double kLongestUs = kBackoffInitialsUs.back();
  static constexpr double kShortestUs = kBackoffInitialsUs.front();

  /// @param table whose backoff rows a protocol that executes no policy follows, for
  ///        BackoffKind::policy
  /// @param range for BackoffKind::exponential
  Backoff(BackoffKind kind, double constant_us, int types, const CompiledPolicy* table = nullptr,
          BackoffRange range = {})
      : kind_(kind),
        constant_us_(constant_us),
        range_(range),
        table_(table),
        us_(static_cast<std::size_t>(types), kUnset) {}

  /// The time to wait, in microseconds, after an abort with `prior_aborts` before it.
  double on_abort(int type, std::uint32_t prior_aborts, const CompiledPolicy* policy) {
    follow(policy);
    double& us = us_[static_cast<std::size_t>(type)];
    switch (kind_) {
      case BackoffKind::none: return 0.0;
      case BackoffKind::constant: return constant_us_;
      case BackoffKind::exponential:
        us = us == kUnset ? range_.first_us : std::min(us * 2, range_.longest_us);
        return us;
      case BackoffKind::policy: {
        const BackoffRow& row = row_of(type, policy);
        if (us == kUnset) us = row.initial_us;
        us = std::clamp(us * (1.0 + row.abort[step(prior_aborts)]), kShortestUs, kLongestUs);
        return us;
      }
    }
    return 0.0;
  }

  void on_commit(int type, std::uint32_t prior_aborts, const CompiledPolicy* policy) {
    follow(policy);
    double& us = us_[static_cast<std::size_t>(type)];
    if (us == kUnset) return;
    if (kind_ == BackoffKind::exponential) {
      us = us / 2 < range_.first_us ? kUnset : us / 2;
    } else if (kind_ == BackoffKind::policy) {
      const BackoffRow& row = row_of(type, policy);
      us = std::clamp(us / (1.0 + row.commit[step(prior_aborts)]), kShortestUs, kLongestUs);
    }
  }

  /// To what time a type's backoff has adapted, in microseconds. Empty unless a table adapts it and
  /// the type has aborted. It reads no table: the last one may be gone by the end of a run.
  [[nodiscard]] std::optional<double> adapted_us(int type) const {
    const double us = us_[static_cast<std::size_t>(type)];
    if (kind_ != BackoffKind::policy || us == kUnset) return {};
    return us;
  }

 private:
  static constexpr double kUnset = -1.0;

  /// A policy adopted in the middle of a run starts from its own initial values.
  void follow(const CompiledPolicy* policy) {
    if (policy == policy_) [[likely]]
      return;
    policy_ = policy;
    std::fill(us_.begin(), us_.end(), kUnset);
  }

  static std::size_t step(std::uint32_t prior_aborts) {
    return std::min<std::size_t>(prior_aborts, 2);
  }
  [[nodiscard]] const BackoffRow& row_of(int type, const CompiledPolicy* policy) const {
    return (policy == nullptr ? table_ : policy)->policy().backoff[static_cast<std::size_t>(type)];
  }

  BackoffKind kind_;
  double constant_us_;
  BackoffRange range_;
  const CompiledPolicy* table_;
  const CompiledPolicy* policy_ = nullptr;
  std::vector<double> us_;
};

/// Throws std::invalid_argument naming the valid kinds.
[[nodiscard]] BackoffKind parse_backoff(std::string_view name);

}  // namespace heddle
