#pragma once

#include <cstddef>
#include <cstdint>

#include "model/hints.h"
#include "workload/bomb/inputs.h"
#include "workload/bomb/options.h"
#include "workload/bomb/states.h"
#include "workload/pair_key.h"

namespace heddle::bomb {

/// The rows and ranges whose keys are known before a transaction begins.
inline void add_hints(const Input& input, const BombOptions& options, Hints& hints) {
  const auto add = [&hints](AccessId state, std::uint64_t first, std::uint64_t second) {
    hints.add(state, pair_key(first, second).words[0]);
  };
  switch (input.type) {
    case Type::update_product_cost: return add(kCostScanProducts, input.factory, 0);
    case Type::update_material_cost:
      for (std::size_t at = 0; at < options.updated_materials; ++at) {
        add(kMaterialUpdate, input.factory, input.numbers[at]);
      }
      return;
    case Type::issue_journal_voucher: return add(kVoucherScanCosts, input.factory, 0);
    case Type::change_product:
      for (std::size_t at = 0; at < options.product_trees; ++at) {
        add(kChangeInsertComponent, input.product, input.numbers[at]);
      }
      return add(kChangeInsertProduct, input.factory, input.product);
    case Type::change_raw_material: return add(kRawScanMaterials, input.item, 0);
    case Type::change_product_quantity:
      return add(kQuantityScanProduct, input.factory, input.product);
  }
}

}  // namespace heddle::bomb
