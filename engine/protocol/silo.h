#pragma once

#include <string_view>

#include "protocol/optimistic.h"
#include "protocol/protocol.h"
#include "protocol/stored_procedure.h"

namespace heddle {

/// Silo (Tu et al., SOSP 2013, §4): reads are optimistic, writes are buffered, and a transaction
/// commits by locking its write set in order, validating its read and node sets, and installing.
template <class M>
class SiloTransaction final : public OptimisticCore<M>,
                              public StoredProcedureApi<M, SiloTransaction<M>> {
  using Core = OptimisticCore<M>;
  using Core::set_;

 public:
  static constexpr bool kReplays = false;
  using Core::Core;

  void begin() { Core::begin_core(); }

  /// The three-phase commit (§4.4). On false, abort() must follow.
  bool commit() { return Core::commit_core(); }

  /// Whether a transaction that is to roll back saw a state of the database. Nothing is locked: a
  /// record that is being installed counts as changed.
  bool validate_rollback() { return Core::validate(false); }

  void abort() { Core::abort_core(); }

  /// Silo never waits for a transaction, only for a record's lock bit.
  [[nodiscard]] static typename M::Ticks waited() { return 0; }

  /// Silo announces no progress: only protocols that wait for it need that.
  void passed(AccessId) {}

  // ---- the steps of an access, for StoredProcedureApi ------------------------------------------

  Begin begin_access(AccessId) { return this->doomed_ ? Begin::stop : Begin::plain; }

  [[gnu::always_inline]] Look look(AccessId state, TableBase<M>& table, Record<M>* record,
                                   std::uint32_t bytes, bool /*for_scan*/, std::uint32_t& entry) {
    const auto place = set_.locate(record);
    entry = place.entry;
    if (entry != AccessSet<M>::kNone) [[unlikely]]
      return Core::look_again(entry, bytes);
    return Core::read_committed(state, table, record, bytes, place, entry);
  }

  static std::uint32_t position() { return 0; }

  std::byte* write_buffer(std::uint32_t entry, std::uint32_t bytes) {
    return Core::next_write_buffer(entry, bytes);
  }

  Look place(AccessId state, TableBase<M>& table, const InsertResult<M>& result,
             std::uint32_t& entry) {
    return Core::adopt(state, table, result, entry);
  }

  bool mark_removed(std::uint32_t entry) { return Core::set_removed(entry); }
};

/// Silo as a protocol the driver runs.
struct Silo {
  static constexpr std::string_view kName = "silo";

  template <class M>
  struct Runtime {
    explicit Runtime(const RunSetup<M>& setup) {
      for (const auto& [key, value] : setup.options) {
        reject_protocol_option(kName, key, value, "none");
      }
    }
    [[nodiscard]] static int waits_for(int /*worker*/) { return -1; }
  };

  template <class M>
  class Executor {
   public:
    Executor(Runtime<M>& /*runtime*/, Storage<M>& storage, int worker) : txn_(storage, worker) {}

    template <class P>
    Attempt<M> attempt(const P& procedure, int /*type*/, std::uint32_t /*prior_aborts*/) {
      txn_.begin();
      return attempt_by<M>(txn_, procedure);
    }
    static const CompiledPolicy* policy() { return nullptr; }

   private:
    SiloTransaction<M> txn_;
  };
};

}  // namespace heddle
