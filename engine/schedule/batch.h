#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace heddle::schedule {

/// The operation in one slot of a transaction; a filler takes its time unit and accesses nothing.
enum class Access : std::uint8_t { kFiller, kRead, kWrite };

struct Operation {
  Access access = Access::kFiller;
  std::uint32_t key = 0;  ///< ignored for a filler

  friend bool operator==(const Operation&, const Operation&) = default;
};

/// A time of the model, or a position in a transaction; both count from 1, in slots.
using Slot = std::int32_t;

/// The greatest number of operations of a batch: their sum bounds every time, and twice that fits a
/// `Slot`.
inline constexpr std::size_t kOperationsMax = std::size_t{1} << 28;

/// A finite batch of transactions whose accesses are known, to be scheduled offline
/// (Cheng et al., "Towards Optimal Transaction Scheduling", VLDB 2024, §2.1).
class Batch {
 public:
  /// @throws std::invalid_argument if it is empty, or the batch becomes too long
  void add(std::span<const Operation> transaction);

  [[nodiscard]] std::size_t size() const { return begins_.size() - 1; }
  [[nodiscard]] std::uint32_t key_count() const { return key_count_; }

  [[nodiscard]] std::span<const Operation> operator[](std::size_t transaction) const {
    const std::size_t begin = begins_[transaction];
    return std::span(operations_).subspan(begin, begins_[transaction + 1] - begin);
  }

 private:
  std::vector<Operation> operations_;
  std::vector<std::size_t> begins_ = {0};
  std::uint32_t key_count_ = 0;
};

}  // namespace heddle::schedule
