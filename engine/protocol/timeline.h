#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "machine/timeline.h"
#include "model/signature.h"
#include "protocol/outcome.h"
#include "storage/storage.h"

namespace heddle::timeline {

/// The events that transactions report on a machine that records them. On other machines each of
/// these compiles to nothing.
enum class What : std::uint16_t {
  spun = Timeline::kSpun,
  attempt,       ///< begins: type; number of aborts before it
  access,        ///< begins: AccessSubject; the key's first word
  access_end,    ///< the last one begun ends
  replayed,      ///< the last one begun is served from the log
  wait,          ///< begins: the transaction waited for; its goal
  wait_end,      ///< ends
  wait_skipped,  ///< ends at once: it would have closed a cycle
  dependency,    ///< a new one: the transaction depended on
  validation,    ///< early validation: state; whether it succeeded
  publication,   ///< writes became visible: state; their number
  retry,         ///< the procedure runs again, from the last validated point
  commit,        ///< the procedure has ended, the commit begins
  end,           ///< of the attempt: Outcome; AbortReason, and the state above kReasonBits
  backoff,       ///< begins
  backoff_end,
  window,           ///< the core's measured window begins: later transactions count
  transaction,      ///< the first attempt begins: type; ticks since the transaction arrived
  transaction_end,  ///< its latency in ticks
  hold,             ///< admission holds back the next attempt
  hold_end,
  validate,  ///< of the commit: the write set is locked, the validation begins
  install,   ///< of the commit: validated, the installation begins
  release,   ///< of the commit: installed, locks and access lists are left
  undo,      ///< the attempt is undone: its locks and what it published
  wake,      ///< ends another's wait for a lock: the core that waits
  skip,      ///< the core's next transactions are not recorded
  count_,
};

inline constexpr std::array<std::string_view, static_cast<std::size_t>(What::count_)> kWhatNames{
    "spun",
    "attempt",
    "access",
    "access_end",
    "replayed",
    "wait",
    "wait_end",
    "wait_skipped",
    "dependency",
    "validation",
    "publication",
    "retry",
    "commit",
    "end",
    "backoff",
    "backoff_end",
    "window",
    "transaction",
    "transaction_end",
    "hold",
    "hold_end",
    "validate",
    "install",
    "release",
    "undo",
    "wake",
    "skip"};

/// The goal of a wait: a lock, a number of the other transaction's accesses, its end, or that of a
/// phase of a batch. The last one is for no single transaction.
inline constexpr std::uint64_t kUntilGranted = 0;
inline constexpr std::uint64_t kUntilEnd = ~std::uint32_t{0};
inline constexpr std::uint64_t kUntilBatch = kUntilEnd - 1;
inline constexpr std::uint32_t kNobody = Timeline::kNobody;

inline constexpr int kReasonBits = 8;

/// The state, kind and table of an access, in one word.
struct AccessSubject {
  AccessId state;
  AccessKind kind;
  std::uint8_t table;  ///< its index in Storage::tables()

  [[nodiscard]] constexpr std::uint32_t packed() const {
    return std::uint32_t{state} | static_cast<std::uint32_t>(kind) << 16 |
           std::uint32_t{table} << 24;
  }
  static constexpr AccessSubject unpack(std::uint32_t word) {
    return {static_cast<AccessId>(word), static_cast<AccessKind>(word >> 16 & 0xff),
            static_cast<std::uint8_t>(word >> 24)};
  }
};

/// Whether an event is for drawings alone. A machine on which recording takes time leaves it out.
constexpr bool is_detail(What what) {
  return what == What::replayed || what == What::dependency || what == What::validation ||
         what == What::publication;
}

template <class M>
void tell(What what, std::uint64_t subject = 0, std::uint64_t number = 0) {
  if (M::kSamples && is_detail(what)) return;
  M::record(static_cast<std::uint16_t>(what), static_cast<std::uint32_t>(subject), number);
}

/// The core's measured window begins.
template <class M>
void tell_window() {
  M::open_window(static_cast<std::uint16_t>(What::window));
}

/// A transaction begins its first attempt.
/// @param start the time, as of the worker's last reading of the clock
template <class M>
void tell_begin(int type, typename M::Ticks arrived, typename M::Ticks start) {
  M::begin_transaction(start, static_cast<std::uint16_t>(What::skip));
  if (!M::recording()) return;
  const auto now = M::now();
  M::record_at(now, static_cast<std::uint16_t>(What::transaction), static_cast<std::uint32_t>(type),
               now - arrived);
}

/// A transaction has ended.
template <class M>
void tell_ended(typename M::Ticks arrived, typename M::Ticks end) {
  M::record_at(end, static_cast<std::uint16_t>(What::transaction_end), 0, end - arrived);
}

template <class M>
void tell_end(Outcome outcome, AbortReason reason, AccessId state) {
  tell<M>(What::end, static_cast<std::uint64_t>(outcome),
          static_cast<std::uint64_t>(reason) | std::uint64_t{state} << kReasonBits);
}

/// An access, from its construction to the end of its scope. Where accesses are recorded by an
/// observer (observe/access_observer.h), it does nothing.
template <class M>
class AccessScope {
 public:
  /// @param key returns the key's first word; called only where it is recorded
  template <class Key>
  AccessScope([[maybe_unused]] AccessKind kind, [[maybe_unused]] AccessId state,
              [[maybe_unused]] const TableBase<M>& table, [[maybe_unused]] Key key) {
    if constexpr (!M::kSamples) {
      if (M::recording()) {
        tell<M>(What::access, AccessSubject{state, kind, table.number()}.packed(), key());
      }
      M::on_access(state);
    }
  }
  AccessScope(const AccessScope&) = delete;
  AccessScope& operator=(const AccessScope&) = delete;
  ~AccessScope() {
    if constexpr (!M::kSamples) tell<M>(What::access_end);
  }

  /// The access is served from the log.
  void replayed() const { tell<M>(What::replayed); }
};

}  // namespace heddle::timeline
