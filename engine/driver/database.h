#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/poisson_arrivals.h"
#include "model/inputs.h"
#include "model/signature.h"
#include "protocol/attempts.h"
#include "protocol/run.h"
#include "storage/storage.h"

namespace heddle {

/// A workload's database and procedures on a machine, for code that is compiled once per machine.
/// WorkloadDatabase implements it.
template <class M>
class Database : public Inputs, public StoredProcedures<M> {
 public:
  explicit Database(int workers) : storage_(workers) {}

  [[nodiscard]] Storage<M>& storage() { return storage_; }
  [[nodiscard]] const Storage<M>& storage() const { return storage_; }

  [[nodiscard]] virtual std::string_view workload() const = 0;
  [[nodiscard]] virtual const Signature& signature() const = 0;
  /// The types: those of the signature, followed by those that read snapshots.
  [[nodiscard]] virtual const std::vector<std::string>& type_names() const = 0;
  [[nodiscard]] int type_count() const { return static_cast<int>(type_names().size()); }

  /// Makes transactions arrive at a rate: an open loop. Before the first run, and not where they
  /// arrive by a clock of the workload.
  /// @param rate transactions per second, over all workers
  void arrive_at(double rate, int workers) { arrivals_.emplace(rate, workers); }
  /// Begins the arrivals of a run, if there is a rate.
  void begin_arrivals(std::uint64_t seed) {
    if (arrivals_) arrivals_->begin(seed);
  }

  [[nodiscard]] bool open_loop() const override { return arrivals_.has_value(); }
  [[nodiscard]] double next_arrival_us(int worker) const override {
    return arrivals_ ? arrivals_->next_us(worker) : 0;
  }
  [[nodiscard]] double arrived(double us) const override {
    return arrivals_ ? arrivals_->arrived(us) : 0;
  }
  [[nodiscard]] double begun() const override { return arrivals_ ? arrivals_->begun() : 0; }

  /// Populates the tables, once.
  virtual void load(std::uint64_t seed) = 0;
  /// The workload's own consistency conditions: one line per violation. Quiescent only.
  [[nodiscard]] virtual std::vector<std::string> check() = 0;

  /// Starts a protocol: one of protocol/registry.h, or one that the database is compiled for.
  /// @throws std::invalid_argument for any other, and for options that it does not have
  [[nodiscard]] virtual std::unique_ptr<ProtocolRun<M>> start(std::string_view protocol,
                                                              const RunSetup<M>& setup) = 0;

  /// Whether a run under a protocol may be unobserved. A sanitized build is not compiled for all.
  [[nodiscard]] virtual bool runs_unobserved(std::string_view protocol) const = 0;

  /// A worker's attempts in an unobserved run.
  /// @param protocol the name of the running protocol
  [[nodiscard]] virtual std::unique_ptr<Attempts<M>> attempts(std::string_view protocol,
                                                              ProtocolRun<M>& run, int worker) = 0;

 protected:
  /// Called for each transaction drawn, unless the workload's have a clock of their own.
  void take_arrival(int worker) {
    if (arrivals_) [[unlikely]]
      arrivals_->take(worker);
  }

 private:
  std::optional<PoissonArrivals> arrivals_;
  Storage<M> storage_;
};

}  // namespace heddle
