#pragma once

#include "model/signature.h"
#include "protocol/outcome.h"

namespace heddle::tpcb {

enum State : AccessId {
  kReadAccount,
  kUpdateAccount,
  kReadTeller,
  kUpdateTeller,
  kReadBranch,
  kUpdateBranch,
  kInsertHistory,
};

[[nodiscard]] inline Signature signature() {
  using enum AccessKind;
  return {"tpcb",
          {{"account_update",
            {{"read_account", "ACCOUNTS", read},
             {"update_account", "ACCOUNTS", update},
             {"read_teller", "TELLERS", read},
             {"update_teller", "TELLERS", update},
             {"read_branch", "BRANCHES", read},
             {"update_branch", "BRANCHES", update},
             {"insert_history", "HISTORY", insert}}}}};
}

}  // namespace heddle::tpcb
