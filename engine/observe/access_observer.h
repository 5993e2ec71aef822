#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "machine/delays.h"
#include "machine/options.h"
#include "model/access_id.h"
#include "protocol/any_transaction.h"
#include "protocol/observer.h"
#include "protocol/outcome.h"
#include "protocol/row.h"
#include "protocol/timeline.h"
#include "storage/table.h"

namespace heddle {

/// Records the accesses of one worker's transactions in the timeline of its core, and delays those
/// of one state. For real cores; on virtual ones the machine does both.
template <class M>
class AccessObserver final : public Observer<M>, private TransactionOperations<M> {
 public:
  /// @param schedule the delays, if it has a state to delay
  /// @param inner another observer of the same transactions; nullptr: there is none
  AccessObserver(const ScheduleOptions& schedule, std::uint64_t seed,
                 std::unique_ptr<Observer<M>> inner)
      : inner_(std::move(inner)), delayed_(schedule.delay_state) {
    const typename M::Ticks longest = M::ticks(schedule.delay_us);
    if (delayed_ && longest > 0) delays_.emplace(schedule.delay_every, longest, seed);
  }

  void begin(int type, bool on_snapshot) override {
    if (inner_ != nullptr) inner_->begin(type, on_snapshot);
  }

  TransactionOperations<M>& watch(AnyTransaction<M>& txn, const std::byte* input) override {
    operations_ = inner_ == nullptr ? &txn : &inner_->watch(txn, input);
    return *this;
  }

  void ended(const AnyTransaction<M>& txn, const Attempt<M>& attempt) override {
    if (inner_ != nullptr) inner_->ended(txn, attempt);
  }

  void begin_group() override {
    if (inner_ != nullptr) inner_->begin_group();
  }
  void end_group(bool committed) override {
    if (inner_ != nullptr) inner_->end_group(committed);
  }

 private:
  using Modify = typename TransactionOperations<M>::Modify;
  using Visit = typename TransactionOperations<M>::Visit;

  /// An access, from its construction to the end of its scope.
  class Scope {
   public:
    Scope(AccessObserver& observer, AccessKind kind, AccessId state, const TableBase<M>& table)
        : recorded_(M::recording(state)) {
      if (recorded_) {
        timeline::tell<M>(timeline::What::access,
                          timeline::AccessSubject{state, kind, table.number()}.packed());
      }
      if (observer.delays_ && state == observer.delayed_) observer.delay();
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() {
      if (recorded_) timeline::tell<M>(timeline::What::access_end);
    }

   private:
    bool recorded_;
  };

  Row<std::byte> read(AccessId state, TableBase<M>& table, const std::uint64_t* key,
                      std::uint32_t bytes, Record<M>* found) override {
    const Scope scope(*this, AccessKind::read, state, table);
    return operations_->read(state, table, key, bytes, found);
  }
  bool update(AccessId state, TableBase<M>& table, std::uint32_t entry, std::uint32_t bytes,
              Modify modify) override {
    const Scope scope(*this, AccessKind::update, state, table);
    return operations_->update(state, table, entry, bytes, modify);
  }
  bool insert(AccessId state, TableBase<M>& table, const std::uint64_t* key, const std::byte* row,
              std::uint32_t bytes) override {
    const Scope scope(*this, AccessKind::insert, state, table);
    return operations_->insert(state, table, key, row, bytes);
  }
  bool remove(AccessId state, TableBase<M>& table, std::uint32_t entry) override {
    const Scope scope(*this, AccessKind::remove, state, table);
    return operations_->remove(state, table, entry);
  }
  bool scan(AccessId state, TableBase<M>& table, const std::uint64_t* lo, const std::uint64_t* hi,
            Order order, std::uint32_t limit, std::uint32_t bytes, Visit visit) override {
    const Scope scope(*this, AccessKind::scan, state, table);
    return operations_->scan(state, table, lo, hi, order, limit, bytes, visit);
  }
  [[nodiscard]] Outcome stop() const override { return operations_->stop(); }
  void passed(AccessId state) override { operations_->passed(state); }

  void delay() {
    const typename M::Ticks begin = M::now();
    const typename M::Ticks length = delays_->step();
    while (M::now() - begin < length) M::pause();
  }

  std::unique_ptr<Observer<M>> inner_;
  std::optional<std::uint32_t> delayed_;
  std::optional<Delays> delays_;
  TransactionOperations<M>* operations_ = nullptr;  ///< of the running transaction
};

}  // namespace heddle
