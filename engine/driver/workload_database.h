#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "driver/database.h"
#include "driver/session_factory.h"
#include "driver/workload_options.h"
#include "machine/concepts.h"
#include "model/hints.h"
#include "model/inputs.h"
#include "protocol/attempts.h"
#include "protocol/registry.h"
#include "protocol/run.h"
#include "protocol/snapshot.h"
#include "workload/concepts.h"

namespace heddle {

/// One worker's attempts at a workload's transactions under a protocol: the part that is compiled
/// for each workload, protocol and machine.
template <class M, class W, class Executor>
class WorkloadAttempts final : public ExecutorAttempts<M, Executor> {
 public:
  template <class Runtime>
  WorkloadAttempts(W& workload, Runtime& runtime, Storage<M>& storage, int worker)
      : ExecutorAttempts<M, Executor>(runtime, storage, worker),
        workload_(workload),
        snapshot_(storage, worker) {}

  Attempt<M> attempt(const std::byte* bytes, int type, std::uint32_t prior_aborts) override {
    const auto& input = *std::launder(reinterpret_cast<const typename W::Input*>(bytes));
    if (workload_.is_snapshot(type)) return query(workload_, snapshot_, input);
    return this->execute(Execution{workload_, input}, type, prior_aborts);
  }

 private:
  /// The Procedure that an executor runs.
  struct Execution {
    W& workload;
    const typename W::Input& input;

    template <class Txn>
    Outcome run(Txn& txn) const {
      return workload.execute(txn, input);
    }
    template <class Txn>
    void ended(const Txn& /*txn*/, const Attempt<M>& /*attempt*/) const {}
  };

  [[gnu::noinline]] static Attempt<M> query(W& workload, SnapshotTransaction<M>& snapshot,
                                            const typename W::Input& input) {
    snapshot.begin();
    Attempt<M> attempt;
    attempt.outcome = workload.query(snapshot, input);
    return attempt;
  }

  W& workload_;
  SnapshotTransaction<M> snapshot_;
};

/// Database of a workload `W`.
///
/// @tparam Ps the protocols that unobserved runs are compiled for, in protocol/registry.h or not
template <Machine M, Workload<M> W, class Ps = Protocols>
class WorkloadDatabase final : public Database<M> {
 public:
  /// @param options the workload's, without its name
  WorkloadDatabase(const OptionMap& options, int workers)
      : Database<M>(workers),
        options_(W::Options::parse(options)),
        signature_(W::signature(options_)),
        type_names_(W::type_names(options_)),
        workload_(this->storage(), options_) {}

  [[nodiscard]] std::string_view workload() const override { return W::kName; }
  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] const std::vector<std::string>& type_names() const override { return type_names_; }
  void load(std::uint64_t seed) override {
    workload_.load(seed);
    for (int type = 0; type < this->type_count(); ++type) {
      if (workload_.is_snapshot(type)) this->storage().keep_snapshots();
    }
  }
  [[nodiscard]] std::vector<std::string> check() override { return workload_.check(); }

  // ---- inputs ----------------------------------------------------------------------------------

  [[nodiscard]] std::size_t input_bytes() const override {
    return (sizeof(Input) + Inputs::kAlignment - 1) / Inputs::kAlignment * Inputs::kAlignment;
  }
  void make_input(std::byte* input) const override { new (input) Input{}; }
  int draw(Random& random, int worker, int workers, std::uint64_t now_us,
           std::byte* bytes) override {
    Input& input = *std::launder(reinterpret_cast<Input*>(bytes));
    workload_.generate(random, worker, workers, now_us, input);
    if constexpr (!HasArrivals<W>) this->take_arrival(worker);
    return W::type_of(input);
  }
  [[nodiscard]] int type_of(const std::byte* input) const override {
    return W::type_of(input_at(input));
  }
  [[nodiscard]] std::optional<double> weight([[maybe_unused]] int type) const override {
    if constexpr (HasWeights<W>) return workload_.weight(type);
    return {};
  }
  [[nodiscard]] std::optional<double> share([[maybe_unused]] int type) const override {
    if constexpr (HasShares<W>) return workload_.share(type);
    return {};
  }
  [[nodiscard]] bool has_hints() const override {
    if constexpr (HasOptionalHints<W>) return workload_.passes_hints();
    return HasHints<W>;
  }
  [[nodiscard]] bool hints_optional() const override { return HasOptionalHints<W>; }
  void hints([[maybe_unused]] const std::byte* input,
             [[maybe_unused]] Hints& hints) const override {
    if constexpr (HasHints<W>) workload_.hints(input_at(input), hints);
  }
  [[nodiscard]] bool open_loop() const override {
    if constexpr (HasArrivals<W>) return workload_.open_loop();
    return Database<M>::open_loop();
  }
  [[nodiscard]] double next_arrival_us(int worker) const override {
    if constexpr (HasArrivals<W>) return workload_.next_arrival_us(worker);
    return Database<M>::next_arrival_us(worker);
  }
  [[nodiscard]] double arrived(double us) const override {
    if constexpr (HasArrivals<W>) return workload_.arrived(us);
    return Database<M>::arrived(us);
  }
  [[nodiscard]] double begun() const override {
    if constexpr (HasArrivals<W>) return workload_.begun();
    return Database<M>::begun();
  }

  // ---- procedures ------------------------------------------------------------------------------

  [[nodiscard]] bool is_snapshot(int type) const override { return workload_.is_snapshot(type); }
  Outcome execute(ObservedTransaction<M>& txn, const std::byte* input) override {
    return workload_.execute(txn, input_at(input));
  }
  Outcome query(ObservedTransaction<M>& txn, const std::byte* input) override {
    return workload_.query(txn, input_at(input));
  }

  [[nodiscard]] std::unique_ptr<ProtocolRun<M>> start(std::string_view protocol,
                                                      const RunSetup<M>& setup) override {
    std::unique_ptr<ProtocolRun<M>> run;
    Ps::visit(protocol, [&]<class P>(P) {
      // Those of the registry are compiled once per machine, not once per workload.
      if constexpr (!Protocols::lists<P>) run = std::make_unique<RunningProtocol<M, P>>(setup);
    });
    return run == nullptr ? start_protocol<M>(protocol, setup) : std::move(run);
  }

  [[nodiscard]] bool runs_unobserved(std::string_view protocol) const override {
    return Ps::visit(protocol, [](auto) {});
  }
  [[nodiscard]] std::unique_ptr<Attempts<M>> attempts(std::string_view protocol,
                                                      ProtocolRun<M>& run, int worker) override {
    std::unique_ptr<Attempts<M>> made;
    Ps::visit(protocol, [&]<class P>(P) {
      using Running = RunningProtocol<M, P>;
      made = std::make_unique<WorkloadAttempts<M, W, typename Running::Executor>>(
          workload_, static_cast<Running&>(run).runtime(), this->storage(), worker);
    });
    assert(made != nullptr && "runs_unobserved() was asked before the run");
    return made;
  }

 private:
  using Input = typename W::Input;
  static_assert(std::is_trivially_copyable_v<Input> && alignof(Input) <= Inputs::kAlignment);

  static const Input& input_at(const std::byte* bytes) {
    return *std::launder(reinterpret_cast<const Input*>(bytes));
  }

  typename W::Options options_;
  Signature signature_;
  std::vector<std::string> type_names_;
  // Starts at a cache line: which words of its tables share lines must not depend on what precedes
  // it.
  alignas(64) W workload_;
};

/// A workload on a machine as the driver opens it.
///
/// @tparam Ps the protocols that unobserved runs are compiled for
template <Machine M, template <class> class W, class Ps = Protocols>
SessionFactory make_session_factory() {
  return {.name = W<M>::kName,
          .machine = M::kKind,
          .open = [](const MachineOptions& machine, const OptionMap& options, int workers,
                     std::uint64_t seed) -> std::unique_ptr<Session> {
            auto database = std::make_shared<WorkloadDatabase<M, W<M>, Ps>>(
                own_options<W<M>>(options), workers);
            if (const auto rate = arrival_rate<W<M>>(options)) database->arrive_at(*rate, workers);
            return make_session<M>(std::move(database), options, workers, seed, machine);
          },
          .signature =
              [](const OptionMap& options) {
                return W<M>::signature(W<M>::Options::parse(own_options<W<M>>(options)));
              },
          .options = workload_option_specs<W<M>>};
}

}  // namespace heddle
