#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include "protocol/optimistic.h"
#include "protocol/protocol.h"
#include "protocol/stored_procedure.h"

namespace heddle {

/// Silo that also compares its reads every `check_every` accesses, and aborts at once if one of
/// them has changed. Silo itself finds that out at commit.
template <class M>
class DummyTransaction final : public OptimisticCore<M>,
                               public StoredProcedureApi<M, DummyTransaction<M>> {
  using Core = OptimisticCore<M>;

 public:
  static constexpr bool kReplays = false;  // an aborted attempt restarts from its first access

  DummyTransaction(Storage<M>& storage, int worker, std::uint32_t check_every)
      : Core(storage, worker), check_every_(check_every) {}

  void begin() {
    Core::begin_core();
    accesses_ = 0;
  }
  /// Locks the write set, validates the read set and the node set, installs. False: abort()
  /// follows.
  bool commit() { return Core::commit_core(); }
  /// A rollback is granted only if it rests on a consistent read.
  bool validate_rollback() { return Core::validate(/*write_set_locked=*/false); }
  void abort() { Core::abort_core(); }

  /// Time spent waiting for other transactions. This protocol waits for none.
  [[nodiscard]] static typename M::Ticks waited() { return 0; }
  /// A loop has ended, or will not run. Only protocols that wait for progress use it.
  void passed(AccessId /*state*/) {}

  // ---- the steps of which StoredProcedureApi makes read, update, insert, remove and scan --------

  /// Before each access. This is the difference from Silo.
  Begin begin_access(AccessId /*state*/) {
    const bool checks = ++accesses_ % check_every_ == 0;
    // records_unchanged() names the reason and the state of the abort.
    if (checks && !this->doomed_) (void)Core::records_unchanged(/*write_set_locked=*/false);
    return this->doomed_ ? Begin::stop : Begin::plain;
  }

  /// A record was found in an index: its committed version, or what this transaction made of it.
  Look look(AccessId state, TableBase<M>& table, Record<M>* record, std::uint32_t bytes,
            bool /*for_scan*/, std::uint32_t& entry) {
    const auto place = this->set_.locate(record);
    entry = place.entry;
    if (entry != AccessSet<M>::kNone) return Core::look_again(entry, bytes);
    return Core::read_committed(state, table, record, bytes, place, entry);
  }

  /// A row is about to change: the private copy to change.
  std::byte* write_buffer(std::uint32_t entry, std::uint32_t bytes) {
    return Core::next_write_buffer(entry, bytes);
  }

  /// An insert has put a record into the index, or found one there.
  Look place(AccessId state, TableBase<M>& table, const InsertResult<M>& result,
             std::uint32_t& entry) {
    return Core::adopt(state, table, result, entry);
  }

  bool mark_removed(std::uint32_t entry) { return Core::set_removed(entry); }

  /// Where an access stands among those of the attempt. Only protocols that replay use it.
  static std::uint32_t position() { return 0; }

 private:
  std::uint32_t check_every_;
  std::uint32_t accesses_ = 0;
};

/// The protocol: what the driver starts and runs.
struct DummyProtocol {
  static constexpr std::string_view kName = "dummy";

  /// What the workers of one run share.
  template <class M>
  struct Runtime {
    /// @throws std::invalid_argument for an option that the protocol does not have
    explicit Runtime(const RunSetup<M>& setup) {
      for (const auto& [key, value] : setup.options) {
        const char* end = value.data() + value.size();
        const auto [stopped_at, error] = std::from_chars(value.data(), end, check_every);
        const bool whole = error == std::errc{} && stopped_at == end;
        if (key != "check_every" || !whole || check_every == 0) {
          reject_protocol_option(kName, key, value, "check_every=1 or more");
        }
      }
    }

    /// The worker that `worker` waits for; -1: none. The watchdog reports it.
    [[nodiscard]] static int waits_for(int /*worker*/) { return -1; }

    std::uint32_t check_every = 4;
  };

  /// One worker's part: makes one attempt at a transaction.
  template <class M>
  class Executor {
   public:
    Executor(Runtime<M>& runtime, Storage<M>& storage, int worker)
        : txn_(storage, worker, runtime.check_every) {}

    template <class P>
    Attempt<M> attempt(const P& procedure, int /*type*/, std::uint32_t /*prior_aborts*/) {
      txn_.begin();
      return attempt_by<M>(txn_, procedure);
    }

    /// The policy of the last attempt; nullptr: the protocol executes none.
    static const CompiledPolicy* policy() { return nullptr; }

   private:
    DummyTransaction<M> txn_;
  };
};

}  // namespace heddle
