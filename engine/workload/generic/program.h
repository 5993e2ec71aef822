#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/random.h"
#include "model/signature.h"
#include "protocol/outcome.h"
#include "workload/generic/options.h"

namespace heddle::generic {

/// The operation of one step of a transaction.
enum class Act : std::uint8_t {
  read,     ///< a row
  update,   ///< reads a row and overwrites it, in one state
  rewrite,  ///< reads a row and overwrites it, in two states
  insert,
  remove,  ///< reads a row and deletes it
  scan,
  sum,  ///< reads several rows in a loop
  count_
};

inline constexpr std::array<std::string_view, static_cast<std::size_t>(Act::count_)> kActNames{
    "read", "update", "rewrite", "insert", "remove", "scan", "sum"};

/// The rows of a transaction: steps with the same slot access the same row.
inline constexpr std::uint32_t kSlots = 3;

struct Step {
  Act act = Act::read;
  bool hash = false;          ///< in the table with the hash index, else in the ordered one
  bool whole = true;          ///< the whole row, else its first half
  bool descending = false;    ///< a scan
  std::uint8_t slot = 0;      ///< the row; the start of a scan
  std::uint8_t end_slot = 0;  ///< the end of a scan
  std::uint8_t limit = 0;     ///< of a scan's rows; 0: none
  AccessId state = 0;         ///< its first
};

/// The transaction types of a generic workload, drawn from a seed: points, inserts, deletes and
/// scans in any order, on the same rows or others, on whole rows or halves.
class Program {
 public:
  explicit Program(const GenericOptions& options) {
    signature_.workload = "generic";
    AccessId state = 0;
    for (std::uint32_t type = 0; type < options.types; ++type) {
      Random random = Random::stream(options.program, type);
      TypeSpec spec{.name = "type_" + std::to_string(type), .accesses = {}};
      std::vector<Step> steps(1 + random.below(options.accesses));
      for (Step& step : steps) {
        step = draw(random, options.churn);
        step.state = state;
        describe(step, spec);
        state = static_cast<AccessId>(step.state + states_of(step.act));
      }
      steps_.push_back(std::move(steps));
      signature_.types.push_back(std::move(spec));
    }
  }

  [[nodiscard]] const std::vector<Step>& steps(int type) const {
    return steps_[static_cast<std::size_t>(type)];
  }
  [[nodiscard]] const Signature& signature() const { return signature_; }

 private:
  static Step draw(Random& random, std::uint32_t churn) {
    static constexpr std::array kWeights{6, 5, 3, 3, 3, 3, 1};
    static_assert(kWeights.size() == static_cast<std::size_t>(Act::count_));
    Step step;
    auto left = static_cast<int>(random.below(24));
    for (const int weight : kWeights) {
      if (left < weight) break;
      left -= weight;
      step.act = static_cast<Act>(static_cast<int>(step.act) + 1);
    }
    if (churn != 0 && random.below(100) < churn) {
      step.act = random.below(2) == 0 ? Act::insert : Act::remove;
    }
    step.hash = step.act != Act::scan && random.below(3) == 0;
    step.whole = random.below(2) == 0;
    step.descending = random.below(2) == 0;
    step.slot = static_cast<std::uint8_t>(random.below(kSlots));
    step.end_slot = static_cast<std::uint8_t>(random.below(kSlots));
    step.limit = static_cast<std::uint8_t>(random.below(4));
    return step;
  }

  static int states_of(Act act) { return act == Act::rewrite || act == Act::remove ? 2 : 1; }

  static void describe(const Step& step, TypeSpec& spec) {
    const std::string table = step.hash ? "HASH" : "ORDERED";
    const std::string name = std::string(kActNames.at(static_cast<std::size_t>(step.act))) + "_" +
                             std::to_string(spec.accesses.size());
    const auto add = [&](const char* part, AccessKind kind, bool loop = false) {
      spec.accesses.push_back({name + part, table, kind, loop});
    };
    switch (step.act) {
      case Act::read: add("", AccessKind::read); break;
      case Act::update: add("", AccessKind::read_modify_write); break;
      case Act::rewrite:
        add("_read", AccessKind::read);
        add("_write", AccessKind::update);
        break;
      case Act::insert: add("", AccessKind::insert); break;
      case Act::remove:
        add("_read", AccessKind::read);
        add("_remove", AccessKind::remove);
        break;
      case Act::scan: add("", AccessKind::scan); break;
      case Act::sum: add("", AccessKind::read, true); break;
      case Act::count_: break;
    }
  }

  Signature signature_;
  std::vector<std::vector<Step>> steps_;  ///< by type
};

}  // namespace heddle::generic
