#include "store/range_validation.h"

#include <algorithm>

namespace heddle::store {

namespace {

bool any_inside(const ScannedRange& range, std::span<const std::string> keys) {
  return std::any_of(keys.begin(), keys.end(),
                     [&range](const std::string& key) { return range.contains(key); });
}

}  // namespace

RangeValidation::Commit::Commit(RangeValidation& owner, std::span<const ScannedRange> ranges,
                                std::span<const std::string> inserted)
    : owner_(owner), ranges_(ranges), inserted_(inserted) {
  if (ranges_.empty() && inserted_.empty()) return;
  std::unique_lock lock(owner_.mutex_);
  valid_ = std::all_of(ranges_.begin(), ranges_.end(),
                       [&owner](const ScannedRange& range) { return owner.is_valid(range); });
  if (!valid_) return;
  place_ = owner_.committing_.insert(owner_.committing_.end(), this);
  // Each waits for earlier ones only, so that there is no cycle.
  owner_.ended_.wait(lock, [this] { return !owner_.must_wait(*this, inserted_); });
}

RangeValidation::Commit::~Commit() {
  if (!valid_ || (ranges_.empty() && inserted_.empty())) return;
  {
    const std::lock_guard lock(owner_.mutex_);
    owner_.committing_.erase(place_);
    if (succeeded_ && !inserted_.empty() && !owner_.scans_.empty()) {
      ++owner_.last_;
      for (const std::string& key : inserted_) owner_.inserted_.push_back({owner_.last_, key});
    }
  }
  owner_.ended_.notify_all();
}

std::uint64_t RangeValidation::begin_scan() {
  const std::lock_guard lock(mutex_);
  scans_.insert(last_);
  return last_;
}

void RangeValidation::end_scan(std::uint64_t since) {
  const std::lock_guard lock(mutex_);
  scans_.erase(scans_.find(since));
  while (!inserted_.empty() && (scans_.empty() || inserted_.front().number <= *scans_.begin())) {
    inserted_.pop_front();
  }
}

bool RangeValidation::is_valid(const ScannedRange& range) const {
  const auto first = std::partition_point(
      inserted_.begin(), inserted_.end(),
      [&range](const Inserted& inserted) { return inserted.number <= range.since; });
  const bool unseen = std::any_of(first, inserted_.end(), [&range](const Inserted& inserted) {
    return range.contains(inserted.key);
  });
  // What is about to become visible may be of either order; to wait for it could be a cycle.
  return !unseen &&
         std::none_of(committing_.begin(), committing_.end(), [&range](const Commit* commit) {
           return any_inside(range, commit->inserted_);
         });
}

bool RangeValidation::must_wait(const Commit& commit, std::span<const std::string> inserted) const {
  for (const Commit* earlier : committing_) {
    if (earlier == &commit) return false;
    for (const ScannedRange& range : earlier->ranges_) {
      if (any_inside(range, inserted)) return true;
    }
  }
  return false;
}

}  // namespace heddle::store
