#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>

#include "protocol/outcome.h"
#include "workload/tpcc/inputs.h"
#include "workload/tpcc/keys.h"
#include "workload/tpcc/tables.h"

namespace heddle::tpcc {

/// The number of the customer that a terminal chose; 0 if the transaction must stop.
///
/// By last name, it is the middle one of the namesakes in the order of their first names, the
/// earlier of two middle ones: position ceil(n / 2) (clauses 2.5.2.2, 2.6.2.2).
template <class Txn, class M>
std::uint32_t look_up_customer(Txn& txn, Tables<M>& tables, const CustomerChoice& choice) {
  if (choice.customer != CustomerChoice::kByLastName) return choice.customer;
  const NameKey key = name_key(choice.warehouse, choice.district, choice.last);
  const auto head = txn.template read<NamesakesHead>(kNoState, tables.customer_name, key);
  if (!head) return 0;
  assert(head->count > 0);
  const std::size_t middle = (head->count - 1U) / 2;
  if (middle < head->customers.size()) return head->customers[middle];
  const auto namesakes = txn.read(kNoState, tables.customer_name, key);
  return namesakes ? namesakes->customer(middle) : 0;
}

}  // namespace heddle::tpcc
