#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "model/random.h"
#include "model/signature.h"
#include "protocol/compiled_policy.h"
#include "protocol/policy.h"

/// Policy tables made in code, for any workload.
namespace heddle::tables {

inline bool reads_version(AccessKind kind) {
  return kind == AccessKind::read || kind == AccessKind::read_modify_write;
}
inline bool writes(AccessKind kind) { return kind != AccessKind::read && kind != AccessKind::scan; }

using Compiled = std::shared_ptr<const CompiledPolicy>;

/// The table in which each state's row is `row(type, local access, spec)`.
template <class RowOf>
Compiled make(const std::string& name, const Signature& signature, RowOf row_of) {
  Policy policy;
  policy.name = name;
  policy.signature = signature;
  for (std::size_t type = 0; type < signature.types.size(); ++type) {
    for (std::size_t at = 0; at < signature.types[type].accesses.size(); ++at) {
      PolicyRow row = row_of(type, at, signature.types[type].accesses[at]);
      row.wait.resize(signature.types.size(), 0);
      policy.rows.push_back(std::move(row));
    }
  }
  policy.backoff.assign(signature.types.size(),
                        {.initial_us = 0.5, .abort = {1, 1, 1}, .commit = {1, 1, 1}});
  return std::make_shared<const CompiledPolicy>(std::move(policy));
}

inline Compiled occ(const Signature& signature) {
  return make("occ", signature, [](auto, auto, const auto&) { return PolicyRow{}; });
}

/// Silo, with early validation after each type's last access, or after every one.
inline Compiled validating(const Signature& signature, bool everywhere) {
  return make(everywhere ? "validating everywhere" : "validating at the end", signature,
              [&](std::size_t type, std::size_t at, const AccessSpec&) {
                PolicyRow row;
                row.early_validation =
                    everywhere || at + 1 == signature.types[type].accesses.size();
                return row;
              });
}

/// Everything dirty, public and validated at once, without waits: the most error-prone table.
inline Compiled reckless(const Signature& signature) {
  return make("reckless", signature, [](auto, auto, const AccessSpec& access) {
    return PolicyRow{.wait = {},
                     .dirty_read = reads_version(access.kind),
                     .public_write = writes(access.kind),
                     .early_validation = false};
  });
}

/// As 2PL*: every conflict is a dependency, and every access waits for all of them to end.
inline Compiled two_phase_locking_star(const Signature& signature) {
  return make("two_phase_locking_star", signature, [&](auto, auto, const AccessSpec& access) {
    PolicyRow row{.wait = {},
                  .dirty_read = reads_version(access.kind),
                  .public_write = writes(access.kind),
                  .early_validation = true};
    for (const TypeSpec& other : signature.types) {
      row.wait.push_back(static_cast<std::uint16_t>(other.accesses.size() + 1));
    }
    return row;
  });
}

/// As IC3: before an access to a table, dependencies must have finished their accesses to it;
/// the accesses to a table become visible at the last of consecutive ones.
inline Compiled ic3(const Signature& signature) {
  return make("ic3", signature, [&](std::size_t type, std::size_t at, const AccessSpec& access) {
    const auto& accesses = signature.types[type].accesses;
    const bool last = at + 1 == accesses.size() || accesses[at + 1].table != access.table;
    PolicyRow row{.wait = {},
                  .dirty_read = reads_version(access.kind),
                  .public_write = writes(access.kind),
                  .early_validation = last};
    for (const TypeSpec& other : signature.types) {
      std::uint16_t until = 0;
      for (std::size_t i = 0; i < other.accesses.size(); ++i) {
        const bool conflict = other.accesses[i].table == access.table &&
                              (writes(access.kind) || writes(other.accesses[i].kind));
        if (conflict) until = static_cast<std::uint16_t>(i + 1);
      }
      row.wait.push_back(until);
    }
    return row;
  });
}

/// A table of cells drawn at random. The probability that a kind of cell is set is drawn as well,
/// so that tables that wait for everything, for nothing, and all between occur.
inline Compiled random(const Signature& signature, std::uint64_t seed) {
  Random draw = Random::stream(seed, 71);
  const double waits = draw.unit() * draw.unit();
  const double dirty = draw.unit();
  const double exposed = draw.unit();
  const double early = draw.unit();
  return make("random_" + std::to_string(seed), signature,
              [&](auto, auto, const AccessSpec& access) {
                PolicyRow row{.wait = {},
                              .dirty_read = draw.unit() < dirty,
                              .public_write = draw.unit() < exposed,
                              .early_validation = draw.unit() < early};
                row.dirty_read = row.dirty_read && reads_version(access.kind);
                row.public_write = row.public_write && writes(access.kind);
                for (const TypeSpec& other : signature.types) {
                  const auto cells = static_cast<std::int64_t>(other.accesses.size() + 1);
                  row.wait.push_back(
                      static_cast<std::uint16_t>(draw.unit() < waits ? draw.between(1, cells) : 0));
                }
                return row;
              });
}

}  // namespace heddle::tables
