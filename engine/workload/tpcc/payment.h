#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "protocol/outcome.h"
#include "storage/look_ahead.h"
#include "workload/tpcc/customer_lookup.h"
#include "workload/tpcc/inputs.h"
#include "workload/tpcc/keys.h"
#include "workload/tpcc/states.h"
#include "workload/tpcc/tables.h"

namespace heddle::tpcc {

/// The output of Payment for its terminal (clause 2.5.3.3), as far as it is computed.
struct PaymentOutput {
  std::uint32_t customer = 0;
  std::int64_t balance_cents = 0;
};

/// The Payment transaction (clause 2.5.2).
template <class Txn, class M>
class PaymentTransaction {
 public:
  PaymentTransaction(Txn& txn, Tables<M>& tables, const PaymentInput& input)
      : txn_(txn), tables_(tables), in_(input) {}

  Outcome run(PaymentOutput& output) {
    ahead_.fetch([this](auto ahead) { rows(ahead); });
    const auto warehouse =
        txn_.read(kPaymentReadWarehouse, tables_.warehouse, warehouse_key(in_.warehouse));
    if (!warehouse) return txn_.stop();
    if (!txn_.update(kPaymentUpdateWarehouse, tables_.warehouse, warehouse,
                     [&](Warehouse& row) { row.ytd_cents += in_.amount_cents; })) {
      return txn_.stop();
    }
    const auto district = txn_.read(kPaymentReadDistrict, tables_.district,
                                    district_key(in_.warehouse, in_.district));
    if (!district) return txn_.stop();
    if (!txn_.update(kPaymentUpdateDistrict, tables_.district, district,
                     [&](District& row) { row.ytd_cents += in_.amount_cents; })) {
      return txn_.stop();
    }
    output.customer = look_up_customer(txn_, tables_, in_.customer);
    if (output.customer == 0 || !charge(output)) return txn_.stop();
    if (!insert_history(output.customer, warehouse->name, district->name)) return txn_.stop();
    return Outcome::commit;
  }

 private:
  /// The rows that are probably not in a cache.
  template <class Ahead>
  void rows(const Ahead& ahead) const {
    const CustomerChoice& choice = in_.customer;
    if (choice.customer == CustomerChoice::kByLastName) {
      ahead(tables_.customer_name, name_key(choice.warehouse, choice.district, choice.last),
            sizeof(NamesakesHead));
    } else {
      ahead(tables_.customer, customer_key(choice.warehouse, choice.district, choice.customer),
            sizeof(CustomerProfile));
    }
  }

  /// Takes the amount from the customer's balance. C_DATA is read and written only for the tenth of
  /// the customers with bad credit, so their row is read again in full, as in 2.5.2.2.
  bool charge(PaymentOutput& output) {
    const CustomerChoice& choice = in_.customer;
    const Key1 key = customer_key(choice.warehouse, choice.district, output.customer);
    Record<M>* const found = choice.customer == CustomerChoice::kByLastName ? nullptr : ahead_[0];
    const auto profile =
        txn_.template read<CustomerProfile>(kPaymentReadCustomer, tables_.customer, key, found);
    if (!profile) return false;
    output.balance_cents = profile->head.balance_cents - in_.amount_cents;
    if (profile->head.credit != Text<2>::of("BC")) {
      return txn_.update(kPaymentUpdateCustomer, tables_.customer, profile,
                         [&](CustomerProfile& row) { pay(row.head); });
    }
    const auto customer = txn_.read(kPaymentReadCustomer, tables_.customer, key, found);
    if (!customer) return false;
    return txn_.update(kPaymentUpdateCustomer, tables_.customer, customer, [&](Customer& row) {
      pay(row.profile.head);
      note_in_data(row.data, output.customer);
    });
  }

  void pay(CustomerHead& head) const {
    head.balance_cents -= in_.amount_cents;
    head.ytd_payment_cents += in_.amount_cents;
    head.payments += 1;
  }

  /// Inserts the payment at the front of C_DATA, which loses as many characters at its end.
  void note_in_data(Text<500>& data, std::uint32_t customer) const {
    const CustomerChoice& choice = in_.customer;
    std::array<char, 64> note;
    char* end = note.data();
    for (const std::uint32_t number :
         {customer, std::uint32_t{choice.district}, std::uint32_t{choice.warehouse},
          std::uint32_t{in_.district}, std::uint32_t{in_.warehouse}, in_.amount_cents}) {
      end = std::to_chars(end, note.data() + note.size(), number).ptr;
      *end++ = ' ';
    }
    const auto size = static_cast<std::size_t>(end - note.data());
    std::memmove(data.chars.data() + size, data.chars.data(), data.chars.size() - size);
    std::memcpy(data.chars.data(), note.data(), size);
  }

  bool insert_history(std::uint32_t customer, const Text<10>& warehouse_name,
                      const Text<10>& district_name) {
    History row{.date_us = in_.date_us,
                .amount_cents = in_.amount_cents,
                .warehouse = in_.warehouse,
                .customer_warehouse = in_.customer.warehouse,
                .customer = static_cast<std::uint16_t>(customer),
                .district = in_.district,
                .customer_district = in_.customer.district,
                .data = {}};
    // H_DATA: the two names with four spaces between them.
    char* data = row.data.chars.data();
    std::memcpy(data, warehouse_name.chars.data(), 10);
    std::memset(data + 10, ' ', 4);
    std::memcpy(data + 14, district_name.chars.data(), 10);
    return txn_.insert(kPaymentInsertHistory, tables_.history, Key1{{in_.history}}, row);
  }

  Txn& txn_;
  Tables<M>& tables_;
  const PaymentInput& in_;
  RowsAhead<M> ahead_;
};

}  // namespace heddle::tpcc
