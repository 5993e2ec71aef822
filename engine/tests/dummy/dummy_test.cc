#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "check/trial.h"
#include "driver/session_runs.h"
#include "driver/workload_database.h"
#include "dummy/protocol.h"
#include "dummy/workload.h"
#include "machine/threads.h"
#include "protocol/registry.h"
#include "protocol/silo.h"
#include "storage/tid.h"
#if !defined(__SANITIZE_THREAD__)
#include "machine/virtual.h"
#endif

/// The workload and the protocol of docs/add-a-workload.md and docs/add-a-protocol.md, which no
/// registry lists.
namespace heddle {
namespace {

template <class M>
std::unique_ptr<Session> open_dummy(const OptionMap& options = {}) {
  using Opened = WorkloadDatabase<M, Dummy<M>, Registry<DummyProtocol, Silo>>;
  constexpr int kWorkers = 4;
  return make_session<M>(std::make_shared<Opened>(options, kWorkers), options, kWorkers, 1,
                         {.kind = std::string(M::kKind)});
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing was refused";
}

template <class M>
class DummyOn : public testing::Test {
 protected:
  /// Of the measured window: virtual seconds hold more transactions than a test needs.
  static constexpr double kSeconds = M::kSingleThreaded ? 0.0005 : 0.05;
  /// So few accounts that nearly all transactions conflict.
  static std::unique_ptr<Session> open() { return open_dummy<M>({{"accounts", "5"}}); }
};

#if defined(__SANITIZE_THREAD__)
using Machines = testing::Types<ThreadsMachine>;  // this build has no virtual machine
#else
using Machines = testing::Types<ThreadsMachine, VirtualMachine>;
#endif
struct MachineNames {
  template <class M>
  static std::string GetName(int /*index*/) {
    return std::string(M::kKind);
  }
};
TYPED_TEST_SUITE(DummyOn, Machines, MachineNames);

TYPED_TEST(DummyOn, RunsUnderBothProtocolsAndSchedules) {
  const auto session = this->open();
  for (const char* protocol : {"dummy", "silo"}) {
    for (const char* admission : {"fifo", "smf"}) {
      SCOPED_TRACE(std::string(protocol) + ", " + admission);
      const RunOptions options{
          .protocol = protocol, .seconds = this->kSeconds, .schedule = {{"policy", admission}}};
      const Result result =
          session_runs::run_until(session_runs::all_types_commit, *session, options);
      EXPECT_TRUE(session_runs::all_types_commit(result));
      for (const std::string& violation : session->check()) ADD_FAILURE() << violation;
    }
  }
}

TYPED_TEST(DummyOn, HasSerializableHistories) {
  for (const char* protocol : {"dummy", "silo"}) {
    SCOPED_TRACE(protocol);
    const auto session = this->open();
    const Verdict verdict = run_checked(
        *session,
        {.protocol = protocol, .seconds = this->kSeconds, .history_bytes = std::size_t{16} << 20},
        [] { return false; });
    EXPECT_GT(verdict.report.transactions, 0U);
    for (const std::string& finding : verdict.findings) ADD_FAILURE() << finding;
  }
}

TYPED_TEST(DummyOn, NamesAWrongOption) {
  EXPECT_EQ(refusal([] { (void)open_dummy<TypeParam>({{"accounts", "1"}}); }),
            "dummy: option 'accounts' is '1'; allowed: an integer from 2 to 1000000");
  EXPECT_EQ(refusal([] { (void)open_dummy<TypeParam>({{"acounts", "9"}}); }),
            "dummy: unknown option 'acounts' (given '9'); valid options: accounts");
  const auto session = this->open();
  const auto refusal_of = [&](const RunOptions& options) {
    return refusal([&] { (void)session_runs::run(*session, options); });
  };
  for (const char* text : {"0", "-1", "2x", ""}) {
    EXPECT_EQ(refusal_of({.protocol = "dummy", .protocol_options = {{"check_every", text}}}),
              "protocol dummy: option 'check_every=" + std::string(text) +
                  "' is not known; valid: " + "check_every=1 or more");
  }
  EXPECT_EQ(refusal_of({.protocol = "dummy", .protocol_options = {{"fast", "1"}}}),
            "protocol dummy: option 'fast=1' is not known; valid: check_every=1 or more");
  EXPECT_EQ(refusal_of({.protocol = "dumy"}).find("protocol 'dumy' is not known; valid: "), 0U);
}

#if !defined(__SANITIZE_THREAD__)
/// Its option has an effect: a protocol that ignored it would pass every other test.
TEST(DummyProtocol, ChecksAsOftenAsItIsSetTo) {
  const auto commits = [](const std::string& check_every) {
    return session_runs::run(*open_dummy<VirtualMachine>({{"accounts", "5"}}),
                             {.protocol = "dummy",
                              .protocol_options = {{"check_every", check_every}},
                              .seconds = 0.0005})
        .commits;
  };
  EXPECT_EQ(commits("1"), commits("1"));
  EXPECT_NE(commits("1"), commits("1000"));
}
#endif

/// Epochs of 1 us, of which three are left.
template <class M>
struct LastEpochs {
  using Opened = WorkloadDatabase<M, Dummy<M>, Registry<DummyProtocol, Silo>>;

  std::shared_ptr<Opened> database = std::make_shared<Opened>(OptionMap{{"accounts", "5"}}, 4);
  std::unique_ptr<Session> session =
      make_session<M>(database, {}, 4, 1, {.kind = std::string(M::kKind)});

  LastEpochs() { database->storage().epochs().skip_to(tid::kLastEpoch - 3); }
};

TYPED_TEST(DummyOn, RunsOnInTheLastEpochAndThenBeginsNoOther) {
  for (const char* protocol : {"dummy", "silo"}) {
    SCOPED_TRACE(protocol);
    const LastEpochs<TypeParam> last;
    const RunOptions options{.protocol = protocol, .seconds = this->kSeconds, .epoch_us = 1};
    EXPECT_GT(session_runs::run(*last.session, options).commits, 0U);
    EXPECT_EQ(last.database->storage().epochs().current(), tid::kLastEpoch);
    EXPECT_TRUE(last.session->check().empty());
    EXPECT_THROW((void)session_runs::run(*last.session, options), std::runtime_error);
  }
}

}  // namespace
}  // namespace heddle
