#include "schedule/touches.h"

#include <algorithm>
#include <limits>

namespace heddle::schedule {

namespace {

constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

/// The users of a key.
struct Users {
  std::uint32_t last = kNobody;  ///< the transaction seen last
  bool several = false;
  bool written = false;
};

std::vector<Users> users_of(const Batch& batch) {
  std::vector<Users> users(batch.key_count());
  for (std::uint32_t transaction = 0; transaction < batch.size(); ++transaction) {
    for (const Operation& operation : batch[transaction]) {
      if (operation.access == Access::kFiller) continue;
      Users& of_key = users[operation.key];
      of_key.several |= of_key.last != kNobody && of_key.last != transaction;
      of_key.last = transaction;
      of_key.written |= operation.access == Access::kWrite;
    }
  }
  return users;
}

void include(Touch& touch, Access access, Slot position) {
  if (access == Access::kWrite) {
    touch.first_write = std::min(touch.first_write, position);
    touch.last_write = position;
  } else {
    touch.first_read = std::min(touch.first_read, position);
  }
  touch.last = position;
}

}  // namespace

Touches::Touches(const Batch& batch, bool reads_order_reads) {
  const std::vector<Users> users = users_of(batch);
  std::vector<std::uint32_t> number(users.size(), kNobody);
  std::vector<std::size_t> touch_of(users.size());  // by key: its touch of the current transaction
  for (std::size_t transaction = 0; transaction < batch.size(); ++transaction) {
    const auto operations = batch[transaction];
    const std::size_t begin = touches_.size();
    for (std::size_t at = 0; at < operations.size(); ++at) {
      const auto [access, key] = operations[at];
      if (access == Access::kFiller || !users[key].several) continue;
      if (!users[key].written && !reads_order_reads) continue;
      if (number[key] == kNobody) number[key] = static_cast<std::uint32_t>(key_count_++);
      // The value may be left over from another transaction, or uninitialised.
      std::size_t& place = touch_of[key];
      if (place < begin || place >= touches_.size() || touches_[place].key != number[key]) {
        place = touches_.size();
        touches_.push_back({number[key], kNever, kNever, 0, 0});
      }
      include(touches_[place], access, static_cast<Slot>(at + 1));
    }
    transactions_.push_back({static_cast<std::uint32_t>(begin),
                             static_cast<std::uint32_t>(touches_.size() - begin),
                             static_cast<Slot>(operations.size())});
  }
}

}  // namespace heddle::schedule
