#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

/// The inputs of the types that only read (clause 3.3). Numbers stand for names and symbols.
namespace heddle::tpce {

inline constexpr std::size_t kMostBrokersCompared = 40;

struct BrokerVolumeInput {
  std::uint32_t sector;
  std::uint32_t count;
  std::array<std::uint32_t, kMostBrokersCompared> brokers;
};

struct CustomerPositionInput {
  std::uint32_t customer;
  std::uint32_t account;  ///< with `history`
  bool by_tax_id;
  bool history;
};

struct MarketWatchInput {
  enum class Of : std::uint8_t { watch_list, account, industry };

  Of of;
  std::uint32_t number;  ///< of a customer, an account or an industry
  std::uint32_t day;     ///< with whose prices today's are compared
};

struct SecurityDetailInput {
  std::uint32_t security;
  std::uint32_t first_day;
  std::uint32_t days;
};

struct TradeStatusInput {
  std::uint32_t account;
};

}  // namespace heddle::tpce
