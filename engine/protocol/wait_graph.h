#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "machine/seeded_fault.h"
#include "protocol/grant/policy.h"
#include "protocol/lock_request.h"
#include "protocol/spin_latch.h"
#include "protocol/timeline.h"

namespace heddle {

/// The transactions that wait for locks, those they wait for, and who of them is granted a lock.
///
/// A record for which requests wait has a queue, with the requests that hold its lock and those
/// that wait. A transaction waits for one lock at a time, so it waits for the holders of one queue:
/// these are its edges. It needs none to those that wait with it. Whichever of them is granted the
/// lock first was running or waiting for the same holders until then, and is a holder from then on.
///
/// A new edge leads to a transaction that is running, unless its own transaction has just begun to
/// wait. So every cycle contains the transaction whose wait closes it, and is found then.
///
/// Who holds a lock without waiters is not known here: such locks never need the graph.
///
/// All functions require the graph's latch, and those that name a record's queue or a request the
/// latch of its bucket (LockTable), which is taken first. The graph's own state, and
/// LockOwner::is_victim, is read and written under its latch alone.
template <class M>
class WaitGraph final : private grant::Dependencies {
  using Request = LockRequest<M>;
  using Owner = LockOwner<M>;

 public:
  /// The number of deadlocks that a transaction may lose while it is the oldest of the cycle.
  ///
  /// A transaction keeps its age, so at most one older transaction a worker exists, and once these
  /// have ended it is the oldest of every cycle. From then on it loses this often at most, and ends
  /// too.
  static constexpr std::uint32_t kMostLosses = 3;

  /// @param types the number of transaction types
  WaitGraph(int workers, std::size_t types, std::unique_ptr<grant::Policy> policy, bool exact)
      : policy_(std::move(policy)),
        exact_(exact),
        nodes_(static_cast<std::size_t>(workers)),
        times_(std::max<std::size_t>(types, 1)) {}

  void latch() noexcept { latch_.latch(); }
  void unlatch() noexcept { latch_.unlatch(); }

  /// Whether it needs learn().
  [[nodiscard]] bool learns_times() const { return policy_->learns_times(); }

  enum class Begun : std::uint8_t { granted, waits, dies };

  /// A request begins to wait: a new one, or an upgrade.
  /// @param queue number of the record's queue; 0: there is none
  /// @param each_holder(f) calls f(Request&) for every holder of the record's lock
  /// @param locks the number of locks that the transaction holds
  template <class EachHolder>
  Begun begin(std::uint32_t queue, Request& request, std::uint32_t locks, EachHolder each_holder) {
    Queue& at = queue == 0 ? make_queue(each_holder) : queues_[queue - 1];
    Node& node = node_of(request);
    node.owner = request.owner;
    node.request = &request;
    node.at = &at;
    if (node.age != request.age) node.losses = 0;
    node.age = request.age;
    node.locks = locks;
    node.reservation = ++reservations_;
    node.owner->is_victim = false;
    ++waiting_;
    if (request.upgrading) {
      at.upgrades.push_back({&request, &node});
    } else {
      if (policy_->follows_blockers()) set_blocker(node, first_blocker(at, request));
      at.waiters.push_back({&request, &node, request.exclusive});
    }
    decide(at, nullptr);
    if (node.at != nullptr && !seeded<M>(SeededFault::skip_cycle_check)) break_cycles(node);
    if (node.at == nullptr && node.owner->is_victim) request.upgrading = false;
    const Begun begun = node.at != nullptr      ? Begun::waits
                        : node.owner->is_victim ? Begun::dies
                                                : Begun::granted;
    // The victim may have been all that waited; one that is left behind a victim has to be granted.
    if (begun == Begun::dies) decide(at, &node);
    free_if_unused(at);
    return begun;
  }

  /// A request that waited has left: a victim, or a worker that was stopped.
  /// @param queue number of the record's queue; 0: there is none
  void leave(std::uint32_t queue, Request& request) {
    Node& node = node_of(request);
    if (node.at != nullptr) detach(node);
    if (queue == 0) return;
    decide(queues_[queue - 1], &node);
    free_if_unused(queues_[queue - 1]);
  }

  /// A lock that others wait for is released: `request.queue` is not 0.
  void release(Request& request) {
    Queue& at = queues_[request.queue - 1];
    Node& node = node_of(request);
    request.queue = 0;
    std::erase_if(at.holders, [&](const Entry& holder) { return holder.request == &request; });
    std::erase(node.holds, &at);
    decide(at, &node);
    free_if_unused(at);
  }

  /// A transaction that was granted a lock after a wait has committed.
  void learn(const Owner& owner, typename M::Ticks took) {
    Times& times = times_[static_cast<std::size_t>(owner.type)];
    times.count = std::min(times.count + 1, kRemembered);
    times.mean += (static_cast<double>(took) - times.mean) / times.count;
  }

  /// A holder that the waiting request waits for.
  [[nodiscard]] const Owner& blocker_of(const Request& request) {
    const auto& holders = node_of(request).at->holders;
    const auto other = std::find_if(holders.begin(), holders.end(), [&](const Entry& holder) {
      return holder.request->owner != request.owner;
    });
    return *(other == holders.end() ? holders.front() : *other).request->owner;
  }

 private:
  struct Node;
  struct Queue;

  struct Entry {
    Request* request = nullptr;
    Node* node = nullptr;
    bool exclusive = false;  ///< of a request that waits
  };

  /// The requests for the lock of one record.
  struct Queue {
    std::uint32_t number = 0;
    std::vector<Entry> holders;  ///< in the order of their grants
    std::vector<Entry> waiters;  ///< in the order of their arrival
    std::size_t ahead = 0;       ///< number of waiters ahead of the barrier; 0: there is no barrier
    /// Holders that wait for the others to leave. Two of them are a deadlock: the second is here
    /// only until one has died.
    std::vector<Entry> upgrades;

    [[nodiscard]] bool used() const { return !waiters.empty() || !upgrades.empty(); }
  };

  /// The transaction of a worker.
  struct alignas(64) Node {
    Queue* at = nullptr;  ///< where it waits; nullptr: it does not
    Request* request = nullptr;
    Owner* owner = nullptr;
    Node* blocker = nullptr;  ///< that it waits for, where the policy follows blockers
    LockAge age;
    std::uint32_t locks = 0;    ///< it held when it began to wait
    std::uint32_t losses = 0;   ///< deadlocks that it lost
    std::uint32_t blocked = 0;  ///< nodes whose blocker it is
    std::uint64_t reservation = 0;
    std::vector<Queue*> holds;  ///< the queues of which it holds the lock

    // For walks: a value is that of the walk whose number is with it.
    std::uint64_t walk = 0;
    std::uint64_t value = 0;
    std::uint64_t united = 0;
  };

  /// Times from a grant to the commit of a type's transactions.
  struct Times {
    double count = 0;
    double mean = 1;
  };
  static constexpr double kRemembered = 64;

  static constexpr std::uint64_t kGrant = 2;  // bit 0 is the signal's
  /// Approximate sizes count a transaction once a path, and stop there.
  static constexpr std::uint64_t kMostSize = std::uint64_t{1} << 40;

  Node& node_of(const Request& request) {
    return nodes_[static_cast<std::size_t>(request.owner->worker)];
  }

  // ---- queues ----------------------------------------------------------------------------------

  template <class EachHolder>
  Queue& make_queue(EachHolder each_holder) {
    if (free_.empty()) {
      free_.push_back(&queues_.emplace_back());
      queues_.back().number = static_cast<std::uint32_t>(queues_.size());
    }
    Queue& queue = *free_.back();
    free_.pop_back();
    each_holder([&](Request& holder) { add_holder(queue, {&holder, &node_of(holder)}); });
    return queue;
  }

  void free_if_unused(Queue& queue) {
    if (queue.used()) return;
    for (const Entry& holder : queue.holders) {
      holder.request->queue = 0;
      std::erase(holder.node->holds, &queue);
    }
    queue.holders.clear();
    queue.ahead = 0;
    free_.push_back(&queue);
  }

  static void add_holder(Queue& queue, const Entry& holder) {
    holder.request->queue = queue.number;
    queue.holders.push_back(holder);
    holder.node->holds.push_back(&queue);
  }

  /// Takes a waiting transaction out of its queue.
  void detach(Node& node) {
    Queue& queue = *node.at;
    const auto is_its = [&](const Entry& entry) { return entry.node == &node; };
    if (std::erase_if(queue.upgrades, is_its) == 0) {
      const auto found = std::find_if(queue.waiters.begin(), queue.waiters.end(), is_its);
      if (static_cast<std::size_t>(found - queue.waiters.begin()) < queue.ahead) --queue.ahead;
      queue.waiters.erase(found);
    }
    ended_wait(node);
  }

  void ended_wait(Node& node) {
    set_blocker(node, nullptr);
    node.at = nullptr;
    node.request = nullptr;
    --waiting_;
  }

  // ---- grants ----------------------------------------------------------------------------------

  /// Grants what can be granted.
  /// @param left the transaction that has just released the lock or left the queue; nullptr: one
  ///        has just arrived
  void decide(Queue& queue, Node* left) {
    const bool held = !queue.holders.empty();
    if (!queue.upgrades.empty()) {
      if (queue.holders.size() == 1) grant_upgrade(queue);
    } else if (queue.waiters.empty()) {
      return;
    } else if (!held || !queue.holders.front().request->exclusive) {
      if (none_exclusive(queue)) {
        chosen_.resize(queue.waiters.size());
        std::iota(chosen_.begin(), chosen_.end(), 0);
        grant_chosen(queue);
      } else if (!held || left != nullptr) {
        choose(queue, left, held);
      }
    }
    if (policy_->follows_blockers()) move_edges(queue, left);
  }

  static bool none_exclusive(const Queue& queue) {
    return std::none_of(queue.waiters.begin(), queue.waiters.end(),
                        [](const Entry& waiter) { return waiter.exclusive; });
  }

  /// Lets the policy choose.
  void choose(Queue& queue, const Node* left, bool held) {
    if (seeded<M>(SeededFault::grant_beside_shared)) held = false;
    std::size_t count = queue.waiters.size();
    if (policy_->has_barrier() && !seeded<M>(SeededFault::forget_barrier)) {
      if (held) return;  // these policies decide once the lock is free
      if (queue.ahead == 0) queue.ahead = count;
      count = queue.ahead;
    }
    candidates_.clear();
    for (std::size_t at = 0; at < count; ++at) {
      const auto& [request, node, exclusive] = queue.waiters[at];
      M::on_load(node);
      candidates_.push_back({.exclusive = exclusive,
                             .unblocked = left == nullptr || node->blocker == left,
                             .age = node->age,
                             .locks = node->locks,
                             .type = node->owner->type});
    }
    chosen_.clear();
    deciding_ = &queue;
    ++walk_;
    grant::Decision decision{candidates_, held, *this, chosen_};
    policy_->choose(decision);
    // Of those that follow blockers one is always unblocked: an exclusive request has an edge to a
    // holder.
    assert((!queue.holders.empty() || !chosen_.empty()) && "a free lock is granted");
    grant_chosen(queue);
  }

  /// Grants the requests at the positions chosen_.
  void grant_chosen(Queue& queue) {
    if (chosen_.empty()) return;
    for (const std::uint32_t at : chosen_) grant(queue, queue.waiters[at]);
    std::sort(chosen_.begin(), chosen_.end());
    const std::size_t ahead = queue.ahead;
    std::size_t kept = chosen_.front();
    std::size_t next = 0;
    for (std::size_t at = kept; at < queue.waiters.size(); ++at) {
      if (next < chosen_.size() && chosen_[next] == at) {
        if (at < ahead) --queue.ahead;
        ++next;
      } else {
        queue.waiters[kept++] = queue.waiters[at];
      }
    }
    queue.waiters.resize(kept);
  }

  void grant(Queue& queue, const Entry& waiter) {
    M::on_store(waiter.request);
    waiter.request->granted = true;
    add_holder(queue, waiter);
    ended_wait(*waiter.node);
    wake(*waiter.request->owner);
  }

  void grant_upgrade(Queue& queue) {
    const Entry upgrade = queue.upgrades.front();
    queue.upgrades.clear();
    M::on_store(upgrade.request);
    upgrade.request->exclusive = true;
    upgrade.request->upgrading = false;
    ended_wait(*upgrade.node);
    wake(*upgrade.request->owner);
  }

  static void wake(Owner& owner) {
    timeline::tell<M>(timeline::What::wake, static_cast<std::uint32_t>(owner.worker));
    Signal<M>& signal = owner.granted;
    signal.publish(signal.load() + kGrant);
  }

  // ---- cycles ----------------------------------------------------------------------------------

  /// Lets transactions die until none waits for itself by way of `node`.
  void break_cycles(Node& node) {
    while (node.at != nullptr) {
      path_.clear();
      ++walk_;
      if (!leads_to(node, node)) return;
      Node& victim = choose_victim();
      ++victim.losses;
      victim.owner->is_victim = true;
      detach(victim);
      if (&victim != &node) wake(*victim.owner);
    }
  }

  /// Whether `node`, which waits, waits for `target`. If so, path_ has the transactions between.
  bool leads_to(Node& node, const Node& target) {
    for (const Entry& holder : node.at->holders) {
      Node& next = *holder.node;
      // An upgrade does not wait for the shared lock that it upgrades. It would for another one of
      // its transaction, as a new request would: on a record that had left its index, and is in use
      // again.
      if (holder.request == node.request) continue;
      bool found = &next == &target;
      if (!found) {
        M::on_load(&next);
        if (next.at == nullptr || next.walk == walk_) continue;
        next.walk = walk_;
        found = leads_to(next, target);
      }
      if (!found) continue;
      path_.push_back(&node);
      return true;
    }
    return false;
  }

  /// Of path_: the transaction with the fewest locks, the youngest of equals. The oldest is spared
  /// once it has lost often.
  Node& choose_victim() {
    const auto older = [](const Node* left, const Node* right) { return left->age < right->age; };
    const Node* oldest = *std::min_element(path_.begin(), path_.end(), older);
    Node* victim = nullptr;
    for (Node* node : path_) {
      if (node == oldest && node->losses >= kMostLosses && path_.size() > 1) continue;
      if (victim == nullptr || node->locks < victim->locks ||
          (node->locks == victim->locks && victim->age < node->age)) {
        victim = node;
      }
    }
    return *victim;
  }

  // ---- dependencies ----------------------------------------------------------------------------

  /// Calls f(Node&) for those that wait for a lock that `node` holds.
  template <class F>
  void each_dependent(const Node& node, F f) {
    for (const Queue* queue : node.holds) {
      for (const Entry& waiter : queue->waiters) f(*waiter.node);
      for (const Entry& upgrade : queue->upgrades) {
        if (upgrade.node != &node) f(*upgrade.node);
      }
    }
  }

  /// 1 and a value of every transaction that waits for `node`, put together. Once a decision.
  template <class F>
  std::uint64_t over_dependents(Node& node, F combine) {
    if (node.walk == walk_) return node.value;
    M::on_load(&node);
    node.walk = walk_;
    std::uint64_t value = 0;
    each_dependent(node,
                   [&](Node& next) { value = combine(value, over_dependents(next, combine)); });
    return node.value = value + 1;
  }

  /// The number of transactions in g(node) that a walk has not met.
  std::uint64_t count_unmet(Node& node, std::uint64_t Node::* met, std::uint64_t walk) {
    if (node.*met == walk) return 0;
    M::on_load(&node);
    node.*met = walk;
    std::uint64_t count = 1;
    each_dependent(node, [&](Node& next) { count += count_unmet(next, met, walk); });
    return count;
  }

  Node& waiting_at(std::size_t at) { return *deciding_->waiters[at].node; }

  std::uint64_t size(std::size_t at) override {
    if (exact_) return count_unmet(waiting_at(at), &Node::walk, ++walk_);
    return over_dependents(waiting_at(at), [](std::uint64_t sum, std::uint64_t next) {
      return std::min(sum + next, kMostSize);
    });
  }

  void start_union() override {
    union_size_ = 0;
    ++union_walk_;
  }
  std::uint64_t add_to_union(std::size_t at) override {
    union_size_ += exact_ ? count_unmet(waiting_at(at), &Node::united, union_walk_) : size(at);
    return union_size_;
  }

  std::uint64_t depth(std::size_t at) override {
    return over_dependents(waiting_at(at), [](std::uint64_t most, std::uint64_t next) {
      return std::max(most, next);
    });
  }

  std::uint64_t blocking_locks(std::size_t at) override {
    return static_cast<std::uint64_t>(
        std::count_if(waiting_at(at).holds.begin(), waiting_at(at).holds.end(),
                      [](const Queue* queue) { return queue->used(); }));
  }

  double remaining(std::size_t at) override {
    const int type = waiting_at(at).owner->type;
    return std::max(times_[static_cast<std::size_t>(type)].mean, 1.0);
  }

  // ---- where the policy follows blockers -------------------------------------------------------

  static void set_blocker(Node& node, Node* blocker) {
    if (node.blocker != nullptr) --node.blocker->blocked;
    node.blocker = blocker;
    if (blocker != nullptr) ++blocker->blocked;
  }

  static bool conflicts(const Entry& ahead, const Request& request) {
    return ahead.request->exclusive || ahead.request->upgrading || request.exclusive;
  }

  static Node* first_blocker(const Queue& queue, const Request& request) {
    for (const auto* entries : {&queue.holders, &queue.waiters}) {
      for (const Entry& entry : *entries) {
        if (entry.request == &request) return nullptr;  // those that follow are behind it
        if (conflicts(entry, request)) return entry.node;
      }
    }
    return nullptr;
  }

  /// Those that waited for `left` and still wait have an edge to what blocks them now.
  static void move_edges(Queue& queue, const Node* left) {
    for (const Entry& waiter : queue.waiters) {
      if (waiter.node->blocker == left) {
        set_blocker(*waiter.node, first_blocker(queue, *waiter.request));
      }
    }
  }

  std::uint64_t weight(std::size_t at) override { return weight_of(waiting_at(at)); }

  std::uint64_t weight_of(Node& node) {
    if (node.blocked == 0) [[likely]]
      return own_weight(node);
    if (node.walk == walk_) return node.value;
    M::on_load(&node);
    node.walk = walk_;
    std::uint64_t sum = own_weight(node);
    std::uint32_t left = node.blocked;
    const auto add = [&](const Queue& queue) {
      for (std::size_t at = 0; left != 0 && at < queue.waiters.size(); ++at) {
        Node& waiter = *queue.waiters[at].node;
        if (waiter.blocker != &node) continue;
        --left;
        sum += weight_of(waiter);
      }
    };
    for (const Queue* queue : node.holds) add(*queue);
    add(*node.at);
    return node.value = sum;
  }

  /// MySQL's aging: one that began to wait more than 2 n waits ago, of n that wait, counts as n.
  /// (It limits n so that sums do not overflow; a machine has fewer workers than that.)
  [[nodiscard]] std::uint64_t own_weight(const Node& node) const {
    return reservations_ - node.reservation <= 2 * waiting_ ? 1 : waiting_;
  }

  SpinLatch<M> latch_;
  std::unique_ptr<grant::Policy> policy_;
  bool exact_;
  std::vector<Node> nodes_;   // by worker
  std::deque<Queue> queues_;  // a deque: they stay where they are
  std::vector<Queue*> free_;
  std::vector<Times> times_;  // by type
  std::uint64_t waiting_ = 0;
  std::uint64_t reservations_ = 0;

  // Of the present walk or decision.
  std::uint64_t walk_ = 0;
  std::uint64_t union_walk_ = 0;
  std::uint64_t union_size_ = 0;
  std::vector<Node*> path_;
  Queue* deciding_ = nullptr;
  std::vector<grant::Candidate> candidates_;
  std::vector<std::uint32_t> chosen_;
};

}  // namespace heddle
