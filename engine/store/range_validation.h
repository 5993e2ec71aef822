#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <mutex>
#include <set>
#include <span>
#include <string>

namespace heddle::store {

/// A range of keys that a transaction has scanned, bounds inclusive.
struct ScannedRange {
  std::string lo;
  std::string hi;
  std::uint64_t since;  ///< RangeValidation::begin_scan() before it

  [[nodiscard]] bool contains(const std::string& key) const { return lo <= key && key <= hi; }
};

/// Prevents phantoms in a store that isolates the rows, present or absent, that transactions name,
/// and not the ranges that they scan.
///
/// When a transaction commits, it must have seen all rows that others have inserted into its ranges
/// since: what was inserted is compared with the ranges, as in precision locking (Jordan, Banerjee
/// and Batman, SIGMOD 1981). From there until its commit is visible, no other insert into them
/// becomes visible. So at one moment, that of its commit, all that it has read is current, as long
/// as this is so for each row; and a snapshot that has a later insert has its writes.
class RangeValidation {
 public:
  /// The commit of a transaction, from its validation until its writes are visible.
  class Commit {
   public:
    /// Validates the ranges. If they are valid, it waits until none of the inserted keys is in a
    /// range of a transaction that has begun to commit earlier.
    Commit(RangeValidation& owner, std::span<const ScannedRange> ranges,
           std::span<const std::string> inserted);
    Commit(const Commit&) = delete;
    Commit& operator=(const Commit&) = delete;
    ~Commit();

    [[nodiscard]] bool valid() const { return valid_; }
    /// Its writes are visible.
    void succeed() { succeeded_ = true; }

   private:
    friend class RangeValidation;

    RangeValidation& owner_;
    std::span<const ScannedRange> ranges_;
    std::span<const std::string> inserted_;
    std::list<const Commit*>::iterator place_;
    bool valid_ = true;
    bool succeeded_ = false;
  };

  /// Call it before the rows of a scan are read, and end_scan() with its result when the
  /// transaction has ended.
  [[nodiscard]] std::uint64_t begin_scan();
  void end_scan(std::uint64_t since);

 private:
  /// A row that was inserted while a transaction that scans was running.
  struct Inserted {
    std::uint64_t number;
    std::string key;
  };

  [[nodiscard]] bool is_valid(const ScannedRange& range) const;
  [[nodiscard]] bool must_wait(const Commit& commit, std::span<const std::string> inserted) const;

  std::mutex mutex_;
  std::condition_variable ended_;
  std::list<const Commit*> committing_;  ///< in the order in which they began
  /// By number. A commit is numbered when its inserts are visible, so that a scan has seen exactly
  /// those up to its `since`.
  std::deque<Inserted> inserted_;
  std::uint64_t last_ = 0;
  std::multiset<std::uint64_t> scans_;  ///< `since` of transactions that have not ended
};

}  // namespace heddle::store
