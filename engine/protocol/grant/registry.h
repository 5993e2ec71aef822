#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "model/registry.h"
#include "protocol/grant/bldsf.h"
#include "protocol/grant/cats.h"
#include "protocol/grant/ddf.h"
#include "protocol/grant/fifo.h"
#include "protocol/grant/hldsf.h"
#include "protocol/grant/ldsf.h"
#include "protocol/grant/mblf.h"
#include "protocol/grant/mlf.h"
#include "protocol/grant/policy.h"
#include "protocol/grant/ranked.h"
#include "protocol/grant/vats.h"

namespace heddle::grant {

template <class P>
struct Kind {
  static constexpr std::string_view kName = P::kName;
  static std::unique_ptr<Policy> make(const Options& options) {
    return std::make_unique<P>(options);
  }
};

template <class... Ps>
using Kinds = Registry<Kind<Ps>...>;

/// Every grant policy: a new one is its header and a name here.
using Policies = Kinds<Fifo, Vats, Mlf, Mblf, Ddf, Ldsf, Bldsf, Hldsf, Cats>;

/// nullptr: there is no policy of that name.
[[nodiscard]] inline std::unique_ptr<Policy> make_policy(std::string_view name,
                                                         const Options& options) {
  std::unique_ptr<Policy> made;
  Policies::visit(name, [&]<class K>(K) { made = K::make(options); });
  if (made == nullptr || options.ranks.empty()) return made;
  return std::make_unique<Ranked>(std::move(made), options.ranks);
}

/// The delay factors that the thesis compares (§4.6.7), by name.
struct NamedDelay {
  std::string_view name;
  double (*factor)(double);
};
inline constexpr std::array<NamedDelay, 5> kDelays{{
    {"log2", [](double k) { return std::log2(1 + k); }},
    {"sqrt", [](double k) { return std::sqrt(k); }},
    {"sqrt_log2", [](double k) { return std::sqrt(std::log2(1 + k)); }},
    {"one", [](double /*k*/) { return 1.0; }},
    {"linear", [](double k) { return k; }},
}};

/// Empty: there is no factor of that name.
[[nodiscard]] inline DelayFactor delay_factor(std::string_view name) {
  for (const NamedDelay& delay : kDelays) {
    if (delay.name == name) {
      return [factor = delay.factor](std::size_t k) { return factor(static_cast<double>(k)); };
    }
  }
  return {};
}

}  // namespace heddle::grant
