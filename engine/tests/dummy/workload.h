#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/hints.h"
#include "model/options.h"
#include "model/random.h"
#include "model/signature.h"
#include "protocol/outcome.h"
#include "storage/hash_index.h"
#include "storage/table.h"

namespace heddle {

struct DummyOptions {
  std::int64_t accounts = 100;

  /// Declares each option: its key, default, range and sentence.
  void read(OptionReader& reader) {
    reader.integer("accounts", accounts, 2, 1'000'000, "accounts that the tables begin with");
  }

  static DummyOptions parse(const OptionMap& map) {
    OptionReader reader("dummy", map);
    return read_options<DummyOptions>(reader);
  }
};

/// Transfers between accounts, and merges of several accounts into one.
template <class M>
class Dummy {
 public:
  using Options = DummyOptions;
  static constexpr std::string_view kName = "dummy";

  /// All random choices. An aborted transaction runs again with the same input.
  struct Input {
    int type;
    std::int64_t amount;
    std::uint64_t target;
    std::array<std::uint64_t, 3> sources;
  };

  /// The types and their accesses. Each access is a state; the states are numbered from 0.
  static Signature signature(const Options&) {
    using enum AccessKind;
    return {.workload = std::string(kName),
            .types = {{"transfer",
                       {{"read_source", "ACCOUNT", read},        // 0
                        {"update_source", "ACCOUNT", update},    // 1
                        {"read_target", "ACCOUNT", read},        // 2
                        {"update_target", "ACCOUNT", update},    // 3
                        {"insert_target", "ACCOUNT", insert}}},  // 4
                      {"merge",
                       {{"read_source", "ACCOUNT", read, /*loop=*/true},      // 5
                        {"remove_source", "ACCOUNT", remove, /*loop=*/true},  // 6
                        {"read_target", "ACCOUNT", read},                     // 7
                        {"update_target", "ACCOUNT", update},                 // 8
                        {"insert_target", "ACCOUNT", insert}}}}};             // 9
  }
  static std::vector<std::string> type_names(const Options&) { return {"transfer", "merge"}; }

  Dummy(Storage<M>& storage, const Options& options)
      : rows_(static_cast<std::uint64_t>(options.accounts)), accounts_(storage, "ACCOUNT", rows_) {
    accounts_.skip_snapshots();  // no type reads a snapshot
  }

  void load(std::uint64_t /*seed*/) {
    for (std::uint64_t id = 0; id < rows_; ++id) accounts_.load(make_key(id), Account{kLoaded});
  }

  void generate(Random& random, int /*worker*/, int /*workers*/, std::uint64_t /*now_us*/,
                Input& input) const {
    input.type = random.below(4) == 0 ? 1 : 0;
    input.amount = random.between(1, 10);
    input.target = random.below(rows_);
    for (std::uint64_t& source : input.sources) source = random.below(rows_);
  }
  static int type_of(const Input& input) { return input.type; }

  /// Optional: keys that an admission policy may use before the transaction starts.
  static void hints(const Input& input, Hints& hints) {
    hints.add(input.type == 0 ? 1 : 5, input.sources[0]);
    hints.add(input.type == 0 ? 2 : 7, input.target);
  }

  template <class Txn>
  Outcome execute(Txn& txn, const Input& input) {
    return input.type == 0 ? transfer(txn, input) : merge(txn, input);
  }

  /// Types that only read may run here, on a snapshot. This workload has none.
  [[nodiscard]] static bool is_snapshot(int /*type*/) { return false; }
  template <class Txn>
  Outcome query(Txn&, const Input&) {
    return Outcome::rollback;
  }

  /// One line per violation; called while no transaction runs. A lost or doubled update shows.
  [[nodiscard]] std::vector<std::string> check() const {
    std::int64_t sum = 0;
    accounts_.for_each([&sum](const Key1&, const Account& row) { sum += row.balance; });
    if (sum == kLoaded * static_cast<std::int64_t>(rows_)) return {};
    return {"the balances add up to " + std::to_string(sum)};
  }

 private:
  struct Account {
    std::int64_t balance;
  };
  static constexpr std::int64_t kLoaded = 100;

  template <class Txn>
  Outcome transfer(Txn& txn, const Input& input) {
    const auto source = txn.read(0, accounts_, make_key(input.sources[0]));
    if (!source) return txn.stop();  // abort: run again; rollback: there is no such row
    if (source->balance < input.amount) return Outcome::rollback;
    const auto take = [&](Account& row) { row.balance -= input.amount; };
    if (!txn.update(1, accounts_, source, take)) return txn.stop();
    return credit(txn, 2, input.target, input.amount);
  }

  template <class Txn>
  Outcome merge(Txn& txn, const Input& input) {
    std::int64_t sum = 0;
    for (const std::uint64_t id : input.sources) {
      const auto source = txn.read(5, accounts_, make_key(id));
      if (!source && txn.stop() == Outcome::abort) return Outcome::abort;
      if (!source) continue;  // merged before
      sum += source->balance;
      if (!txn.remove(6, accounts_, source)) return txn.stop();
    }
    txn.passed(6);  // the last round is over: transactions that wait for the loop may proceed
    return credit(txn, 7, input.target, sum);
  }

  /// Reads the account, then updates it, or inserts it where it is absent: three states.
  template <class Txn>
  Outcome credit(Txn& txn, AccessId first_state, std::uint64_t id, std::int64_t amount) {
    const auto row = txn.read(first_state, accounts_, make_key(id));
    if (!row && txn.stop() == Outcome::abort) return Outcome::abort;
    const auto add = [amount](Account& copy) { copy.balance += amount; };
    const bool done = row ? txn.update(first_state + 1, accounts_, row, add)
                          : txn.insert(first_state + 2, accounts_, make_key(id), Account{amount});
    return done ? Outcome::commit : txn.stop();
  }

  std::uint64_t rows_;
  Table<M, Key1, Account, HashIndex> accounts_;
};

}  // namespace heddle
