#pragma once

#include <cstddef>

#include "storage/hash_index.h"
#include "storage/key.h"
#include "storage/ordered_index.h"
#include "storage/storage.h"
#include "storage/table.h"
#include "workload/shop/cart_keys.h"
#include "workload/shop/schema.h"

namespace heddle::shop {

/// The four tables of a shop. Tables that never grow have a hash index; tables that grow, or are
/// scanned, have an ordered one.
template <class M>
struct Tables {
  Tables(Storage<M>& storage, std::size_t products, std::size_t requests, bool has_views)
      : cart_keys(products),
        stock(storage, "STOCK", products),
        cart_line(storage, "CART_LINE", requests),
        orders(storage, "ORDERS", requests),
        order_line(storage, "ORDER_LINE", requests) {
    // The one read-only type reads the stock.
    if (!has_views) stock.skip_snapshots();
    cart_line.skip_snapshots();
    orders.skip_snapshots();
    order_line.skip_snapshots();
  }

  CartKeys cart_keys;
  Table<M, Key1, Stock, HashIndex> stock;
  Table<M, Key1, CartLine, OrderedIndex> cart_line;
  Table<M, Key1, PlacedOrder, OrderedIndex> orders;
  Table<M, Key1, OrderLine, OrderedIndex> order_line;
};

}  // namespace heddle::shop
