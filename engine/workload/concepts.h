#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/hints.h"
#include "model/options.h"
#include "model/random.h"
#include "model/signature.h"
#include "protocol/observer.h"
#include "protocol/outcome.h"
#include "protocol/snapshot.h"
#include "storage/storage.h"

namespace heddle {

/// A workload on a machine: its tables, its inputs, and its stored procedures. `execute` and
/// `query` are templates over the transaction; the concept checks them with two of their arguments.
template <class W, class M>
concept Workload = requires(W& workload, const W& constant, Storage<M>& storage, Random& random,
                            const OptionMap& options, const typename W::Options& parsed,
                            typename W::Input& input, ObservedTransaction<M>& txn,
                            SnapshotTransaction<M>& snapshot, int number, std::uint64_t seed) {
  { W::kName } -> std::convertible_to<std::string_view>;
  { W::Options::parse(options) } -> std::same_as<typename W::Options>;
  { W::signature(parsed) } -> std::same_as<Signature>;
  /// The names of the types: those of the signature, then those that read snapshots.
  { W::type_names(parsed) } -> std::same_as<std::vector<std::string>>;
  W(storage, parsed);
  workload.load(seed);
  /// Draws a worker's next transaction: generate(random, worker, workers, now_us, input).
  workload.generate(random, number, number, seed, input);
  { W::type_of(input) } -> std::same_as<int>;
  { constant.is_snapshot(number) } -> std::same_as<bool>;
  { workload.execute(txn, input) } -> std::same_as<Outcome>;
  { workload.query(snapshot, input) } -> std::same_as<Outcome>;
  { workload.check() } -> std::same_as<std::vector<std::string>>;
};

/// A workload whose transactions pass hints. `hints` appends those of an input: it reads nothing
/// else and takes a few instructions. A type that runs on a snapshot passes none, because it
/// conflicts with no other.
template <class W>
concept HasHints = requires(const W& workload, const typename W::Input& input, Hints& hints) {
  workload.hints(input, hints);
};

/// A workload that passes hints only with an option.
template <class W>
concept HasOptionalHints = HasHints<W> && requires(const W& workload) {
  { workload.passes_hints() } -> std::same_as<bool>;
};

/// A workload whose draws depend on one another, and which therefore knows the mix that they have
/// in the long run: Inputs::share().
template <class W>
concept HasShares = requires(const W& workload, int type) {
  { workload.share(type) } -> std::same_as<double>;
};

/// A workload that may have workers which run one type only: Inputs::weight().
template <class W>
concept HasWeights = requires(const W& workload, int type) {
  { workload.weight(type) } -> std::same_as<std::optional<double>>;
};

/// A workload that can be an open loop: Inputs::open_loop() and the functions after it document
/// these.
template <class W>
concept HasArrivals = requires(const W& workload, int worker, double us) {
  { workload.open_loop() } -> std::same_as<bool>;
  { workload.next_arrival_us(worker) } -> std::same_as<double>;
  { workload.arrived(us) } -> std::same_as<double>;
  { workload.begun() } -> std::same_as<double>;
};

}  // namespace heddle
