#include "check/contradictions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace heddle::check {

namespace {

/// Checks one worker's log.
class Contradictions {
 public:
  Contradictions(const History& history, std::uint32_t worker, Findings& findings)
      : history_(history), log_(history.workers[worker]), worker_(worker), findings_(findings) {}

  void find() {
    for (number_ = 0; number_ < log_.attempts.size() && !findings_.full(); ++number_) {
      attempt_ = log_.attempts[number_];
      look_at_attempt();
      for (at_ = 0; at_ < attempt_.operations; ++at_) look_at(operation(at_));
      latest_ = std::max(latest_, attempt_.began);
    }
  }

 private:
  [[nodiscard]] const Operation& operation(std::uint32_t at) const {
    return log_.operations[attempt_.first + at];
  }

  void report(const std::string& what) {
    // A string first: gcc 12 warns without cause of a literal before a temporary (its bug 105651).
    findings_.add(
        "contradiction",
        std::string("w") + std::to_string(worker_) + ":" + std::to_string(number_) + " " + what,
        {});
  }
  void report(const Operation& operation, const std::string& what) {
    report("has " + findings_.words().operation(operation) + ", " + what);
  }

  void look_at_attempt() {
    if (attempt_.ended < attempt_.began) report("ended before it began");
    if (attempt_.ended < latest_) report("ended before an earlier one of its worker began");
    if (attempt_.end == End::aborted && attempt_.operations != 0) {
      report("was aborted, but its operations were kept");
    }
  }

  void look_at(const Operation& one) {
    const bool write = one.kind == Kind::write || one.kind == Kind::remove;
    if (write) {
      look_at_write(one);
    } else if (one.kind == Kind::range) {
      look_at_range(one);
    }
    if (one.is(flag::kOfRange) && (one.kind != Kind::read || !is_in_range(one))) {
      report(one, "of a range that does not precede it, or does not contain it");
    }
    if (one.is(flag::kUncommitted) && one.kind != Kind::read && one.kind != Kind::miss) {
      report(one, "which can't be of an uncommitted version");
    }
    if (one.is(flag::kInserted) && one.kind != Kind::write) report(one, "which can't insert");
    if (one.is(flag::kOwn) && !write && one.kind != Kind::read) {
      report(one, "which can't be its own");
    }
  }

  void look_at_write(const Operation& one) {
    if (attempt_.on_snapshot)
      report(one, "although it read a snapshot, where no transaction writes");
    const bool taken_back = one.is(flag::kOwn);
    if (!taken_back && attempt_.end == End::rolled_back) {
      report(one, "which a rollback takes back");
    }
    if (!taken_back && one.version < history_.first_version) {
      report(one, "a version from before the run");
    }
  }

  void look_at_range(const Operation& range) {
    std::uint32_t rows = 0;
    for (std::uint32_t at = at_ + 1; at < attempt_.operations; ++at) {
      if (operation(at).kind == Kind::broken) continue;
      if (!operation(at).is(flag::kOfRange)) break;
      ++rows;
    }
    if (rows != range.rows()) {
      report(range, "of " + std::to_string(range.rows()) + " rows, and " + std::to_string(rows) +
                        " follow");
    }
  }

  /// Whether an operation follows a range that has its table and key.
  [[nodiscard]] bool is_in_range(const Operation& one) const {
    for (std::uint32_t at = at_; at-- > 0;) {
      const Operation& before = operation(at);
      if (before.kind == Kind::range) {
        return before.table == one.table && before.key <= one.key && one.key <= before.place;
      }
      if (before.kind != Kind::broken && !before.is(flag::kOfRange)) return false;
    }
    return false;
  }

  const History& history_;
  const WorkerLog& log_;
  std::uint32_t worker_;
  Findings& findings_;
  std::size_t number_ = 0;
  Attempt attempt_;
  std::uint32_t at_ = 0;
  std::uint64_t latest_ = 0;  ///< the latest begin of the attempts before it
};

}  // namespace

void find_contradictions(const History& history, Findings& findings) {
  for (std::uint32_t worker = 0; worker < history.workers.size(); ++worker) {
    Contradictions(history, worker, findings).find();
  }
}

}  // namespace heddle::check
