#pragma once

#include "model/hints.h"
#include "workload/smallbank/inputs.h"
#include "workload/smallbank/states.h"

namespace heddle::smallbank {

/// The customers, as in the SMF paper's listing 1, by their rows that may be hot.
inline void add_hints(const Input& input, Hints& hints) {
  switch (input.type) {
    case Type::amalgamate:
      hints.add(kAmalgamateUpdateSavings, input.customer);
      hints.add(kAmalgamateUpdateChecking, input.customer);
      hints.add(kAmalgamateUpdateChecking, input.other);
      return;
    case Type::deposit_checking: hints.add(kDepositCheckingUpdateChecking, input.customer); return;
    case Type::send_payment:
      hints.add(kSendPaymentUpdateChecking, input.customer);
      hints.add(kSendPaymentUpdateChecking, input.other);
      return;
    case Type::transact_savings: hints.add(kTransactSavingsUpdateSavings, input.customer); return;
    case Type::write_check:
      hints.add(kWriteCheckReadSavings, input.customer);
      hints.add(kWriteCheckUpdateChecking, input.customer);
      return;
    case Type::balance:
      hints.add(kBalanceReadSavings, input.customer);
      hints.add(kBalanceReadChecking, input.customer);
      return;
  }
}

}  // namespace heddle::smallbank
