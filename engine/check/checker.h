#pragma once

#include "check/report.h"
#include "model/isolation.h"
#include "observe/history.h"

namespace heddle::check {

/// Decides whether a history could have been produced by running its transactions one after the
/// other.
///
/// From the order of each row's versions it derives the direct serialization graph (Adya, 1999,
/// §4). The edges of a version are ww to the transaction that overwrote it, wr to those that read
/// it, and rw from these to the transaction that overwrote it. For rows that do not exist there are
/// edges from the transactions that missed them to those that inserted them. A cycle is an anomaly.
/// Without a cycle, anomalies are a read of a version that was never committed (G1a) or was not its
/// writer's last (G1b), a version created twice, and content that is not its version's.
///
/// Time and memory are linear in operations, except for choices: where neither versions nor the
/// clock give the order in which a row was inserted and deleted, each choice costs a bounded
/// search.
///
/// It does not depend on how the engine validates, and shares no code with it.
///
/// A weaker level than `serializable` permits some of the cycles, and leaves the choices open: for
/// it, a row may have been missed before its insert or after its delete, and two lives of a row may
/// have either order.
/// @throws std::invalid_argument if the history is too long
[[nodiscard]] Report check_history(const History& history,
                                   Isolation isolation = Isolation::serializable);

}  // namespace heddle::check
