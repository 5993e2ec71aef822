#include "workload/shop/requests.h"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace heddle::shop {

namespace {

constexpr std::string_view kProductTable = "product";

[[noreturn]] void refuse(const std::string& why) {
  throw std::invalid_argument(
      "shop: the trace is not of a shop: " + why +
      "; heddle trace import --format ecommerce and heddle trace synth make traces of one, and "
      "workload=replay replays any");
}

std::uint16_t product_table_of(const replay::Program& program) {
  const auto& tables = program.tables();
  const auto found = std::find_if(tables.begin(), tables.end(), [](const replay::TableSpec& table) {
    return table.name == kProductTable;
  });
  if (found == tables.end()) refuse("it has no table '" + std::string(kProductTable) + "'");
  return static_cast<std::uint16_t>(found - tables.begin());
}

std::string quoted(std::string_view name) {
  return std::string(1, '\'').append(name).append(1, '\'');
}

}  // namespace

Requests::Requests(std::shared_ptr<const replay::Program> program) : program_(std::move(program)) {
  find_types();
  product_table_ = product_table_of(*program_);
  products_ = program_->tables()[product_table_].rows;
  find_products();
}

void Requests::find_types() {
  std::array<bool, kTypeNames.size()> declared{};
  for (const TypeSpec& type : program_->signature().types) {
    const auto* const name = std::find(kTypeNames.begin(), kTypeNames.end(), type.name);
    if (name == kTypeNames.end()) {
      refuse("its transaction type " + quoted(type.name) +
             " is none of 'cart', 'purchase' and 'view'");
    }
    const auto number = static_cast<std::size_t>(name - kTypeNames.begin());
    declared[number] = true;
    types_.push_back(static_cast<Type>(number));
  }
  for (std::size_t type = 0; type < kPolicyTypes; ++type) {
    if (!declared[type]) refuse("it has no transaction type " + quoted(kTypeNames[type]));
  }
  has_views_ = declared[static_cast<std::size_t>(Type::view)];
}

void Requests::find_products() {
  product_.reserve(program_->transactions());
  for (std::size_t i = 0; i < program_->transactions(); ++i) {
    std::optional<std::uint32_t> product;
    for (std::uint64_t at = program_->first_access(i); at < program_->end_access(i); ++at) {
      if (program_->step(program_->type(i), at).table != product_table_) continue;
      if (product.has_value() && *product != program_->row(at)) {
        refuse("transaction " + std::to_string(i) + " of the part is about several products");
      }
      product = program_->row(at);
    }
    if (!product.has_value()) {
      refuse("transaction " + std::to_string(i) + " of the part, a " +
             program_->signature().types[program_->type(i)].name + ", accesses no row of table " +
             quoted(kProductTable));
    }
    product_.push_back(*product);
  }
}

}  // namespace heddle::shop
