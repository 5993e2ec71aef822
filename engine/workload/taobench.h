#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/hints.h"
#include "model/random.h"
#include "model/signature.h"
#include "protocol/outcome.h"
#include "storage/storage.h"
#include "workload/taobench/consistency.h"
#include "workload/taobench/graph.h"
#include "workload/taobench/hints.h"
#include "workload/taobench/inputs.h"
#include "workload/taobench/options.h"
#include "workload/taobench/states.h"
#include "workload/taobench/tables.h"
#include "workload/taobench/transaction.h"

namespace heddle {

/// TAOBench (Cheng et al., VLDB 2022): reads and writes, of one row or several, on a social graph
/// of objects and edges, with the properties that the SMF paper (VLDB 2024, §5) gives for its
/// workload T.
template <class M>
class TaoBench {
 public:
  using Options = TaoBenchOptions;
  using Input = taobench::Input;
  static constexpr std::string_view kName = "taobench";

  static Signature signature(const Options& options) {
    return options.reads.decided(taobench::signature(), taobench::kWritingTypes);
  }

  static std::vector<std::string> type_names(const Options&) {
    return {taobench::kTypeNames.begin(), taobench::kTypeNames.end()};
  }

  TaoBench(Storage<M>& storage, const Options& options)
      : reads_(options.reads),
        graph_(options.objects),
        tables_(storage, options.objects, options.reads.on_snapshots),
        generator_(options) {}

  /// Every row has the same initial value: the seed has no effect.
  void load(std::uint64_t /*seed*/) { tables_.load(graph_); }

  void generate(Random& random, int /*worker*/, int /*workers*/, std::uint64_t /*now_us*/,
                Input& input) const {
    generator_.generate(random, input);
  }

  static int type_of(const Input& input) { return static_cast<int>(input.type); }
  [[nodiscard]] bool is_snapshot(int type) const { return reads_.on_snapshots && only_reads(type); }

  void hints(const Input& input, Hints& hints) const {
    if (!is_snapshot(type_of(input))) taobench::add_hints(input, reads_, hints);
  }

  template <class Txn>
  Outcome execute(Txn& txn, const Input& input) {
    if (only_reads(type_of(input))) return query(txn, input);
    return taobench::Writes(txn, tables_, input).run();
  }

  template <class Txn>
  Outcome query(Txn& txn, const Input& input) {
    return taobench::run_reads(txn, tables_, input, reads_);
  }

  /// One line per violation. Quiescent only.
  [[nodiscard]] std::vector<std::string> check() const {
    return taobench::ConsistencyCheck<M>(tables_, graph_).run();
  }

  [[nodiscard]] taobench::Tables<M>& tables() { return tables_; }

 private:
  static bool only_reads(int type) { return type >= static_cast<int>(taobench::kWritingTypes); }

  Reads reads_;
  taobench::Graph graph_;
  taobench::Tables<M> tables_;
  taobench::InputGenerator generator_;
};

}  // namespace heddle
