#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
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
#include "workload/ycsb/hints.h"
#include "workload/ycsb/inputs.h"
#include "workload/ycsb/options.h"

namespace heddle {

/// YCSB (Cooper et al., SoCC 2010), several operations to a transaction, as the literature on
/// in-memory concurrency control runs it: whole records are read and written, keys are Zipfian and
/// scattered over the table.
template <class M>
class Ycsb {
 public:
  using Options = YcsbOptions;
  using Input = ycsb::Input;
  static constexpr std::string_view kName = "ycsb";

  /// The same for every option: what has no share is never reached.
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
      : database_(make_database(storage, options)), generator_(options, storage.max_workers()) {}

  /// Every record starts out alike: nothing is left to the seed.
  void load(std::uint64_t /*seed*/) {
    std::visit([](auto& database) { database->load(); }, database_);
  }

  void generate(Random& random, int worker, int /*workers*/, std::uint64_t /*now_us*/,
                Input& input) const {
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

  /// No record is torn, missing, or off the sum. Quiescent only.
  [[nodiscard]] std::vector<std::string> check() const {
    return std::visit([](const auto& database) { return database->check(); }, database_);
  }

 private:
  template <std::size_t Bytes>
  using Hashed = std::unique_ptr<ycsb::Database<M, Bytes, HashIndex>>;
  template <std::size_t Bytes>
  using Ordered = std::unique_ptr<ycsb::Database<M, Bytes, OrderedIndex>>;
  /// Record sizes and indexes are compiled in: which one runs is decided once a transaction.
  using AnyDatabase =
      std::variant<Hashed<8>, Hashed<64>, Hashed<100>, Hashed<256>, Hashed<1024>, Ordered<8>,
                   Ordered<64>, Ordered<100>, Ordered<256>, Ordered<1024>>;

  template <std::size_t Bytes>
  static AnyDatabase make_database_of(Storage<M>& storage, const Options& options) {
    if (options.index == Options::Index::hash) {
      using Chosen = typename Hashed<Bytes>::element_type;
      return std::make_unique<Chosen>(storage, options.records);
    }
    using Chosen = typename Ordered<Bytes>::element_type;
    return std::make_unique<Chosen>(storage, options.records);
  }

  static AnyDatabase make_database(Storage<M>& storage, const Options& options) {
    switch (options.record_bytes) {
      case 8: return make_database_of<8>(storage, options);
      case 64: return make_database_of<64>(storage, options);
      case 100: return make_database_of<100>(storage, options);
      case 256: return make_database_of<256>(storage, options);
      case 1024: return make_database_of<1024>(storage, options);
      default:
        throw std::invalid_argument("ycsb: option 'record_bytes' is '" +
                                    std::to_string(options.record_bytes) +
                                    "'; allowed: one of 8, 64, 100, 256, 1024");
    }
  }

  AnyDatabase database_;
  ycsb::InputGenerator generator_;
};

}  // namespace heddle
