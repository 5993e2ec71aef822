#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/options.h"
#include "workload/program_file.h"

/// A trace to be replayed at its times: sales, a millisecond apart, of few products.
namespace heddle::test {

inline constexpr std::uint32_t kSessions = 64;
inline constexpr int kTransactions = 256;

inline const std::string kSales = R"(
  "tables": [{"name": "goods", "rows": 8}],
  "types": [{"name": "sale", "accesses": [
    {"name": "look", "table": 0, "kind": "read"},
    {"name": "sell", "table": 0, "kind": "update"}]}])";

inline ProgramFile::Transaction sale(std::uint32_t number) {
  return {number % kSessions, 0, {{0, number % 8}, {1, number % 8}, {1, number / 8 % 8}}};
}

inline ProgramFile sales() {
  std::vector<ProgramFile::Transaction> all;
  for (std::uint32_t number = 0; number < kTransactions; ++number) all.push_back(sale(number));
  return ProgramFile(kSales, kSessions, all, std::vector<std::uint8_t>(8, 0));
}

/// As workload options: `speed` times 1000 a second.
inline OptionMap at_speed(const ProgramFile& file, const std::string& speed) {
  return {{"name", "replay"}, {"program", file.path()}, {"arrivals", "recorded"}, {"speed", speed}};
}

}  // namespace heddle::test
