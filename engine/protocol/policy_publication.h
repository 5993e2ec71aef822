#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "protocol/access_list.h"
#include "protocol/access_set.h"
#include "protocol/compiled_policy.h"
#include "protocol/policy_dependencies.h"
#include "protocol/policy_runtime.h"
#include "protocol/transaction_context.h"

namespace heddle {

/// What one transaction makes visible to others: its reads and its PUBLIC writes in the records'
/// access lists, and its progress (Polyjuice §3.1, §4.1, §4.3).
///
/// At a publication point the caller collects the accesses since the last one, latches their lists,
/// validates, links, and unlatches. Everything stays linked until the transaction ends.
template <class M>
class Publication {
 public:
  Publication(PolicyRuntime<M>& runtime, int worker)
      : lists_(runtime.lists), context_(runtime.contexts[worker]) {}

  /// @param type the transaction's type
  void begin(std::uint16_t type) {
    assert(linked_ == 0 && kept_ == nullptr && "the last transaction has left the lists");
    type_ = type;
    pending_.clear();
  }

  /// Whether the transaction is in a list, so that others may depend on it.
  [[nodiscard]] bool visible() const { return linked_ != 0; }
  /// The incarnation under which others know the transaction.
  [[nodiscard]] std::uint64_t incarnation() const { return context_.incarnation(); }
  /// Announces to waiting transactions the number of finished accesses.
  void announce(std::uint16_t accesses) {
    // A transaction that is in no list has no waiters.
    if (visible()) context_.announce(accesses);
  }

  // ---- pending writes --------------------------------------------------------------------------

  /// Keeps a write for the next PUBLIC one, which makes it visible as well (§4.3).
  void defer(AccessSet<M>& set, std::uint32_t entry) {
    if (set[entry].pending) return;
    set[entry].pending = true;
    pending_.push_back(entry);
  }
  [[nodiscard]] std::uint32_t pending_count() const {
    return static_cast<std::uint32_t>(pending_.size());
  }
  void rewind_pending(std::uint32_t count) { pending_.resize(count); }
  /// Called after the pending writes have become visible.
  void clear_pending(AccessSet<M>& set) {
    for (const std::uint32_t entry : pending_) set[entry].pending = false;
    pending_.clear();
  }

  // ---- a publication point ---------------------------------------------------------------------

  /// Collects what is to be linked: the reads from the entry `first` on, of tables that are
  /// published to, and the pending writes if they are to become visible. A read followed by the
  /// transaction's own write is covered by the write.
  void collect(const CompiledPolicy& policy, const AccessSet<M>& set, std::uint32_t first,
               bool with_writes) {
    assert(collected_.empty());
    if (!policy.publishes()) return;
    for (std::uint32_t entry = first; entry < set.size(); ++entry) {
      const Access<M>& access = set[entry];
      if (access.written() || !policy.links_reads(access.state)) continue;
      collected_.push_back({&lists_.bucket(access.record), entry, false});
    }
    if (with_writes) {
      for (const std::uint32_t entry : pending_) {
        collected_.push_back({&lists_.bucket(set[entry].record), entry, true});
      }
    }
    std::sort(collected_.begin(), collected_.end(),
              [](const Item& a, const Item& b) { return a.bucket < b.bucket; });
  }

  /// Latches the lists of what was collected, in address order, so that publishing transactions
  /// cannot deadlock. While it keeps a latch, it does not wait for the others: if one is taken, it
  /// gives up the kept one, and begins again in order.
  void latch() {
    if (kept_ != nullptr && latch_others_at_once()) return;
    give_up_latch();
    const AccessBucket<M>* last = nullptr;
    for (const Item& item : collected_) {
      if (item.bucket != last) item.bucket->latch();
      last = item.bucket;
    }
  }

  /// Whether the transaction holds latches, between latch() and unlatch().
  [[nodiscard]] bool latched() const { return !collected_.empty(); }

  /// Unlatches the lists, and forgets what was collected.
  void unlatch() {
    const AccessBucket<M>* last = nullptr;
    for (const Item& item : collected_) {
      if (item.bucket != last) item.bucket->unlatch();
      last = item.bucket;
    }
    collected_.clear();
  }

  /// A visible write that conflicts with a collected one, or nullptr. A write is linked after the
  /// last visible one, and so can only commit after it: a transaction that read the record must
  /// have read that very version.
  [[nodiscard]] const AccessNode<M>* obstacle(const AccessSet<M>& set,
                                              const Dependencies<M>& dependencies) const {
    for (const Item& item : collected_) {
      if (!item.write || follows_what_it_read(item, set, dependencies)) continue;
      return item.bucket->last_write(set[item.entry].record);
    }
    return nullptr;
  }

  /// Links what was collected and adds the dependencies that follow from the positions in the lists
  /// (§3.1): a write comes after the last write before it, or after all reads since.
  void link(const AccessSet<M>& set, Dependencies<M>& dependencies) {
    for (const Item& item : collected_) link_one(item, set, dependencies);
  }

  // ---- the latch between a dirty read and the write that follows -------------------------------

  /// Keeps the latch of a list in which a version has been read, up to the publication of the write
  /// that replaces it. Otherwise others that read the same version would publish first, and make
  /// this publication fail.
  void keep_latch(AccessBucket<M>& bucket) {
    assert(kept_ == nullptr);
    kept_ = &bucket;
  }
  [[nodiscard]] bool keeps_latch() const { return kept_ != nullptr; }
  /// For a transaction that does something else first, or may have to wait.
  void give_up_latch() {
    if (kept_ != nullptr) kept_->unlatch();
    kept_ = nullptr;
  }

  // ---- the end of the transaction --------------------------------------------------------------

  /// Announces to the dependents how the transaction ended, and removes all entries from the lists.
  /// A commit is announced first: its dependents can validate while it leaves the lists, where
  /// others meet the version that the record now has. An abort is announced last: until then the
  /// entries of its dependents become tainted.
  /// @param version the version it committed as, or TransactionContext::kAborted
  void leave(std::uint64_t version) {
    if (!visible()) return;
    const bool aborted = version == TransactionContext<M>::kAborted;
    if (!aborted) context_.finish(version);
    for (std::size_t at = 0; at < linked_; ++at) {
      AccessNode<M>& node = node_pool_[at];
      AccessBucket<M>& bucket = lists_.bucket(node.record);
      bucket.latch();
      if (aborted && node.write) AccessBucket<M>::taint_after(node);
      bucket.unlink(&node);
      bucket.unlatch();
    }
    linked_ = 0;
    if (aborted) context_.finish(version);
  }

 private:
  /// An access that is about to be linked.
  struct Item {
    AccessBucket<M>* bucket;
    std::uint32_t entry;
    bool write;
  };

  /// Latches the lists of what was collected less the kept one, or none if another transaction
  /// holds one of them. Then the kept latch is one of those of unlatch().
  [[nodiscard]] bool latch_others_at_once() {
    bool kept_is_collected = false;
    for (std::size_t at = 0; at < collected_.size(); ++at) {
      AccessBucket<M>* const bucket = collected_[at].bucket;
      kept_is_collected = kept_is_collected || bucket == kept_;
      if (bucket == kept_ || repeats(at) || bucket->try_latch()) continue;
      for (std::size_t taken = 0; taken < at; ++taken) {
        if (collected_[taken].bucket != kept_ && !repeats(taken)) {
          collected_[taken].bucket->unlatch();
        }
      }
      return false;
    }
    if (!kept_is_collected) kept_->unlatch();
    kept_ = nullptr;
    return true;
  }

  /// Whether the item's list is that of the item before it.
  [[nodiscard]] bool repeats(std::size_t at) const {
    return at != 0 && collected_[at].bucket == collected_[at - 1].bucket;
  }

  [[nodiscard]] bool follows_what_it_read(const Item& item, const AccessSet<M>& set,
                                          const Dependencies<M>& dependencies) const {
    const AccessNode<M>* last = item.bucket->last_write(set[item.entry].record);
    if (last == nullptr || last->owner == &context_) return true;
    const auto* source = dependencies.source_of(item.entry);
    // Without a source it read the committed version, which may be that of a writer that is about
    // to leave the list; or it placed the record itself. Versions are not compared here: that would
    // make more transactions retry than it saves (ic3, TPC-C).
    return source != nullptr ? source->is_version(*last) : last->owner->finished(last->incarnation);
  }

  [[gnu::always_inline]] void link_one(const Item& item, const AccessSet<M>& set,
                                       Dependencies<M>& dependencies) {
    const Access<M>& access = set[item.entry];
    AccessBucket<M>& bucket = *item.bucket;
    AccessNode<M>* own = item.write ? own_write_node(bucket, access.record) : nullptr;
    if (own != nullptr) {  // written again: readers of the first version will not find it committed
      fill(*own, access, true);
      return;
    }
    AccessNode<M>* node = next_node();
    fill(*node, access, item.write);
    if (item.write) {
      depend_on_predecessors(bucket, access.record, dependencies);
      bucket.link_last(node);
    } else {
      bucket.link_after(position_of_read(item, access, dependencies), node);
    }
  }

  void fill(AccessNode<M>& node, const Access<M>& access, bool write) {
    M::on_store(&node);
    // The content: written by the procedure and unseen until now. A removed row has none.
    if (write && !access.removed) M::on_store(access.write, access.write_bytes);
    node.record = access.record;
    node.owner = &context_;
    node.incarnation = context_.incarnation();
    node.value = access.write;
    node.bytes = access.write_bytes;
    node.type = type_;
    node.writes = access.writes;
    node.write = write;
    node.removed = access.removed;
    node.tainted = false;
  }

  AccessNode<M>* own_write_node(AccessBucket<M>& bucket, const Record<M>* record) {
    for (AccessNode<M>* node = bucket.last(); node != nullptr; node = node->previous) {
      if (node->record == record && node->write && node->owner == &context_) return node;
    }
    return nullptr;
  }

  void depend_on_predecessors(const AccessBucket<M>& bucket, const Record<M>* record,
                              Dependencies<M>& dependencies) {
    bool reads_since = false;
    for (const AccessNode<M>* node = bucket.last(); node != nullptr; node = node->previous) {
      M::on_load(node);
      if (node->record != record) continue;
      if (node->write && reads_since) return;
      dependencies.add(node->owner, node->incarnation, node->type);
      if (node->write) return;
      reads_since = reads_since || node->owner != &context_;
    }
  }

  /// The node that a read is linked after. A clean read comes before every uncommitted write, at
  /// the front; a dirty one after the write it read.
  AccessNode<M>* position_of_read(const Item& item, const Access<M>& access,
                                  const Dependencies<M>& dependencies) const {
    if (!access.dirty) return nullptr;
    const auto& source = *dependencies.source_of(item.entry);  // every dirty entry has one
    for (AccessNode<M>* node = item.bucket->last(); node != nullptr; node = node->previous) {
      if (node->record == access.record && node->write && node->owner == source.owner &&
          node->incarnation == source.incarnation) {
        return node;
      }
    }
    return nullptr;
  }

  AccessNode<M>* next_node() {
    if (linked_ == node_pool_.size()) node_pool_.emplace_back();
    return &node_pool_[linked_++];
  }

  AccessLists<M>& lists_;
  TransactionContext<M>& context_;
  std::uint16_t type_ = 0;
  std::vector<std::uint32_t> pending_;  ///< entries written and not yet visible
  std::vector<Item> collected_;         ///< from collect() to unlatch()
  AccessBucket<M>* kept_ = nullptr;     ///< the list whose latch it keeps, if any
  // A deque: nodes stay where they are while the pool grows.
  std::deque<AccessNode<M>> node_pool_;
  std::size_t linked_ = 0;  ///< the number of nodes of the pool that are in lists
};

}  // namespace heddle
