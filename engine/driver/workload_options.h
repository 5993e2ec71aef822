#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/option_spec.h"
#include "model/options.h"
#include "workload/concepts.h"

namespace heddle {

/// The option of an open loop. The driver adds it to the options of every workload whose
/// transactions do not arrive by a clock of their own.
struct ArrivalOptions {
  static constexpr const char* kRate = "rate";

  /// Transactions per second, over all workers; empty: a closed loop.
  std::optional<double> rate;

  void read(OptionReader& reader) {
    reader.real(kRate, rate, 1e-3, 1e9,
                "transactions that arrive per second, over all workers, whether or not a worker is "
                "free (a Poisson process); without it a worker's next one starts when its last one "
                "ends");
  }

  /// @param owner the workload's name, for messages
  [[nodiscard]] static ArrivalOptions parse(const std::string& owner, const OptionMap& options) {
    OptionMap own;
    if (const auto found = options.find(kRate); found != options.end()) own.insert(*found);
    OptionReader reader(owner, own);
    return read_options<ArrivalOptions>(reader);
  }
};

/// Whether the driver adds ArrivalOptions.
template <class W>
inline constexpr bool kTakesRate = !HasArrivals<W>;

/// The rate at which a workload's transactions arrive; empty: a closed loop, or arrivals of its
/// own.
/// @throws std::invalid_argument if it is out of range
template <class W>
[[nodiscard]] std::optional<double> arrival_rate(const OptionMap& options) {
  if constexpr (!kTakesRate<W>) return {};
  return ArrivalOptions::parse(std::string(W::kName), options).rate;
}

/// The options that the workload itself reads.
/// @throws std::invalid_argument if one that the driver adds is out of range
template <class W>
[[nodiscard]] OptionMap own_options(OptionMap options) {
  (void)arrival_rate<W>(options);
  options.erase("name");
  if constexpr (kTakesRate<W>) options.erase(ArrivalOptions::kRate);
  return options;
}

/// The declarations of all options of a workload.
template <class W>
[[nodiscard]] std::vector<OptionSpec> workload_option_specs() {
  std::vector<OptionSpec> specs = specs_of<typename W::Options>();
  if constexpr (kTakesRate<W>) {
    for (OptionSpec& spec : specs_of<ArrivalOptions>()) specs.push_back(std::move(spec));
  }
  return specs;
}

}  // namespace heddle
