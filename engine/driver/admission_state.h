#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "driver/mailbox.h"
#include "protocol/outcome.h"
#include "schedule/admission/key_times.h"
#include "schedule/admission/operation.h"
#include "schedule/admission/options.h"
#include "schedule/admission/probe.h"
#include "schedule/admission/registry.h"
#include "workload/hints.h"
#include "workload/random.h"
#include "workload/signature.h"

namespace heddle {

/// What a hint's state tells of the operation: worked out once a run.
class HintedStates {
 public:
  explicit HintedStates(const Signature& signature) {
    for (std::size_t type = 0; type < signature.types.size(); ++type) {
      const auto& accesses = signature.types[type].accesses;
      for (std::size_t at = 0; at < accesses.size(); ++at) {
        const AccessSpec& access = accesses[at];
        const bool writes = access.kind == AccessKind::scan
                                ? removes_from(signature.types[type], access.table)
                                : access.kind != AccessKind::read;
        states_.push_back(
            {.salt = salt_of(access.table),
             .place = static_cast<float>(at) / static_cast<float>(accesses.size()),
             .writes = writes,
             .loop = access.loop,
             .write_of = access.kind == AccessKind::read || access.kind == AccessKind::scan
                             ? ""
                             : access.table});
      }
    }
  }

  /// Which table a row is written of, if its key is what a hint names; else "".
  [[nodiscard]] const std::string& write_of(std::size_t state) const {
    return states_[state].write_of;
  }
  [[nodiscard]] std::size_t size() const { return states_.size(); }

  /// A number for the key among those of all tables, spread over all bits.
  [[nodiscard]] std::uint64_t hash(const Hint& hint) const {
    // The finaliser of SplitMix64 (Steele et al., OOPSLA 2014).
    std::uint64_t bits = hint.key ^ states_[hint.state].salt;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
    return bits ^ bits >> 31;
  }

  /// @param index of the hint among all `count` of its transaction: in a loop, the only thing that
  ///        tells when its turn comes
  [[nodiscard]] admission::Operation operation(const Hint& hint, std::uint64_t hash,
                                               std::size_t index, std::size_t count) const {
    const State& state = states_[hint.state];
    return {
        .slot = admission::slot_of(hash),
        .place = state.loop ? static_cast<float>(index) / static_cast<float>(count) : state.place,
        .reads = true,
        .writes = state.writes};
  }

 private:
  struct State {
    std::uint64_t salt;
    float place;
    bool writes;
    bool loop;
    std::string write_of;
  };

  /// Who scans a table and removes rows of it takes what it finds, such as the oldest order: two
  /// that scan from one place conflict, though the scan alone only reads.
  static bool removes_from(const TypeSpec& type, const std::string& table) {
    return std::any_of(type.accesses.begin(), type.accesses.end(), [&table](const auto& access) {
      return access.kind == AccessKind::remove && access.table == table;
    });
  }

  /// The same on every machine and in every run, unlike std::hash (FNV-1a).
  static std::uint64_t salt_of(const std::string& table) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char letter : table) {
      hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
    }
    return hash;
  }

  std::vector<State> states_;
};

/// What the workers of one run share to schedule their transactions.
template <class M, class W>
struct AdmissionState {
  /// A transaction on its way to the worker whose key it needs.
  struct Parcel {
    typename W::Input input;
    admission::Operations operations;
    typename M::Ticks arrived;
  };

  AdmissionState(const admission::Options& given, int workers, const Signature& signature)
      : options(given),
        scheduled(given.scheduled_types(signature)),
        states(signature),
        times(given.rules) {
    if (!admission::routes(options.policy)) return;
    for (int worker = 0; worker < workers; ++worker) {
      mailboxes.emplace_back(static_cast<std::size_t>(options.window));
    }
  }

  /// Whether transactions of a type are scheduled. Read-only types, which are in no signature, are.
  [[nodiscard]] bool schedules(int type) const {
    const auto at = static_cast<std::size_t>(type);
    return at >= scheduled.size() || scheduled[at];
  }

  admission::Options options;
  std::vector<bool> scheduled;  ///< by type of the signature
  HintedStates states;
  admission::KeyTimes<M> times;
  admission::ProbeCounts<M> probe;
  std::deque<Mailbox<M, Parcel>> mailboxes;  ///< one a worker, where the policy routes
};

}  // namespace heddle
