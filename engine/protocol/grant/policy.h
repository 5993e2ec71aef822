#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "protocol/lock_age.h"

namespace heddle::grant {

/// What waits behind the requests of a queue. `at` is a request's position in Decision::waiting.
///
/// The dependency set g(t) of a transaction t are those that wait for it, directly or through
/// others, and t itself (predictability thesis 2019, §4.3.2).
class Dependencies {
 public:
  Dependencies() = default;
  Dependencies(const Dependencies&) = delete;
  Dependencies& operator=(const Dependencies&) = delete;
  virtual ~Dependencies() = default;

  /// |g(t)|.
  virtual std::uint64_t size(std::size_t at) = 0;
  /// Starts the union of some dependency sets, empty.
  virtual void start_union() = 0;
  /// Adds g(t) to the union, and returns the union's size.
  virtual std::uint64_t add_to_union(std::size_t at) = 0;
  /// The number of transactions on the longest path of waits that ends in t (§4.3.1).
  virtual std::uint64_t depth(std::size_t at) = 0;
  /// The number of locks that t holds and others wait for.
  virtual std::uint64_t blocking_locks(std::size_t at) = 0;
  /// The weight that MySQL 8.0.20 gives t (grant/cats.h).
  virtual std::uint64_t weight(std::size_t at) = 0;
  /// The expected time from a grant to the end of the transaction, by its type (§4.7.3).
  virtual double remaining(std::size_t at) = 0;
};

/// A request that waits.
struct Candidate {
  bool exclusive = false;
  /// What blocked it has just been released (only where Policy::follows_blockers()).
  bool unblocked = false;
  LockAge age;
  std::uint32_t locks = 0;  ///< that its transaction holds
  int type = 0;             ///< of its transaction
};

/// A lock to grant, and those that may get it.
struct Decision {
  /// In the order of their arrival; not empty.
  std::span<const Candidate> waiting;
  /// Whether others hold the lock, all of them shared.
  bool held;
  Dependencies& dependencies;
  /// Positions in `waiting` of those that get it: one exclusive request or any number of shared
  /// ones. If `held`, shared ones or none; otherwise at least one.
  std::vector<std::uint32_t>& granted;

  void grant(std::size_t at) { granted.push_back(static_cast<std::uint32_t>(at)); }
  void grant_all_shared() {
    for (std::size_t at = 0; at < waiting.size(); ++at) {
      if (!waiting[at].exclusive) grant(at);
    }
  }
};

/// Decides who of those waiting for a lock gets it, once others have released it.
///
/// One object serves a run, under the latch of its WaitGraph. What holds for all policies is
/// decided before: an upgrade goes first, and shared requests that no exclusive one waits among are
/// granted at once.
class Policy {
 public:
  Policy() = default;
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;
  virtual ~Policy() = default;

  virtual void choose(Decision& decision) = 0;

  /// Whether requests that arrive later are kept behind a barrier until all those that waited at a
  /// decision are granted (§4.5): otherwise this order would let a stream of requests starve one.
  [[nodiscard]] virtual bool has_barrier() const { return true; }
  /// Whether it decides between those alone that waited for what is released.
  [[nodiscard]] virtual bool follows_blockers() const { return false; }
  /// Whether it needs Dependencies::remaining().
  [[nodiscard]] virtual bool learns_times() const { return false; }
};

/// How the delay grows with the number k of shared locks granted at once: the factor f(k) of
/// §4.4.2.
using DelayFactor = std::function<double(std::size_t)>;

struct Options {
  bool exact = false;  ///< dependency sets without the approximation of §4.5
  DelayFactor delay = {};
  /// By transaction type: the higher goes first (grant/ranked.h). Empty: all are equal.
  std::vector<int> ranks = {};
};

}  // namespace heddle::grant
