#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "model/hints.h"
#include "model/random.h"
#include "model/signature.h"
#include "protocol/outcome.h"
#include "storage/hash_index.h"
#include "storage/ordered_index.h"
#include "storage/storage.h"
#include "workload/ycsb/database.h"
#include "workload/ycsb/drawn_inputs.h"
#include "workload/ycsb/hints.h"
#include "workload/ycsb/inputs.h"
#include "workload/ycsb/options.h"

namespace heddle {

/// YCSB (Cooper et al., SoCC 2010) with several operations per transaction, as in the literature on
/// in-memory concurrency control: whole records are read and written, keys are Zipfian and
/// scattered over the table.
template <class M>
class Ycsb {
 public:
  using Options = YcsbOptions;
  using Input = ycsb::Input;
  static constexpr std::string_view kName = "ycsb";

  /// The same for every option: operations without a share never occur.
  static Signature signature(const Options&) {
    const std::string table = "USERTABLE";
    return {.workload = std::string(kName),
            .types = {{.name = "ycsb",
                       .accesses = {{"read", table, AccessKind::read, true},
                                    {"rmw_read", table, AccessKind::read, true},
                                    {"rmw_update", table, AccessKind::update, true},
                                    {"scan", table, AccessKind::scan, true},
                                    {"insert", table, AccessKind::insert, true},
                                    {"remove_read", table, AccessKind::read, true},
                                    {"remove", table, AccessKind::remove, true}}}}};
  }

  static std::vector<std::string> type_names(const Options&) { return {"ycsb"}; }

  Ycsb(Storage<M>& storage, const Options& options)
      : options_(options),
        workers_(storage.max_workers()),
        database_(make_database(storage, options)),
        generator_(options, workers_) {}

  /// Every record has the same initial value: the seed determines only the inputs that are drawn
  /// beforehand.
  void load(std::uint64_t seed) {
    std::visit([](auto& database) { database->load(); }, database_);
    if (options_.drawn > 0) drawn_.emplace(generator_, options_, workers_, seed);
  }

  void generate(Random& random, int worker, int /*workers*/, std::uint64_t /*now_us*/,
                Input& input) const {
    if (drawn_) return drawn_->take(worker, input);
    generator_.generate(random, worker, input);
  }

  static int type_of(const Input&) { return 0; }
  [[nodiscard]] static bool is_snapshot(int) { return false; }

  static void hints(const Input& input, Hints& hints) { ycsb::add_hints(input, hints); }

  template <class Txn>
  Outcome execute(Txn& txn, const Input& input) {
    return std::visit([&](auto& database) { return database->execute(txn, input); }, database_);
  }

  /// There is no snapshot type.
  template <class Txn>
  Outcome query(Txn&, const Input&) {
    return Outcome::rollback;
  }

  /// Checks that no record is torn or missing, and that the sum is 0. Quiescent only.
  [[nodiscard]] std::vector<std::string> check() const {
    return std::visit([](const auto& database) { return database->check(); }, database_);
  }

 private:
  using Hashed = ycsb::Database<M, HashIndex>;
  using Ordered = ycsb::Database<M, OrderedIndex>;
  /// The index is compiled in: the variant is selected once per transaction.
  using AnyDatabase = std::variant<std::unique_ptr<Hashed>, std::unique_ptr<Ordered>>;

  static AnyDatabase make_database(Storage<M>& storage, const Options& options) {
    const auto bytes = static_cast<std::size_t>(options.record_bytes);
    if (options.index == Options::Index::hash) {
      return std::make_unique<Hashed>(storage, options.records, bytes);
    }
    return std::make_unique<Ordered>(storage, options.records, bytes);
  }

  Options options_;
  int workers_;
  AnyDatabase database_;
  ycsb::InputGenerator generator_;
  /// A worker writes only its own part: generating is const towards everything shared.
  mutable std::optional<ycsb::DrawnInputs> drawn_;
};

}  // namespace heddle
