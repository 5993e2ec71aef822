#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle {

/// Finds the entries of an access set by the hash of their table and key. Cleared in constant time,
/// as the access set is.
class EntryLookup {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// The first entry with this hash for which `is_wanted(entry)` is true; kNone: there is none.
  template <class F>
  [[nodiscard]] std::uint32_t find(std::uint64_t hash, F is_wanted) const {
    for (std::size_t at = home(hash);; at = next(at)) {
      const Slot& slot = slots_[at];
      if (slot.round != round_) return kNone;
      if (slot.hash == hash && is_wanted(slot.entry)) return slot.entry;
    }
  }

  void add(std::uint64_t hash, std::uint32_t entry) {
    if (2 * ++size_ > slots_.size()) enlarge();
    place({hash, round_, entry});
  }

  void clear() {
    size_ = 0;
    if (++round_ != 0) return;
    // All rounds have been used: no slot may seem to be of this one.
    for (Slot& slot : slots_) slot.round = 0;
    round_ = 1;
  }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t round = 0;  ///< the slot is empty unless this is the present one
    std::uint32_t entry = 0;
  };
  static constexpr std::size_t kFirstSlots = 256;

  [[nodiscard]] std::size_t home(std::uint64_t hash) const {
    return static_cast<std::size_t>(hash >> 32) & (slots_.size() - 1);  // the high bits are mixed
  }
  [[nodiscard]] std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }

  void place(const Slot& slot) {
    std::size_t at = home(slot.hash);
    while (slots_[at].round == round_) at = next(at);
    slots_[at] = slot;
  }

  void enlarge() {
    std::vector<Slot> before(2 * slots_.size());
    before.swap(slots_);
    for (const Slot& slot : before) {
      if (slot.round == round_) place(slot);
    }
  }

  std::vector<Slot> slots_{kFirstSlots};
  std::size_t size_ = 0;
  std::uint32_t round_ = 1;
};

}  // namespace heddle
