#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "machine/shared.h"
#include "model/inputs.h"
#include "model/signature.h"
#include "protocol/external_entrance.h"
#include "protocol/external_options.h"
#include "protocol/external_population.h"
#include "protocol/lock_plan.h"
#include "protocol/protocol.h"
#include "storage/storage.h"
#include "storage/tid.h"
#include "store/connection.h"
#include "store/fair_semaphore.h"
#include "store/private_folder.h"
#include "store/store.h"
#include "store/stores.h"
#include "store/watched_connection.h"

namespace heddle {

/// The store of a run and what its workers share.
template <class M>
class ExternalRuntime {
 public:
  /// Opens an empty database and copies the loaded rows there.
  /// @throws std::invalid_argument for invalid options; std::runtime_error if the store refuses
  explicit ExternalRuntime(const RunSetup<M>& setup)
      : options_(ExternalOptions::parse(setup.options)),
        storage_(setup.storage),
        stop_(setup.stop),
        folder_(options_.folder),
        store_(store::find_store(options_.store)(store_setup(setup))),
        types_(accesses_of(setup.signature)),
        reads_for_update_(plan_locks(setup.signature).reads_for_update),
        inputs_(setup.inputs),
        hinted_(setup.signature, setup.storage),
        locks_(&setup.stop.raw()),
        places_(&setup.stop.raw(), options_.concurrency.value_or(0)) {
    external::fill_store(storage_, *store_, setup.interrupted);
    // relaxed: the workers start later.
    version_.store(tid::first_of_epoch(storage_.epochs().current()), std::memory_order_relaxed);
  }

  [[nodiscard]] const ExternalOptions& options() const { return options_; }
  /// The run's stop word.
  [[nodiscard]] const Shared<M, std::uint64_t>& stop() const { return stop_; }

  /// What a type does; those that are in no signature read.
  [[nodiscard]] store::Access access_of(int type) const {
    const auto at = static_cast<std::size_t>(type);
    return at < types_.size() ? types_[at] : store::Access::read_only;
  }

  /// The lock of rows that a state reads: exclusive if the next access writes them.
  [[nodiscard]] store::RowLock lock_of(AccessId state) const {
    const auto at = static_cast<std::size_t>(state);
    return at < reads_for_update_.size() && reads_for_update_[at] ? store::RowLock::exclusive
                                                                  : store::RowLock::shared;
  }

  /// Whether only the locks in front of the store make its transactions serializable.
  [[nodiscard]] bool relies_on_locks() const {
    return options_.locks == OutsideLocks::hints &&
           options_.isolation != store::Isolation::serializable;
  }

  /// A worker's entrance to the store, as the options say.
  /// @param has_round_trips whether the store benefits from reads that are made together
  [[nodiscard]] WorkerEntrance make_entrance(bool has_round_trips) {
    const bool hints = inputs_ != nullptr && inputs_->has_hints();
    const bool locks = options_.locks == OutsideLocks::hints && inputs_ != nullptr;
    return {{.locks = locks ? &locks_ : nullptr,
             .places = options_.concurrency.has_value() ? &places_ : nullptr,
             .prefetches = hints && has_round_trips && options_.prefetch == Prefetch::hints},
            hinted_,
            inputs_};
  }

  /// The table of a number.
  [[nodiscard]] TableBase<M>& table(std::size_t number) { return *storage_.tables()[number]; }

  /// A connection for the calling thread, kept until the end of the run; nullptr: it failed, and so
  /// has the run.
  [[nodiscard]] store::Connection* connect() {
    try {
      auto connection = std::make_unique<store::WatchedConnection>(store_->connect());
      const std::lock_guard lock(mutex_);
      connections_.push_back(std::move(connection));
      return connections_.back().get();
    } catch (const std::exception& error) {
      fail(error.what());
      return nullptr;
    }
  }

  /// A version greater than all that transactions have committed by now: it is drawn when a
  /// transaction has made its reads, so it is greater than the version of each row that it
  /// overwrites, and than that of a deleted row that it inserts again.
  [[nodiscard]] std::uint64_t next_version() {
    // relaxed: every draw differs, and a draw after another in time is greater, because the changes
    // of one word have one order. No other data depends on it.
    return version_.fetch_add(tid::kStep, std::memory_order_relaxed) + tid::kStep;
  }

  /// Ends the run because the store can't go on. The first reason counts.
  void fail(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = why;
    // relaxed: the reason is read under the lock.
    failed_.store(1, std::memory_order_relaxed);
  }
  [[nodiscard]] bool failed() const {
    return failed_.load(std::memory_order_relaxed) != 0;  // relaxed: as in fail()
  }
  [[nodiscard]] std::string failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

  /// Ends what the connections wait for. Call it when the stop word is set.
  void interrupt() {
    locks_.wake();
    places_.wake();
    store_->wake();
    const std::lock_guard lock(mutex_);
    for (const auto& connection : connections_) connection->interrupt();
  }

  /// The calls of the store that have not returned, for messages: a line for each.
  [[nodiscard]] std::string calls_in_progress() const {
    std::string lines;
    const std::lock_guard lock(mutex_);
    for (const auto& connection : connections_) {
      const std::string call = connection->call_in_progress();
      if (!call.empty()) lines += "store " + options_.store + ": " + call + '\n';
    }
    return lines;
  }

  [[nodiscard]] std::uint64_t syncs() const { return store_->syncs(); }
  [[nodiscard]] std::optional<std::uint64_t> round_trips() const { return store_->round_trips(); }

  /// After the workers have ended: copies the rows back, unless the store has failed.
  void finish() {
    if (failed()) return;
    try {
      external::take_from_store(storage_, *store_);
    } catch (const std::exception& error) {
      fail(error.what());
    }
  }

 private:
  [[nodiscard]] store::StoreSetup store_setup(const RunSetup<M>& setup) const {
    store::StoreSetup made = options_.setup();
    made.tables = external::tables_of(setup.storage);
    made.folder = folder_.path().string();
    made.connections = static_cast<std::size_t>(setup.workers);
    // An attempt is several statements, and no other transaction makes these wait.
    constexpr double kAttempts = 6;
    made.silence_s = kAttempts * setup.watchdog_s;
    made.interrupted = setup.interrupted;
    made.stop = &setup.stop.raw();
    return made;
  }

  [[nodiscard]] static std::vector<store::Access> accesses_of(const Signature& signature) {
    std::vector<store::Access> types;
    for (const TypeSpec& type : signature.types) {
      const bool writes =
          std::any_of(type.accesses.begin(), type.accesses.end(), [](const AccessSpec& access) {
            return access.kind != AccessKind::read && access.kind != AccessKind::scan;
          });
      types.push_back(writes ? store::Access::read_write : store::Access::read_only);
    }
    return types;
  }

  ExternalOptions options_;
  Storage<M>& storage_;
  const Shared<M, std::uint64_t>& stop_;
  store::PrivateFolder folder_;
  std::unique_ptr<store::Store> store_;
  std::vector<store::Access> types_;
  std::vector<bool> reads_for_update_;  ///< by state
  const Inputs* inputs_;
  HintedRows hinted_;
  KeyLocks locks_;
  store::FairSemaphore places_;
  Shared<M, std::uint64_t> version_;
  Shared<M, std::uint64_t> failed_;
  mutable std::mutex mutex_;  ///< guards what follows
  std::vector<std::unique_ptr<store::WatchedConnection>> connections_;
  std::string failure_;
};

}  // namespace heddle
