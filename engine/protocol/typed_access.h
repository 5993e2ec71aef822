#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "model/access_id.h"
#include "protocol/row.h"
#include "storage/node_version.h"

namespace heddle {

/// The operations that stored procedures use, with rows as structs, over those of `Derived`, for
/// which a row is its bytes.
///
/// Every access names its state. It returns nothing if the row does not exist or the transaction
/// has to stop: `stop()` distinguishes the two.
template <class Derived>
class TypedAccess {
 public:
  /// Reads the row under `key`; with a prefix type, only its first columns.
  /// @param found the key's record if RowsAhead has it; saves the look-up
  template <class Prefix, class T>
  [[gnu::always_inline]] Row<Prefix> read(AccessId state, T& table, const typename T::KeyType& key,
                                          typename T::RecordType* found = nullptr) {
    static_assert(sizeof(Prefix) <= sizeof(typename T::ValueType) && sizeof(Prefix) % 8 == 0);
    return as<Prefix>(derived().read_row(state, table, key, Bytes<Prefix>{}, found));
  }

  template <class T>
  [[gnu::always_inline]] auto read(AccessId state, T& table, const typename T::KeyType& key,
                                   typename T::RecordType* found = nullptr) {
    return read<typename T::ValueType>(state, table, key, found);
  }

  /// Changes a row read before: `modify(Prefix&)` works on a private copy.
  template <class T, class Prefix, class F>
  [[gnu::always_inline]] bool update(AccessId state, T& table, const Row<Prefix>& row, F modify) {
    return derived().update_row(
        state, table, row.entry(), Bytes<Prefix>{},
        [&modify](std::byte* copy) { modify(*reinterpret_cast<Prefix*>(copy)); });
  }

  /// Inserts a row. Returns false also if the key exists.
  template <class T>
  [[gnu::always_inline]] bool insert(AccessId state, T& table, const typename T::KeyType& key,
                                     const typename T::ValueType& value) {
    return derived().insert_row(state, table, key, reinterpret_cast<const std::byte*>(&value),
                                Bytes<typename T::ValueType>{});
  }

  /// Deletes a row read before.
  template <class T, class V>
  [[gnu::always_inline]] bool remove(AccessId state, T& table, const Row<V>& row) {
    return derived().remove_row(state, table, row.entry());
  }

  /// Visits the rows with keys in [lo, hi] in the given order, at most `limit` (0: all), until
  /// `visit(key, row)` returns false. Always reads committed versions (Polyjuice §6).
  template <class Prefix, class T, class F>
  [[gnu::always_inline]] bool scan(AccessId state, T& table, const typename T::KeyType& lo,
                                   const typename T::KeyType& hi, Order order, std::uint32_t limit,
                                   F visit) {
    return derived().scan_rows(state, table, lo, hi, order, limit, Bytes<Prefix>{},
                               [&visit](const typename T::KeyType& key, const Row<std::byte>& row) {
                                 return visit(key, as<Prefix>(row));
                               });
  }

  template <class T, class F>
  [[gnu::always_inline]] bool scan(AccessId state, T& table, const typename T::KeyType& lo,
                                   const typename T::KeyType& hi, Order order, std::uint32_t limit,
                                   F visit) {
    return scan<typename T::ValueType>(state, table, lo, hi, order, limit, visit);
  }

 private:
  template <class V>
  using Bytes = std::integral_constant<std::uint32_t, sizeof(V)>;

  template <class V>
  static Row<V> as(const Row<std::byte>& row) {
    return {reinterpret_cast<const V*>(row.get()), row.entry()};
  }

  Derived& derived() { return static_cast<Derived&>(*this); }
};

}  // namespace heddle
