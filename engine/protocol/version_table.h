#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

#include "machine/seeded_fault.h"
#include "machine/shared.h"
#include "protocol/transaction_context.h"
#include "storage/key.h"
#include "storage/record.h"
#include "storage/storage.h"

namespace heddle {

/// A transaction as its readers see it. More past outcomes are kept per worker than for a policy
/// table: every write is visible, so every attempt counts.
template <class M>
using VersionOwner = TransactionContext<M, 512>;

/// A version that its writer has not committed. It belongs to its transaction; others access it
/// only under the bucket's latch.
template <class M>
struct alignas(64) PendingVersion {
  PendingVersion* newer = nullptr;  ///< of any record of the bucket
  PendingVersion* older = nullptr;
  const Record<M>* record = nullptr;
  VersionOwner<M>* owner = nullptr;
  std::uint64_t incarnation = 0;
  std::uint64_t word = 0;            ///< the TID word it will be committed with
  const std::byte* value = nullptr;  ///< its first columns; the others are the earlier version's
  std::uint32_t bytes = 0;
  std::uint32_t reach = 0;  ///< the most bytes of it and the versions before it, when it was added
};

/// A committed version that has been overwritten. The whole payload follows the header.
template <class M>
struct alignas(16) PastVersion {
  PastVersion* newer = nullptr;
  PastVersion* older = nullptr;
  const Record<M>* record = nullptr;
  std::uint64_t word = 0;   ///< the TID word it was committed with
  std::uint64_t until = 0;  ///< the timestamp of the transaction that overwrote it
  std::size_t bytes = 0;    ///< of this block

  [[nodiscard]] std::byte* payload() { return reinterpret_cast<std::byte*>(this + 1); }
  [[nodiscard]] const std::byte* payload() const {
    return reinterpret_cast<const std::byte*>(this + 1);
  }
};

/// The version of a record that a timestamp sees.
template <class M>
struct VisibleVersion {
  std::uint64_t word = tid::kPlaceholder;  ///< never locked
  VersionOwner<M>* owner = nullptr;        ///< nullptr: it is committed
  std::uint64_t incarnation = 0;
};

/// The versions of several rows that are not in their records, and the latest timestamps that have
/// read the rows; all under one latch.
template <class M>
class alignas(64) VersionBucket {
 public:
  void latch() noexcept {
    int spins = 0;
    // acquire: the bucket as the last holder left it.
    while (latched_.exchange(1, std::memory_order_acquire) != 0) M::relax(spins, &latched_);
  }
  void unlatch() noexcept { latched_.store(0, std::memory_order_release); }  // release: as above

  // All below: under the latch.

  /// The newest version of the record that is not newer than `timestamp`, with its first `bytes`.
  /// The reader's own versions are skipped.
  VisibleVersion<M> read(const Record<M>& record, std::uint64_t timestamp, std::byte* to,
                         std::uint32_t bytes, const VersionOwner<M>* reader) const {
    // acquire: pairs with a commit before this run. Commits require the latch of the bucket.
    const std::uint64_t word = record.word.load(std::memory_order_acquire) & ~tid::kLock;
    if (tid::dead(word)) [[unlikely]]
      return {.word = word};
    VisibleVersion<M> found{};
    std::uint32_t have = 0;
    for (const PendingVersion<M>* version = pending_; version != nullptr;
         version = version->older) {
      M::on_load(version);
      if (version->record != &record || version->owner == reader) continue;
      if (tid::version(version->word) > timestamp) continue;
      if (found.owner == nullptr) {
        found = {version->word, version->owner, version->incarnation};
        if (tid::absent(version->word)) return found;
      }
      const std::uint32_t until = std::min(version->bytes, bytes);
      if (until > have) {
        M::on_load(version->value + have, until - have);
        std::memcpy(to + have, version->value + have, until - have);
        have = until;
      }
      if (have == bytes) return found;
      if (have >= version->reach) break;  // older versions have no more bytes
    }
    if (found.owner == nullptr) {
      const bool later = tid::version(word) > timestamp && !seeded<M>(SeededFault::read_newest);
      if (later) return read_past(record, timestamp, to, bytes);
      found.word = word;
      if (tid::absent(word)) return found;
    }
    if (have < bytes) copy_from_record<M>(to + have, record.payload() + have, bytes - have);
    return found;
  }

  void add(PendingVersion<M>& version) {
    M::on_store(&version);
    version.newer = nullptr;
    version.older = pending_;
    version.reach = version.bytes;
    for (const PendingVersion<M>* older = pending_; older != nullptr; older = older->older) {
      M::on_load(older);
      if (older->record != version.record) continue;
      version.reach = std::max(version.reach, older->reach);
      break;
    }
    if (pending_ != nullptr) pending_->newer = &version;
    pending_ = &version;
  }
  void remove(PendingVersion<M>& version) {
    (version.newer == nullptr ? pending_ : version.newer->older) = version.older;
    if (version.older != nullptr) version.older->newer = version.newer;
  }

  /// Keeps a version that is about to be overwritten. Those of a record arrive in order.
  void keep(PastVersion<M>& version) {
    M::on_store(&version, version.bytes);
    version.older = newest_;
    (newest_ == nullptr ? oldest_ : newest_->newer) = &version;
    newest_ = &version;
  }
  /// Removes and returns the version kept longest if it was overwritten by `horizon`; else nullptr.
  PastVersion<M>* take_oldest(std::uint64_t horizon) {
    PastVersion<M>* const version = oldest_;
    if (version == nullptr || version->until > horizon) return nullptr;
    oldest_ = version->newer;
    (oldest_ == nullptr ? newest_ : oldest_->older) = nullptr;
    return version;
  }

  /// The newest timestamp that has read the row or node of this name, or a later one.
  [[nodiscard]] std::uint64_t last_reader(std::uint64_t name) const {
    for (const Reader& reader : readers_) {
      if (reader.name == name) return reader.timestamp;
    }
    return forgotten_;
  }
  void note_reader(std::uint64_t name, std::uint64_t timestamp) {
    Reader* oldest = readers_.data();
    for (Reader& reader : readers_) {
      if (reader.name == name) {
        if (timestamp <= reader.timestamp) return;
        M::on_store(&reader);
        reader.timestamp = timestamp;
        return;
      }
      if (reader.timestamp < oldest->timestamp) oldest = &reader;
    }
    if (timestamp <= forgotten_) return;
    M::on_store(oldest);
    forgotten_ = std::max(forgotten_, oldest->timestamp);
    *oldest = {name, std::max(forgotten_, timestamp)};
  }

 private:
  struct Reader {
    std::uint64_t name = 0;
    std::uint64_t timestamp = 0;
  };
  static constexpr std::size_t kReaders = 5;

  /// A record's versions are in order in the list. Where there is none for `timestamp`, the row did
  /// not exist yet, or was deleted for a while.
  VisibleVersion<M> read_past(const Record<M>& record, std::uint64_t timestamp, std::byte* to,
                              std::uint32_t bytes) const {
    for (const PastVersion<M>* past = newest_; past != nullptr; past = past->older) {
      M::on_load(past);
      if (past->record != &record || tid::version(past->word) > timestamp) continue;
      if (past->until <= timestamp) break;
      M::on_load(past->payload(), bytes);
      std::memcpy(to, past->payload(), bytes);
      return {.word = past->word};
    }
    return {};
  }

  Shared<M, std::uint64_t> latched_;
  PendingVersion<M>* pending_ = nullptr;
  PastVersion<M>* newest_ = nullptr;
  PastVersion<M>* oldest_ = nullptr;
  std::uint64_t forgotten_ = 0;  ///< no reader without an entry here is newer
  std::array<Reader, kReaders> readers_{};
};

/// The versions of a database outside its records, and its rows' readers.
///
/// A record holds its newest committed version and nothing for this protocol. A transaction that
/// reads an older or an uncommitted version runs at the same time as the version's writer. The size
/// of this table is therefore proportional to the running transactions, not to the database, and a
/// hash table of fixed size holds it. Each bucket remembers the latest few readers by name, and of
/// all others the newest timestamp; that refuses too many writes but never too few.
template <class M>
class VersionTable {
 public:
  VersionTable(int workers, Storage<M>& storage)
      : storage_(storage),
        bucket_count_(std::bit_ceil(
            std::max<std::size_t>(kLeast, kBucketsPerWorker * static_cast<std::size_t>(workers)))),
        shift_(64 - std::countr_zero(bucket_count_)),
        buckets_(new VersionBucket<M>[bucket_count_]) {}
  VersionTable(const VersionTable&) = delete;
  VersionTable& operator=(const VersionTable&) = delete;
  ~VersionTable() {
    for (std::size_t at = 0; at < bucket_count_; ++at) forget(0, buckets_[at], kEverything);
  }

  /// The name under which a row's readers are noted, whether or not the row exists. Odd: never 0,
  /// and never that of a node.
  /// @param table its index in Storage::tables()
  /// @param key word_of() the key
  [[nodiscard]] static std::uint64_t name_of(std::uint8_t table, std::uint64_t key) {
    return (hash_of(make_key(key)) ^ ((std::uint64_t{table} + 1) * 0xbf58'476d'1ce4'e5b9ULL)) | 1;
  }
  [[nodiscard]] VersionBucket<M>& bucket(std::uint64_t name) { return buckets_[name >> shift_]; }

  /// The name under which an index node's readers are noted: the address of its version.
  [[nodiscard]] static std::uint64_t name_of(const Shared<M, std::uint64_t>* node) {
    return reinterpret_cast<std::uintptr_t>(node);
  }
  [[nodiscard]] VersionBucket<M>& bucket(const Shared<M, std::uint64_t>* node) {
    const auto bits = M::number_of(node) >> 4;
    return buckets_[(bits * 0x9e37'79b9'7f4a'7c15ULL) >> shift_];
  }

  /// Keeps the committed version that the caller, which holds the bucket's latch, is about to
  /// overwrite at `timestamp`; frees some that no transaction as new as `horizon` can see.
  void keep(int worker, VersionBucket<M>& bucket, const TableBase<M>& table,
            const Record<M>& record, std::uint64_t word, std::uint64_t timestamp,
            std::uint64_t horizon) {
    forget(worker, bucket, horizon, kForgetAtOnce);
    if (timestamp <= horizon || seeded<M>(SeededFault::forget_versions)) return;
    const std::size_t bytes = sizeof(PastVersion<M>) + table.row_bytes();
    auto* past = new (storage_.allocate(worker, bytes))
        PastVersion<M>{.record = &record, .word = word, .until = timestamp, .bytes = bytes};
    std::memcpy(past->payload(), record.payload(), table.row_bytes());
    bucket.keep(*past);
  }

 private:
  static constexpr std::size_t kLeast = 4096;
  static constexpr std::size_t kBucketsPerWorker = 128;
  static constexpr std::uint64_t kEverything = ~std::uint64_t{0};
  /// More than are kept per call, so that a backlog shrinks.
  static constexpr int kForgetAtOnce = 4;

  void forget(int worker, VersionBucket<M>& bucket, std::uint64_t horizon,
              int most = std::numeric_limits<int>::max()) {
    for (int count = 0; count < most; ++count) {
      PastVersion<M>* const past = bucket.take_oldest(horizon);
      if (past == nullptr) return;
      storage_.release(worker, past, past->bytes);
    }
  }

  Storage<M>& storage_;
  std::size_t bucket_count_;
  int shift_;
  std::unique_ptr<VersionBucket<M>[]> buckets_;
};

}  // namespace heddle
