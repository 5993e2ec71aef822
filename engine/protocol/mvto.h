#pragma once

#include <cstdint>
#include <string_view>

#include "protocol/multiversion_runtime.h"
#include "protocol/multiversion_transaction.h"
#include "protocol/mvto_options.h"
#include "protocol/protocol.h"

namespace heddle {

/// After this many aborts in a row no other transaction begins while this one makes an attempt, so
/// none reads what it is about to write. Otherwise a long transaction that writes rows which every
/// other one reads would never commit.
inline constexpr std::uint32_t kAbortsBeforeAlone = 64;

/// One attempt at a transaction that is ordered by its timestamp.
template <class M, class Txn, class P>
Attempt<M> attempt_by_timestamp(MultiversionRuntime<M>& runtime, int worker, Txn& txn,
                                const P& procedure, std::uint32_t prior_aborts) {
  const bool alone = prior_aborts >= kAbortsBeforeAlone && runtime.go_alone(worker);
  txn.begin();
  const Attempt<M> attempt = attempt_by<M>(txn, procedure);
  if (alone) [[unlikely]]
    runtime.let_others_go();
  return attempt;
}

/// Multi-version timestamp ordering as a protocol the driver runs.
struct Mvto {
  static constexpr std::string_view kName = "mvto";
  using Options = MvtoOptions;

  template <class M>
  struct Runtime : MultiversionRuntime<M> {
    explicit Runtime(const RunSetup<M>& setup)
        : MultiversionRuntime<M>(setup, MvtoOptions::parse(setup.options).isolation) {}
  };

  template <class M>
  class Executor {
   public:
    Executor(Runtime<M>& runtime, Storage<M>& storage, int worker)
        : runtime_(runtime), worker_(worker), txn_(storage, worker, runtime) {}

    template <class P>
    Attempt<M> attempt(const P& procedure, int /*type*/, std::uint32_t prior_aborts) {
      return attempt_by_timestamp(runtime_, worker_, txn_, procedure, prior_aborts);
    }
    static const CompiledPolicy* policy() { return nullptr; }

   private:
    Runtime<M>& runtime_;
    int worker_;
    MultiversionTransaction<M> txn_;
  };
};

}  // namespace heddle
