#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "model/signature.h"
#include "protocol/outcome.h"

namespace heddle::bomb {

/// The first one is the long one.
enum class Type : std::uint8_t {
  update_product_cost,
  update_material_cost,
  issue_journal_voucher,
  change_product,
  change_raw_material,
  change_product_quantity,
};
inline constexpr std::size_t kTypes = 6;
inline constexpr std::array<std::string_view, kTypes> kTypeNames{
    "update_product_cost", "update_material_cost", "issue_journal_voucher",
    "change_product",      "change_raw_material",  "change_product_quantity",
};

enum State : AccessId {
  kCostScanProducts,
  kCostScanComponents,
  kCostReadMaterial,
  kCostReadCost,
  kCostUpdateCost,
  kCostInsertCost,

  kMaterialRead,
  kMaterialUpdate,

  kVoucherScanCosts,
  kVoucherInsert,

  kChangeScanProduct,
  kChangeRemoveProduct,
  kChangeReadCost,
  kChangeRemoveCost,
  kChangeInsertComponent,
  kChangeInsertProduct,

  kRawScanMaterials,
  kRawRemoveMaterial,
  kRawInsertMaterial,

  kQuantityScanProduct,
  kQuantityUpdateProduct,
};

[[nodiscard]] inline Signature signature() {
  using enum AccessKind;
  constexpr bool kLoop = true;
  const AccessSpec scan_product{"scan_product", "ITEM_MANUFACTURING", scan, kLoop};
  Signature result{"bomb",
                   {{"",
                     {{"scan_products", "ITEM_MANUFACTURING", scan},
                      {"scan_components", "ITEM_CONSTRUCTION", scan, kLoop},
                      {"read_material", "MATERIAL_COST", read, kLoop},
                      {"read_cost", "PRODUCT_COST", read, kLoop},
                      {"update_cost", "PRODUCT_COST", update, kLoop},
                      {"insert_cost", "PRODUCT_COST", insert, kLoop}}},
                    {"",
                     {{"read_material", "MATERIAL_COST", read, kLoop},
                      {"update_material", "MATERIAL_COST", update, kLoop}}},
                    {"",
                     {{"scan_costs", "PRODUCT_COST", scan},
                      {"insert_voucher", "JOURNAL_VOUCHER", insert, kLoop}}},
                    {"",
                     {scan_product,
                      {"remove_product", "ITEM_MANUFACTURING", remove},
                      {"read_cost", "PRODUCT_COST", read},
                      {"remove_cost", "PRODUCT_COST", remove},
                      {"insert_component", "ITEM_CONSTRUCTION", insert, kLoop},
                      {"insert_product", "ITEM_MANUFACTURING", insert}}},
                    {"",
                     {{"scan_materials", "ITEM_CONSTRUCTION", scan},
                      {"remove_material", "ITEM_CONSTRUCTION", remove},
                      {"insert_material", "ITEM_CONSTRUCTION", insert}}},
                    {"", {scan_product, {"update_product", "ITEM_MANUFACTURING", update}}}}};
  for (std::size_t type = 0; type < kTypes; ++type) result.types[type].name = kTypeNames[type];
  return result;
}

}  // namespace heddle::bomb
