#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "machine/shared.h"
#include "machine/signal.h"

namespace heddle {

/// The part of one worker's running transaction that other workers may see.
///
/// The context is reused from transaction to transaction, so every reference to a transaction
/// carries its *incarnation*. Progress and incarnation share one word: a waiter sees a change of
/// either in one load.
///
/// Incarnations are only compared for equality, with those of running transactions and remembered
/// outcomes, so they may wrap around once all have been used: 2^40, twelve days of a million
/// attempts a second. Progress saturates at its greatest value; a transaction that waits for more
/// waits until the other one ends.
///
/// @tparam kRemembered past outcomes kept for transactions that read dirty from a writer that has
///         begun another since
/// @tparam kIncarnationBits fewer for a test
template <class M, std::uint64_t kRemembered = 64, int kIncarnationBits = 40>
class alignas(64) TransactionContext {
 public:
  static constexpr std::uint64_t kOutcomes = kRemembered;
  static constexpr std::uint64_t kAborted = 0;

  explicit TransactionContext(int worker = 0) : worker_(worker) {
    progress_.publish(pack(kFirstIncarnation, 0));
  }

  [[nodiscard]] int worker() const { return worker_; }
  void set_worker(int worker) { worker_ = worker; }

  [[nodiscard]] std::uint64_t incarnation() const { return progress_.own() >> kIncarnationShift; }

  /// The number of finished accesses that it has announced.
  [[nodiscard]] std::uint32_t progress() const {
    return static_cast<std::uint32_t>(progress_.load() >> kProgressShift & kProgressMask);
  }

  /// By the owner: it has finished `accesses` of its accesses.
  void announce(std::uint32_t accesses) { progress_.publish(pack(incarnation(), accesses)); }

  /// By the owner: the transaction committed as `version`, or aborted (kAborted). What is left of
  /// it is to leave the access lists, after a commit.
  void finish(std::uint64_t version) {
    // release: a reader that sees this outcome sees that this incarnation had begun; see recall().
    latest_[incarnation() % kLatest].store(version, std::memory_order_release);
    outcomes_[incarnation() % kOutcomes].store(version, std::memory_order_release);
    const std::uint64_t next = (incarnation() + 1) & kIncarnationMask;
    progress_.publish(pack(next == 0 ? kFirstIncarnation : next, 0));
  }

  [[nodiscard]] bool finished(std::uint64_t incarnation) const {
    return progress_.load() >> kIncarnationShift != incarnation;
  }

  /// Whether that incarnation has finished, or has finished at least `accesses` of its accesses.
  [[nodiscard]] bool reached(std::uint64_t incarnation, std::uint32_t accesses) const {
    return reached(progress_.load(), incarnation, accesses);
  }

  template <class Stopped>
  bool wait(std::uint64_t incarnation, std::uint32_t accesses, Stopped stopped) {
    return progress_.wait(
        [incarnation, accesses](std::uint64_t value) {
          return reached(value, incarnation, accesses);
        },
        stopped);
  }

  /// The version that a finished incarnation committed, or kAborted; also kAborted if the outcome
  /// is no longer remembered, which costs the caller an abort and nothing else.
  [[nodiscard]] std::uint64_t outcome(std::uint64_t incarnation) const {
    std::uint64_t version = kAborted;
    if (recall(latest_, incarnation, version)) return version;
    return recall(outcomes_, incarnation, version) ? version : kAborted;
  }

  /// The transaction that this worker's one waits for, for cycle detection: 0, or a packed (worker
  /// + 1, incarnation).
  Shared<M, std::uint64_t> waits_for;

  static constexpr std::uint64_t pack_reference(int worker, std::uint64_t incarnation) {
    return (static_cast<std::uint64_t>(worker + 1) << kReferenceShift) |
           (incarnation & kReferenceMask);
  }
  static constexpr int worker_of(std::uint64_t reference) {
    return static_cast<int>(reference >> kReferenceShift) - 1;
  }
  static constexpr std::uint64_t incarnation_of(std::uint64_t reference) {
    return reference & kReferenceMask;
  }
  [[nodiscard]] bool is(std::uint64_t reference) const {
    return incarnation_of(reference) == (progress_.load() >> kIncarnationShift & kReferenceMask);
  }

 private:
  /// The outcomes in the line of the progress: a dependent that waited for the end has that line.
  static constexpr std::uint64_t kLatest = 4;

  template <std::size_t N>
  using Outcomes = std::array<Shared<M, std::uint64_t>, N>;

  /// Whether `outcomes` still remembers how a finished incarnation ended.
  template <std::size_t N>
  bool recall(const Outcomes<N>& outcomes, std::uint64_t incarnation,
              std::uint64_t& version) const {
    // acquire: if this is a later incarnation's outcome, the load below sees that it is.
    version = outcomes[incarnation % N].load(std::memory_order_acquire);
    const std::uint64_t now = progress_.load() >> kIncarnationShift;
    return now - incarnation < N;
  }

  // [ incarnation 40 | accesses finished 23 | the signal's bit ]
  static constexpr int kIncarnationShift = 24;
  static constexpr std::uint64_t kIncarnationMask = (std::uint64_t{1} << kIncarnationBits) - 1;
  static_assert(kIncarnationShift + kIncarnationBits <= 64);
  static_assert(kOutcomes < kIncarnationMask,
                "an outcome is not mistaken for one of an earlier round");
  static constexpr int kProgressShift = 1;
  static constexpr std::uint64_t kProgressMask =
      (std::uint64_t{1} << (kIncarnationShift - kProgressShift)) - 1;
  static constexpr std::uint64_t kFirstIncarnation = 1;
  static constexpr int kReferenceShift = 40;
  static constexpr std::uint64_t kReferenceMask = (std::uint64_t{1} << kReferenceShift) - 1;

  static constexpr std::uint64_t pack(std::uint64_t incarnation, std::uint64_t accesses) {
    return (incarnation << kIncarnationShift) |
           (std::min(accesses, kProgressMask) << kProgressShift);
  }
  static bool reached(std::uint64_t value, std::uint64_t incarnation, std::uint32_t accesses) {
    const std::uint64_t progress = value >> kProgressShift & kProgressMask;
    return value >> kIncarnationShift != incarnation || progress >= accesses;
  }

  Signal<M> progress_;
  Outcomes<kLatest> latest_{};
  Outcomes<kOutcomes> outcomes_{};
  int worker_;
};

/// Follows "waits for" from one transaction to the next: each waits for one other at a time, so
/// cycle detection is a pointer chase.
/// @return true if it leads back to `self`.
template <class M, class Contexts>
bool closes_cycle(const Contexts& contexts, int self, int workers) {
  // seq_cst: every waiter stores its own pointer before it reads others', so of the waiters that
  // close a cycle together at least one sees the whole cycle.
  std::uint64_t reference = contexts[self].waits_for.load(std::memory_order_seq_cst);
  for (int step = 0; step < workers && reference != 0; ++step) {
    const int worker = TransactionContext<M>::worker_of(reference);
    const TransactionContext<M>& waited_for = contexts[worker];
    if (!waited_for.is(reference)) return false;  // it has finished: no cycle through it
    if (worker == self) return true;
    reference = waited_for.waits_for.load(std::memory_order_seq_cst);
  }
  return false;
}

}  // namespace heddle
