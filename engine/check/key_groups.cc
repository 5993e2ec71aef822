#include "check/key_groups.h"

#include <array>
#include <utility>

namespace heddle::check {

namespace {

/// The prefetch distance, in operations.
constexpr std::size_t kKeysAhead = 16;

bool is_of_a_key(const Operation& operation) {
  return operation.kind != Kind::range && operation.kind != Kind::broken &&
         !operation.is(flag::kOwn);
}

}  // namespace

class KeyGroups::Numbering {
 public:
  explicit Numbering(std::vector<Key>& keys) : keys_(keys), slots_(kFirstSlots, Slot{}) {}

  void prefetch(std::uint8_t table, std::uint64_t word) const {
    __builtin_prefetch(&slots_[home(table, word)]);
  }

  std::uint32_t number_of(std::uint8_t table, std::uint64_t word) {
    for (std::size_t at = home(table, word);; at = (at + 1) & (slots_.size() - 1)) {
      Slot& slot = slots_[at];
      if (slot.number == kEmpty) {
        const auto number = static_cast<std::uint32_t>(keys_.size());
        slot = {word, number, table};
        keys_.push_back({word, table});
        if (keys_.size() * 2 > slots_.size()) enlarge();
        return number;
      }
      if (slot.word == word && slot.table == table) return slot.number;
    }
  }

 private:
  static constexpr std::size_t kFirstSlots = 1024;
  static constexpr std::uint32_t kEmpty = Transactions::kNone;
  struct Slot {
    std::uint64_t word = 0;
    std::uint32_t number = kEmpty;
    std::uint32_t table = 0;
  };

  [[nodiscard]] std::size_t home(std::uint8_t table, std::uint64_t word) const {
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{word + table * 0x2545'f491'4f6c'dd1dULL} * 0x9e37'79b9'7f4a'7c15ULL;
    return static_cast<std::size_t>(static_cast<std::uint64_t>(product) ^
                                    static_cast<std::uint64_t>(product >> 64)) &
           (slots_.size() - 1);
  }

  void enlarge() {
    std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
    for (const Slot& slot : old) {
      if (slot.number == kEmpty) continue;
      std::size_t at = home(static_cast<std::uint8_t>(slot.table), slot.word);
      while (slots_[at].number != kEmpty) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }

  std::vector<Key>& keys_;
  std::vector<Slot> slots_;
};

KeyGroups::KeyGroups(const Transactions& transactions) {
  number(transactions);
  first_.assign(keys_.size() + 1, 0);
  for (const std::uint32_t number : numbers_) ++first_[number];
  std::uint64_t before = 0;
  for (std::uint64_t& at : first_) before += std::exchange(at, before);
  places_.resize(numbers_.size());
  std::size_t next = 0;
  for (std::uint32_t node = 0; node < transactions.size(); ++node) {
    const std::uint32_t count = transactions.attempt(node).operations;
    for (std::uint32_t offset = 0; offset < count; ++offset) {
      if (!is_of_a_key(transactions.operation(node, offset))) continue;
      if (next + 2 * kKeysAhead < numbers_.size()) {
        __builtin_prefetch(&first_[numbers_[next + 2 * kKeysAhead]]);
        __builtin_prefetch(&places_[first_[numbers_[next + kKeysAhead]]], 1);
      }
      places_[first_[numbers_[next++]]++] = transactions.place(node, offset);
    }
  }
  numbers_ = {};
  // Each start has moved to the next one's.
  for (std::size_t key = keys_.size(); key > 0; --key) first_[key] = first_[key - 1];
  first_.front() = 0;
}

/// Numbers the keys, and determines for each operation, in order, its key.
void KeyGroups::number(const Transactions& transactions) {
  Numbering numbering(keys_);
  // Keys whose slots are being prefetched.
  std::array<Key, kKeysAhead> coming{};
  std::uint64_t begun = 0;
  std::uint64_t done = 0;
  const auto finish_one = [&] {
    const Key& key = coming[done++ % kKeysAhead];
    numbers_.push_back(numbering.number_of(key.table, key.word));
  };
  for (std::uint32_t node = 0; node < transactions.size(); ++node) {
    const std::uint32_t count = transactions.attempt(node).operations;
    operations_ += count;
    for (std::uint32_t offset = 0; offset < count; ++offset) {
      const Operation& operation = transactions.operation(node, offset);
      if (operation.kind == Kind::range) ranges_.push_back(transactions.place(node, offset));
      if (operation.kind == Kind::broken) broken_.push_back(transactions.place(node, offset));
      if (!is_of_a_key(operation)) continue;
      if (begun - done == kKeysAhead) finish_one();
      numbering.prefetch(operation.table, operation.key);
      coming[begun++ % kKeysAhead] = {operation.key, operation.table};
    }
  }
  while (done != begun) finish_one();
}

}  // namespace heddle::check
