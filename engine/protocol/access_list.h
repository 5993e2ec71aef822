#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "protocol/ticket_latch.h"
#include "protocol/transaction_context.h"
#include "storage/record.h"

namespace heddle {

/// One entry of a record's access list: a visible uncommitted write, or a read (Polyjuice §3.1);
/// either may be that of a transaction that has just committed. It belongs to its transaction;
/// other transactions access it only under the bucket's latch.
template <class M>
struct alignas(64) AccessNode {
  AccessNode* previous = nullptr;
  AccessNode* next = nullptr;
  const Record<M>* record = nullptr;
  TransactionContext<M>* owner = nullptr;
  std::uint64_t incarnation = 0;
  const std::byte* value = nullptr;  ///< a write's content; does not change while linked
  std::uint32_t bytes = 0;
  std::uint16_t type = 0;
  std::uint8_t writes = 0;  ///< the owner's writes to the record so far: the version's identity
  bool write = false;
  bool removed = false;
  /// An earlier write in the list was taken back: this entry may depend on it, and no transaction
  /// should start to depend on this entry.
  bool tainted = false;
};

/// The access lists of several records, in list order, under one latch.
template <class M>
class alignas(64) AccessBucket {
 public:
  /// Whether any list here has an entry. Reads without the latch; the result may be out of date at
  /// once.
  [[nodiscard]] bool empty() const noexcept { return latch_.number() == 0; }

  void latch() noexcept { latch_.latch(); }
  [[nodiscard]] bool try_latch() noexcept { return latch_.try_latch(); }
  void unlatch() noexcept { latch_.unlatch(count_); }

  // The following require the latch.

  [[nodiscard]] AccessNode<M>* first() const { return head_; }
  [[nodiscard]] AccessNode<M>* last() const { return tail_; }

  [[nodiscard]] AccessNode<M>* last_write(const Record<M>* record) const {
    for (AccessNode<M>* node = tail_; node != nullptr; node = node->previous) {
      M::on_load(node);
      if (node->record == record && node->write) return node;
    }
    return nullptr;
  }

  /// Taints the record's entries after a write that is taken back.
  static void taint_after(const AccessNode<M>& aborted) {
    for (AccessNode<M>* node = aborted.next; node != nullptr; node = node->next) {
      node->tainted = node->tainted || node->record == aborted.record;
    }
  }

  /// Links `node` after `at`; at the front if `at` is nullptr.
  void link_after(AccessNode<M>* at, AccessNode<M>* node) {
    node->previous = at;
    node->next = at == nullptr ? head_ : at->next;
    (node->previous == nullptr ? head_ : node->previous->next) = node;
    (node->next == nullptr ? tail_ : node->next->previous) = node;
    ++count_;
  }
  void link_last(AccessNode<M>* node) { link_after(tail_, node); }

  void unlink(AccessNode<M>* node) {
    (node->previous == nullptr ? head_ : node->previous->next) = node->next;
    (node->next == nullptr ? tail_ : node->next->previous) = node->previous;
    --count_;
  }

 private:
  TicketLatch<M> latch_;
  AccessNode<M>* head_ = nullptr;
  AccessNode<M>* tail_ = nullptr;
  std::uint32_t count_ = 0;  ///< entries; the latch passes it on
};

/// The access lists of a database, kept outside its records.
///
/// A list holds only what running transactions have published, a few records per worker, so a small
/// hash table holds all lists. Records stay as small as Silo's, and a clean access never reads a
/// list.
template <class M>
class AccessLists {
 public:
  explicit AccessLists(int workers)
      : bucket_count_(std::bit_ceil(
            std::max<std::size_t>(kLeast, kBucketsPerWorker * static_cast<std::size_t>(workers)))),
        shift_(64 - std::countr_zero(bucket_count_)),
        buckets_(new AccessBucket<M>[bucket_count_]) {}

  [[nodiscard]] AccessBucket<M>& bucket(const Record<M>* record) {
    const auto bits = M::number_of(record) >> 4;
    return buckets_[(bits * 0x9e37'79b9'7f4a'7c15ULL) >> shift_];
  }

 private:
  static constexpr std::size_t kLeast = 1024;
  static constexpr std::size_t kBucketsPerWorker = 128;

  std::size_t bucket_count_;
  int shift_;
  std::unique_ptr<AccessBucket<M>[]> buckets_;
};

}  // namespace heddle
