#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/outcome.h"
#include "serializability/history.h"
#include "serializability/recorder.h"
#include "storage/hash_index.h"
#include "storage/ordered_index.h"
#include "storage/storage.h"
#include "storage/table.h"
#include "workload/random.h"
#include "workload/signature.h"

namespace heddle::serializability {

struct HotRowsOptions {
  std::uint32_t ordered_keys = 10;
  std::uint32_t hash_keys = 5;
  /// One access in so many is preceded by a moment of thought; 0: none is.
  std::uint32_t pauses = 24;
  bool snapshots = false;  ///< whether there are readers of the past
};

/// A workload made to be checked: few hot rows, whose values say who wrote them, and transactions
/// that do everything a stored procedure may, in all orders.
template <class M>
class HotRows {
 public:
  using Options = HotRowsOptions;
  static constexpr std::string_view kName = "hot_rows";

  enum Type : std::uint8_t {
    look,
    move,
    back,
    toggle,
    count,
    fill,
    twice,
    undo,
    hash_toggle,
    audit
  };
  static constexpr int kPolicyTypes = audit;

  struct Input {
    std::uint32_t client;  ///< the attempt's name, set by whoever runs it
    std::uint64_t sequence;
    Type type;
    bool whole;            ///< with whole rows, else prefixes
    bool flip;             ///< the other way round, for what has two ways
    std::uint8_t a, b, c;  ///< ordered keys
    std::uint8_t x, y;     ///< hash keys
    std::uint8_t limit;
  };

  static Signature signature(const Options&) {
    const std::string o = "ORDERED";
    const std::string h = "HASH";
    using enum AccessKind;
    return {.workload = std::string(kName),
            .types = {{"look",
                       {{"a", o, read},
                        {"x", h, read},
                        {"b", o, read},
                        {"b_whole", o, read},
                        {"a_again", o, read}}},
                      {"move",
                       {{"read_a", o, read},
                        {"write_a", o, update},
                        {"read_x", h, read},
                        {"write_x", h, update}}},
                      {"back", {{"x", h, read_modify_write}, {"a", o, read_modify_write}}},
                      {"toggle",
                       {{"read_a", o, read},
                        {"insert_a", o, insert},
                        {"remove_a", o, remove},
                        {"read_x", h, read},
                        {"write_x", h, update}}},
                      {"count",
                       {{"scan", o, AccessKind::scan},
                        {"read_x", h, read},
                        {"write_x", h, update},
                        {"scan_again", o, AccessKind::scan}}},
                      {"fill",
                       {{"scan", o, AccessKind::scan},
                        {"insert_c", o, insert},
                        {"read_c", o, read},
                        {"write_c", o, update},
                        {"read_x", h, read}}},
                      {"twice",
                       {{"prefix_a", o, read},
                        {"write_prefix", o, update},
                        {"whole_a", o, read},
                        {"write_whole", o, update},
                        {"insert_y", h, insert},
                        {"read_y", h, read},
                        {"remove_y", h, remove},
                        {"last_look", o, read}}},
                      {"undo",
                       {{"a", o, read_modify_write},
                        {"insert_c", o, insert},
                        {"read_x", h, read},
                        {"remove_x", h, remove}}},
                      {"hash_toggle",
                       {{"read_x", h, read},
                        {"insert_x", h, insert},
                        {"remove_x", h, remove},
                        {"a", o, read_modify_write},
                        {"sum", h, read, true}}}}};
  }

  static std::vector<std::string> type_names(const Options& options) {
    std::vector<std::string> names;
    for (const TypeSpec& type : signature(options).types) names.push_back(type.name);
    if (options.snapshots) names.emplace_back("audit");
    return names;
  }

  HotRows(Storage<M>& storage, const Options& options)
      : options_(options),
        ordered_(storage, "ORDERED", options.ordered_keys),
        hash_(storage, "HASH", options.hash_keys),
        scratch_(static_cast<std::size_t>(storage.max_workers())) {
    for (std::size_t worker = 0; worker < scratch_.size(); ++worker) {
      scratch_[worker].random = Random::stream(17, worker);
      scratch_[worker].stamps = (worker + 1) << kStampBits;
    }
    if (options.snapshots) {
      storage.keep_snapshots();
    } else {
      ordered_.skip_snapshots();
      hash_.skip_snapshots();
    }
  }

  /// Every other row is there to begin with.
  void load(std::uint64_t /*seed*/) {
    for (std::uint64_t key = 0; key < options_.ordered_keys; key += 2)
      ordered_.load({{key}}, loaded(key));
    for (std::uint64_t key = 0; key < options_.hash_keys; key += 2)
      hash_.load({{key}}, loaded(key));
  }

  void generate(Random& random, int worker, int /*workers*/, std::uint64_t /*now_us*/,
                Input& input) const {
    const auto key = [&random](std::uint32_t keys) {
      return static_cast<std::uint8_t>(random.below(keys));
    };
    // Readers of the past are few: they see little.
    const bool past = options_.snapshots && random.below(64) == 0;
    input.type = past ? audit : static_cast<Type>(random.below(kPolicyTypes));
    input.client = static_cast<std::uint32_t>(worker) + 1;
    input.whole = random.below(2) == 0;
    input.flip = random.below(2) == 0;
    input.a = key(options_.ordered_keys);
    input.b = key(options_.ordered_keys);
    input.c = key(options_.ordered_keys);
    input.x = key(options_.hash_keys);
    input.y = key(options_.hash_keys);
    input.limit = static_cast<std::uint8_t>(random.below(4));
  }

  static int type_of(const Input& input) { return input.type; }
  [[nodiscard]] static bool is_snapshot(int type) { return type == audit; }

  /// What the last attempt of a worker did.
  [[nodiscard]] const Scratch& scratch(int worker) const {
    return scratch_[static_cast<std::size_t>(worker)];
  }

  template <class Txn>
  Outcome execute(Txn& txn, const Input& input) {
    Procedure<Txn> procedure(*this, txn, input);
    return procedure.run();
  }

  /// Reads every row as of some moment before now.
  template <class Txn>
  Outcome query(Txn& txn, const Input& input) {
    Recorder<M, Txn> recorder(txn, scratch_of(input), input.client, input.sequence, 0);
    recorder.template scan<Whole>(kNoState, ordered_, kOrdered, 0, options_.ordered_keys - 1,
                                  Order::ascending, 0);
    for (std::uint64_t key = 0; key < options_.hash_keys; ++key) {
      recorder.template read<Whole>(kNoState, hash_, kHash, key);
    }
    return Outcome::commit;
  }

  /// What the tables hold, as the steps of a transaction that reads it all. Quiescent only.
  [[nodiscard]] std::vector<Operation> read_everything() const {
    std::vector<Operation> steps;
    for (std::uint64_t key = 0; key < options_.ordered_keys; ++key)
      read_one(ordered_, kOrdered, key, steps);
    for (std::uint64_t key = 0; key < options_.hash_keys; ++key) read_one(hash_, kHash, key, steps);
    return steps;
  }

  /// What the tables held at first, as the loader's writes.
  [[nodiscard]] std::vector<Operation> loads() const {
    std::vector<Operation> steps;
    const auto add = [&steps](std::uint32_t table, std::uint32_t keys) {
      for (std::uint32_t key = 0; key < keys; key += 2) {
        for (std::uint32_t part = 0; part < 2; ++part) {
          steps.push_back({.step = Step::write,
                           .item = Item::of(table, key, part),
                           .version = loaded(key).head.version});
        }
      }
    };
    add(kOrdered, options_.ordered_keys);
    add(kHash, options_.hash_keys);
    return steps;
  }

  /// Records in the indexes that are no rows: placeholders and dead records left behind. Quiescent.
  [[nodiscard]] std::vector<std::string> check() const {
    std::vector<std::string> violations;
    const auto look_for_leavings = [&violations](const auto& table) {
      table.index().for_each([&](const Key1& key, const Record<M>* record) {
        const std::uint64_t word = record->word.peek();
        if (!tid::absent(word) && !tid::locked(word)) return;
        violations.push_back(table.name() + " has a record left behind under key " +
                             std::to_string(key.words[0]) + ", TID word " + std::to_string(word));
      });
    };
    look_for_leavings(ordered_);
    look_for_leavings(hash_);
    return violations;
  }

 private:
  static constexpr std::uint32_t kOrdered = 0;
  static constexpr std::uint32_t kHash = 1;
  static constexpr int kStampBits = 48;
  using Ordered = Table<M, Key1, Whole, OrderedIndex>;
  using Hash = Table<M, Key1, Whole, HashIndex>;

  /// States, in the signature's order.
  struct State {
    enum : AccessId {
      look_a,
      look_x,
      look_b,
      look_b_whole,
      look_a_again,
      move_read_a,
      move_write_a,
      move_read_x,
      move_write_x,
      back_x,
      back_a,
      toggle_read,
      toggle_insert,
      toggle_remove,
      toggle_read_x,
      toggle_write_x,
      count_scan,
      count_read_x,
      count_write_x,
      count_scan_again,
      fill_scan,
      fill_insert,
      fill_read_c,
      fill_write_c,
      fill_read_x,
      twice_prefix,
      twice_write_prefix,
      twice_whole,
      twice_write_whole,
      twice_insert,
      twice_read,
      twice_remove,
      twice_last_look,
      undo_a,
      undo_insert,
      undo_read_x,
      undo_remove_x,
      hash_read,
      hash_insert,
      hash_remove,
      hash_a,
      hash_sum,
    };
  };

  static Whole loaded(std::uint64_t key) {
    const Part part{make_version(kLoader, 0, 1), kNothing, key + 1, key};
    return {part, part};
  }

  template <class T>
  static void read_one(const T& table, std::uint32_t number, std::uint64_t key,
                       std::vector<Operation>& steps) {
    const Whole* row = table.find_quiescent(make_key(key));
    const auto item = [&](std::uint32_t part) {
      return Item::of(number, static_cast<std::uint32_t>(key), part);
    };
    if (row == nullptr) {
      steps.push_back({.step = Step::missed, .item = item(0)});
      return;
    }
    for (const Part* part : {&row->head, &row->tail}) {
      steps.push_back({.step = Step::read,
                       .item = item(part == &row->tail ? 1 : 0),
                       .version = part->version,
                       .replaced = part->replaced,
                       .stamp = part->stamp});
    }
  }

  Scratch& scratch_of(const Input& input) { return scratch_[input.client - 1]; }

  /// The stored procedures. Each goes on past a row that is not there, and stops when it must.
  template <class Txn>
  class Procedure {
   public:
    Procedure(HotRows& rows, Txn& txn, const Input& input)
        : rows_(rows),
          txn_(txn),
          in_(input),
          at_(txn, rows.scratch_of(input), input.client, input.sequence, rows.options_.pauses) {}

    Outcome run() {
      switch (in_.type) {
        case look: return run_look();
        case move: return in_.whole ? run_move<Whole>() : run_move<Prefix>();
        case back: return in_.whole ? run_back<Whole>() : run_back<Prefix>();
        case toggle: return run_toggle();
        case count: return run_count();
        case fill: return run_fill();
        case twice: return run_twice();
        case undo: return run_undo();
        case hash_toggle: return run_hash_toggle();
        case audit: break;
      }
      return Outcome::rollback;
    }

   private:
    template <class P>
    Row<P> read_ordered(AccessId state, std::uint64_t key) {
      return at_.template read<P>(state, rows_.ordered_, kOrdered, key);
    }
    template <class P>
    Row<P> read_hash(AccessId state, std::uint64_t key) {
      return at_.template read<P>(state, rows_.hash_, kHash, key);
    }
    /// Reads and, if it is there, overwrites. False: stop.
    template <class P>
    bool change_ordered(AccessId read, AccessId write, std::uint64_t key) {
      const Row<P> row = read_ordered<P>(read, key);
      return row ? at_.update(write, rows_.ordered_, kOrdered, key, row) : at_.alive();
    }
    template <class P>
    bool change_hash(AccessId read, AccessId write, std::uint64_t key) {
      const Row<P> row = read_hash<P>(read, key);
      return row ? at_.update(write, rows_.hash_, kHash, key, row) : at_.alive();
    }
    bool insert_ordered(AccessId state, std::uint64_t key) {
      return at_.insert(state, rows_.ordered_, kOrdered, key);
    }

    /// Reads only, the first row twice, another first in part and then whole.
    Outcome run_look() {
      read_ordered<Whole>(State::look_a, in_.a);
      if (at_.alive()) read_hash<Prefix>(State::look_x, in_.x);
      if (at_.alive()) read_ordered<Prefix>(State::look_b, in_.b);
      if (at_.alive() && in_.whole) read_ordered<Whole>(State::look_b_whole, in_.b);
      if (at_.alive()) read_ordered<Whole>(State::look_a_again, in_.a);
      return at_.end();
    }

    /// Now and then the whole row is read and half of it changed.
    template <class P>
    Outcome run_move() {
      if constexpr (sizeof(P) == sizeof(Whole)) {
        if (in_.flip) return run_move_tails();
      }
      if (change_ordered<P>(State::move_read_a, State::move_write_a, in_.a)) {
        change_hash<P>(State::move_read_x, State::move_write_x, in_.x);
      }
      return at_.end();
    }

    Outcome run_move_tails() {
      const auto row = read_ordered<Whole>(State::move_read_a, in_.a);
      if (row) at_.update_tail(State::move_write_a, rows_.ordered_, kOrdered, in_.a, row);
      if (!at_.alive()) return at_.end();
      const auto other = read_hash<Whole>(State::move_read_x, in_.x);
      if (other) at_.update_tail(State::move_write_x, rows_.hash_, kHash, in_.x, other);
      return at_.end();
    }

    /// As move, in the other order.
    template <class P>
    Outcome run_back() {
      if (change_hash<P>(State::back_x, State::back_x, in_.x)) {
        change_ordered<P>(State::back_a, State::back_a, in_.a);
      }
      return at_.end();
    }

    /// Deletes a row or inserts it, whichever it can, and changes another.
    Outcome run_toggle() {
      const auto row = read_ordered<Whole>(State::toggle_read, in_.a);
      if (row) {
        at_.remove(State::toggle_remove, rows_.ordered_, kOrdered, in_.a, row);
      }
      // What it has just deleted it sometimes puts back.
      if (at_.alive() && (!row || (in_.whole && in_.flip))) {
        insert_ordered(State::toggle_insert, in_.a);
      }
      if (at_.alive()) change_hash<Whole>(State::toggle_read_x, State::toggle_write_x, in_.x);
      return at_.end();
    }

    /// Scans, changes something, and scans the same again.
    Outcome run_count() {
      const std::uint64_t lo = std::min(in_.a, in_.b);
      const std::uint64_t hi = std::max(in_.a, in_.b);
      const Order order = in_.flip ? Order::descending : Order::ascending;
      at_.template scan<Prefix>(State::count_scan, rows_.ordered_, kOrdered, lo, hi, order,
                                in_.limit);
      if (at_.alive() && in_.whole) {
        change_hash<Whole>(State::count_read_x, State::count_write_x, in_.x);
      } else if (at_.alive()) {
        read_hash<Prefix>(State::count_read_x, in_.x);
      }
      if (at_.alive()) {
        at_.template scan<Whole>(State::count_scan_again, rows_.ordered_, kOrdered, lo, hi, order,
                                 0);
      }
      return at_.end();
    }

    /// Scans, and inserts without having looked; what is there already it changes.
    Outcome run_fill() {
      at_.template scan<Whole>(State::fill_scan, rows_.ordered_, kOrdered, in_.a,
                               rows_.options_.ordered_keys - 1,
                               in_.flip ? Order::descending : Order::ascending, in_.limit);
      if (at_.alive() && !insert_ordered(State::fill_insert, in_.c) && at_.alive()) {
        change_ordered<Prefix>(State::fill_read_c, State::fill_write_c, in_.c);
      }
      if (at_.alive()) read_hash<Whole>(State::fill_read_x, in_.x);
      return at_.end();
    }

    /// Writes a row in part and then whole, and one that comes and goes within the transaction.
    Outcome run_twice() {
      bool there = change_ordered<Prefix>(State::twice_prefix, State::twice_write_prefix, in_.a);
      there = there && change_ordered<Whole>(State::twice_whole, State::twice_write_whole, in_.a);
      if (there && at_.insert(State::twice_insert, rows_.hash_, kHash, in_.y)) {
        const auto row = read_hash<Whole>(State::twice_read, in_.y);
        if (row && in_.flip) at_.remove(State::twice_remove, rows_.hash_, kHash, in_.y, row);
      }
      if (at_.alive()) read_ordered<Whole>(State::twice_last_look, in_.a);
      return at_.end();
    }

    /// Writes, inserts and deletes, and then mostly thinks better of it.
    Outcome run_undo() {
      if (change_ordered<Whole>(State::undo_a, State::undo_a, in_.a)) {
        insert_ordered(State::undo_insert, in_.c);
      }
      if (at_.alive()) {
        const auto row = read_hash<Whole>(State::undo_read_x, in_.x);
        if (row && in_.whole) {
          at_.remove(State::undo_remove_x, rows_.hash_, kHash, in_.x, row);
        }
      }
      if (!at_.alive()) return Outcome::abort;
      return in_.flip ? Outcome::rollback : Outcome::commit;
    }

    Outcome run_hash_toggle() {
      const auto row = read_hash<Whole>(State::hash_read, in_.x);
      if (row) {
        at_.remove(State::hash_remove, rows_.hash_, kHash, in_.x, row);
      } else if (at_.alive()) {
        at_.insert(State::hash_insert, rows_.hash_, kHash, in_.x);
      }
      if (at_.alive()) change_ordered<Prefix>(State::hash_a, State::hash_a, in_.a);
      for (std::uint64_t key = 0; at_.alive() && in_.flip && key < 3; ++key) {
        read_hash<Prefix>(State::hash_sum, key);
      }
      if (at_.alive()) txn_.passed(State::hash_sum);
      return at_.end();
    }

    HotRows& rows_;
    Txn& txn_;
    const Input& in_;
    Recorder<M, Txn> at_;
  };

  Options options_;
  Ordered ordered_;
  Hash hash_;
  std::vector<Scratch> scratch_;  ///< by worker
};

}  // namespace heddle::serializability
