// The compiled module engine._engine: thin bindings, no logic.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "check/copied_trial.h"
#include "check/trial.h"
#include "driver/copied_run.h"
#include "driver/machine_options.h"
#include "driver/option_specs.h"
#include "driver/policy_json.h"
#include "driver/session.h"
#include "machine/memory_guard.h"
#include "machine/probe.h"
#include "machine/threads.h"
#include "protocol/compiled_policy.h"
#include "protocol/policy.h"
#include "python/classifier.h"
#include "python/columns.h"
#include "python/history.h"
#include "python/recorded_trace.h"
#include "python/schedule.h"
#include "schedule/admission/options.h"
#include "schedule/classifier/classifier.h"
#include "store/stores.h"

namespace py = pybind11;

namespace heddle {
namespace {

py::object from_json(const std::string& text) {
  return py::module_::import("json").attr("loads")(text);
}

std::string dump_json(const py::object& value) {
  return py::module_::import("json").attr("dumps")(value).cast<std::string>();
}

/// Whether Ctrl-C was pressed: recorded by the caller, not raised, so that the measurements are
/// kept. Called without the interpreter lock.
bool ctrl_c() {
  const py::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() == 0) return false;
  PyErr_Clear();
  return true;
}

/// A policy, checked and compiled.
struct PolicyHandle {
  std::shared_ptr<const CompiledPolicy> compiled;
};

PolicyHandle make_policy(const std::string& text, const py::object& signature) {
  return {std::make_shared<const CompiledPolicy>(
      parse_policy(text, parse_signature(dump_json(signature))))};
}

/// Per type: whether it runs as plain Silo, and whether others wait for its progress.
py::dict needs(const PolicyHandle& policy) {
  const Signature& signature = policy.compiled->policy().signature;
  py::dict types;
  for (int type = 0; type < policy.compiled->type_count(); ++type) {
    const CompiledType& compiled = policy.compiled->type(type);
    py::dict entry;
    entry["native"] = compiled.native;
    entry["announces"] = compiled.announces;
    types[py::str(signature.types[static_cast<std::size_t>(type)].name)] = entry;
  }
  return types;
}

/// Applies the policy's own schedule to options that do not name one.
RunOptions with_own_schedule(RunOptions options) {
  if (options.schedule.empty() && options.policy != nullptr) {
    options.schedule = schedule_options(options.policy->policy());
  }
  return options;
}

/// Sets the history size of a trial in options that do not name one.
RunOptions recorded(RunOptions options) {
  if (options.history_bytes == 0) options.history_bytes = Trial().history_bytes;
  return options;
}

struct SessionHandle {
  SessionHandle(const OptionMap& workload, int workers, std::uint64_t seed,
                const OptionMap& machine) {
    const py::gil_scoped_release release;
    session = open_session(workload, workers, seed, parse_machine(machine));
  }

  /// Raises KeyboardInterrupt if it was interrupted, because there is no result then.
  py::object run_trial(const RunOptions& given, double finish_s) {
    const RunOptions options = recorded(with_own_schedule(given));
    std::string json;
    bool signalled = false;
    {
      const py::gil_scoped_release release;
      json = check_on_copy(*session, options, finish_s,
                           [&signalled] { return signalled = signalled || ctrl_c(); });
    }
    if (signalled) {
      PyErr_SetNone(PyExc_KeyboardInterrupt);
      throw py::error_already_set();
    }
    return from_json(json);
  }

  py::object run(const RunOptions& given, bool on_copy, bool check) {
    const RunOptions options = with_own_schedule(given);
    std::string json;
    std::shared_ptr<const RecordedTrace> trace;
    bool signalled = false;
    {
      const py::gil_scoped_release release;
      const auto interrupted = [&signalled] { return signalled = signalled || ctrl_c(); };
      if (on_copy) {
        try {
          json = run_on_copy(*session, options, check, interrupted);
        } catch (const StuckError&) {
          if (!signalled) throw;  // otherwise nothing has been measured
        }
      } else {
        try {
          Result measured = session->run(options, interrupted);
          if (check && !signalled) {
            measured.violations = session->check();
            (void)interrupted();
          }
          json = measured.to_json();
          trace = measured.trace;
        } catch (const std::runtime_error&) {
          if (!signalled) throw;  // otherwise it was interrupted before it measured anything
        }
      }
    }
    py::object result = json.empty() ? py::none() : from_json(json);
    if (trace != nullptr) result["trace"] = RecordedTraceHandle{std::move(trace)};
    if (signalled) {
      const py::object type = py::module_::import("engine._engine").attr("Interrupted");
      py::object error = type("the run was interrupted");
      error.attr("result") = result;
      PyErr_SetObject(type.ptr(), error.ptr());
      throw py::error_already_set();
    }
    return result;
  }

  std::unique_ptr<Session> session;
};

/// Options with the fields given as keywords, and defaults for the rest.
RunOptions make_run_options(const py::kwargs& given) {
  RunOptions options;
  const py::object fields = py::cast(&options, py::return_value_policy::reference);
  for (const auto& [key, value] : given) {
    const auto name = key.cast<std::string>();
    if (!py::hasattr(fields, name.c_str())) {
      throw py::type_error("RunOptions has no field '" + name + "'; help(RunOptions) lists them");
    }
    try {
      fields.attr(name.c_str()) = value;
    } catch (py::error_already_set&) {
      throw py::type_error("RunOptions: field '" + name + "' can't be " +
                           py::repr(value).cast<std::string>() + "; help(RunOptions) describes it");
    }
  }
  return options;
}

void bind_errors(py::module_& module) {
  // PolicyError first: translators are tried from the last registered on.
  static py::exception<StuckError> engine_error(module, "EngineError", PyExc_RuntimeError);
  static py::exception<PolicyError> policy_error(module, "PolicyError", PyExc_ValueError);
  module.attr("Interrupted") = py::reinterpret_steal<py::object>(PyErr_NewExceptionWithDoc(
      "engine.Interrupted", "A run was interrupted; `.result` holds the measurements so far.",
      PyExc_KeyboardInterrupt, nullptr));
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const PolicyError& error) {
      py::set_error(policy_error, error.what());
    } catch (const StuckError& error) {
      py::set_error(engine_error, error.what());
    }
  });
}

void bind_policy(py::module_& module) {
  py::class_<PolicyHandle>(module, "Policy",
                           "A policy table, validated against a workload's signature and compiled.")
      .def(py::init(&make_policy), py::arg("json_text"), py::arg("signature"),
           "Validates a policy document.\n\nRaises:\n    PolicyError: the document is invalid; "
           "names the row, the field and the valid values.")
      .def_property_readonly(
          "json", [](const PolicyHandle& policy) { return to_json(policy.compiled->policy()); },
          "The canonical document: equal policies give equal texts, one row per line.")
      .def_property_readonly(
          "name", [](const PolicyHandle& policy) { return policy.compiled->policy().name; })
      .def_property_readonly("needs", &needs,
                             "Per type: `native` (runs as Silo, no access lists) and `announces` "
                             "(others wait for its progress).");
}

std::vector<PlannedSwitch> planned(
    const std::vector<std::pair<double, const PolicyHandle*>>& switches) {
  std::vector<PlannedSwitch> all;
  for (const auto& [at_s, policy] : switches) all.push_back({at_s, policy->compiled});
  return all;
}

std::vector<std::pair<double, PolicyHandle>> planned(const std::vector<PlannedSwitch>& switches) {
  std::vector<std::pair<double, PolicyHandle>> all;
  for (const auto& [at_s, policy] : switches) all.push_back({at_s, {policy}});
  return all;
}

void bind_run_options(py::module_& module) {
  py::class_<RunOptions>(module, "RunOptions",
                         "The options of a run. Times are in seconds unless a name says otherwise.")
      .def(py::init(&make_run_options),
           "Takes any of the fields by keyword.\n\nRaises:\n    TypeError: a field does not exist.")
      .def_readwrite("protocol", &RunOptions::protocol, "One of `protocols()`.")
      .def_readwrite("protocol_options", &RunOptions::protocol_options,
                     "Options of the protocol, all as text.")
      .def_property(
          "policy",
          [](const RunOptions& self) {
            return self.policy == nullptr ? std::optional<PolicyHandle>()
                                          : PolicyHandle{self.policy};
          },
          [](RunOptions& self, const PolicyHandle* policy) {
            self.policy = policy == nullptr ? nullptr : policy->compiled;
          },
          "The policy, for protocols that execute one; else None.")
      .def_readwrite("backoff", &RunOptions::backoff,
                     "After an abort: `none`, `exponential`, `static` or `policy`.")
      .def_readwrite("backoff_us", &RunOptions::backoff_us,
                     "The wait of `static`, in microseconds.")
      .def_readwrite("seconds", &RunOptions::seconds, "The length of the measured window.")
      .def_readwrite("warmup", &RunOptions::warmup, "The time before the window.")
      .def_readwrite("seed", &RunOptions::seed, "The seed of the inputs.")
      .def_readwrite(
          "exclusive_after", &RunOptions::exclusive_after,
          "The number of aborts after which no other transaction begins an attempt until "
          "this one has committed; 0: never.")
      .def_readwrite("watchdog_s", &RunOptions::watchdog_s,
                     "The longest time that a worker may take to end an attempt.")
      .def_readwrite("epoch_us", &RunOptions::epoch_us, "The length of an epoch, in microseconds.")
      .def_readwrite("schedule", &RunOptions::schedule,
                     "Options of the admission policy (`option_specs(\"schedule\")`), all as text; "
                     "empty: the policy's own, or transactions start as they are drawn.")
      .def_readwrite("timeline_events", &RunOptions::timeline_events,
                     "The most events of the window to record: the result has a `timeline` "
                     "(engine/observe/recorded_timeline.h).")
      .def_property(
          "timeline_share", [](const RunOptions& self) { return self.timeline_sampling.share; },
          [](RunOptions& self, double share) { self.timeline_sampling.share = share; },
          "The share of the time whose transactions the `timeline` has, above 0, real cores only.")
      .def_property(
          "timeline_skipped_states",
          [](const RunOptions& self) { return self.timeline_sampling.skipped_states; },
          [](RunOptions& self, const std::vector<std::uint32_t>& states) {
            self.timeline_sampling.skipped_states = states;
          },
          "The states whose accesses the `timeline` leaves out, real cores only.")
      .def_readwrite("timeline_packed", &RunOptions::timeline_packed,
                     "Whether the `timeline` has its events as one text, for long recordings.")
      .def_readwrite("history_bytes", &RunOptions::history_bytes,
                     "The most bytes of history to record; the run ends at this limit.")
      .def_readwrite("trace_bytes", &RunOptions::trace_bytes,
                     "The most bytes of a trace to record, warm-up included, real cores only: the "
                     "result has a `trace`, a RecordedTrace. The run ends at this limit.")
      .def_readwrite("intervals", &RunOptions::intervals,
                     "The number of equal parts of the window that are counted separately: the "
                     "result has `intervals`.")
      .def_property(
          "switches", [](const RunOptions& self) { return planned(self.switches); },
          [](RunOptions& self,
             const std::vector<std::pair<double, const PolicyHandle*>>& switches) {
            self.switches = planned(switches);
          },
          "Pairs of a time, since the start of the window, and the policy to switch to then: the "
          "result's `switches` have the actual times.");
}

void bind_session(py::module_& module) {
  py::class_<SessionHandle>(module, "Session",
                            "A loaded database that runs transactions, one run at a time.")
      .def(py::init<const OptionMap&, int, std::uint64_t, const OptionMap&>(), py::arg("workload"),
           py::arg("workers"), py::arg("seed") = 1, py::arg("machine") = OptionMap{},
           "Builds and loads the database of a workload (`name` and its options, all as text), on "
           "a machine (`kind` and its options, also as text; by default real "
           "threads).\n\nRaises:\n    ValueError: an option is unknown or out of range.")
      .def("run", &SessionHandle::run, py::arg("options"), py::arg("on_copy") = false,
           py::arg("check") = false,
           "Runs the workload for a measured window and returns its result. The interpreter lock "
           "is released.\n\n`on_copy` (virtual machine only) leaves the database as it was loaded: "
           "the same run gives the same result. `check` adds `violations`, the consistency "
           "conditions that do not hold after the run.\n\nRaises:\n    Interrupted: Ctrl-C; "
           "`.result` holds the measurements so far.\n    EngineError: a worker made no progress; "
           "the message says which worker waits for which.\n    ValueError: inconsistent options.")
      .def("run_trial", &SessionHandle::run_trial, py::arg("options"), py::arg("finish_s") = 120.0,
           "Records and checks a run on a copy of the database (virtual machine only), which stays "
           "as it was loaded.\n\nReturns the result of the function `run_trial` without the "
           "history. A process that dies, or does not answer within `finish_s`, is a "
           "finding.\n\nRaises:\n    KeyboardInterrupt: Ctrl-C.\n    ValueError: inconsistent "
           "options.")
      .def(
          "switch_policy",
          [](SessionHandle& self, const PolicyHandle& policy) {
            const py::gil_scoped_release release;
            self.session->switch_policy(policy.compiled);
          },
          py::arg("policy"),
          "Switches the running policy executor to another policy, from another thread.")
      .def(
          "stop", [](SessionHandle& self) { self.session->stop(); },
          "Ends the current run early, from another thread.")
      .def(
          "check",
          [](SessionHandle& self) {
            const py::gil_scoped_release release;
            return self.session->check();
          },
          "The workload's consistency conditions: one line per violation.")
      .def(
          "draw_hints",
          [](SessionHandle& self, std::size_t transactions, std::uint64_t seed) {
            DrawnHints drawn;
            {
              const py::gil_scoped_release release;
              drawn = self.session->draw_hints(transactions, seed);
            }
            const auto [states, keys] = columns(drawn.hints);
            return py::make_tuple(to_array(drawn.types), to_array(drawn.counts), states, keys);
          },
          py::arg("transactions"), py::arg("seed") = 1,
          "Draws transactions without running them, and returns the hints that they would pass "
          "before they start.\n\nReturns:\n    (types, counts, states, keys): the type and the "
          "number of hints of each transaction, then the state and key of each hint. All empty if "
          "the workload's transactions pass no hints.")
      .def_property_readonly(
          "grown_bytes", [](const SessionHandle& self) { return self.session->grown_bytes(); },
          "The bytes by which the database has grown since it was loaded.")
      .def_property_readonly(
          "memory_bytes", [](const SessionHandle& self) { return self.session->memory_bytes(); },
          "The bytes that the database holds from the system.");
}

/// A trial with Python's arguments, and its result.
py::dict trial(const OptionMap& workload, int workers, std::uint64_t seed, const OptionMap& machine,
               const RunOptions& options, const std::vector<const PolicyHandle*>& switches,
               const std::string& isolation) {
  const RunOptions run = recorded(with_own_schedule(options));
  Trial one{.workload = workload,
            .workers = workers,
            .seed = seed,
            .machine = parse_machine(machine),
            .run = run,
            .history_bytes = run.history_bytes,
            .isolation = isolation_named(isolation)};
  for (const PolicyHandle* policy : switches) one.switches.push_back(policy->compiled);
  Verdict verdict;
  bool signalled = false;
  {
    const py::gil_scoped_release release;
    verdict = run_trial(one, [&signalled] { return signalled = signalled || ctrl_c(); });
  }
  if (signalled) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw py::error_already_set();
  }
  py::dict told;
  told["findings"] = verdict.findings;
  told["grown_bytes"] = verdict.grown_bytes;
  told["report"] = from_json(verdict.report.to_json());
  told["history"] = verdict.result.history == nullptr
                        ? py::none()
                        : py::cast(HistoryHandle{verdict.result.history});
  return told;
}

void bind_trial(py::module_& module) {
  module.def("run_trial", &trial, py::arg("workload"), py::arg("workers"), py::arg("seed"),
             py::arg("machine"), py::arg("options"),
             py::arg("switches") = std::vector<const PolicyHandle*>{},
             py::arg("isolation") = "serializable",
             "Loads a database, runs a workload on it, records the reads and writes of every "
             "transaction, and checks them.\n\n`seed` is also that of the inputs. `switches` are "
             "policies given to the running executor one after the other. `isolation` is what the "
             "history must satisfy: `serializable`, `snapshot` or `read_committed`.\n\nReturns "
             "`findings`, a "
             "text for each error; `report`, the checker's counts; `grown_bytes`, the database's "
             "growth after reclamation; `history`, or None if a worker was stuck.\n\nRaises:\n    "
             "KeyboardInterrupt: Ctrl-C.\n    ValueError: inconsistent options.");
}

void bind_option_specs(py::module_& module) {
  py::class_<OptionSpec>(module, "OptionSpec", "The declaration of one option.")
      .def_readonly("name", &OptionSpec::name)
      .def_property_readonly(
          "kind", [](const OptionSpec& self) { return to_string(self.kind); },
          "`integer`, `real`, `flag`, `choice`, `text` or `names`.")
      .def_readonly("default", &OptionSpec::fallback, "None: the sentence states what holds then.")
      .def_readonly("least", &OptionSpec::least, "Of a number with a range; else None.")
      .def_readonly("most", &OptionSpec::most, "Of a number with a range; else None.")
      .def_readonly("choices", &OptionSpec::choices,
                    "The only valid values; empty: the kind and the range decide.")
      .def_readonly("sentence", &OptionSpec::sentence, "What the option does.");
  module.def(
      "option_specs", &option_specs, py::arg("group"), py::arg("name") = "",
      "Returns the declarations of the options of a group: of the workload or machine called "
      "`name` (groups `workload` and `machine`), of `machine/costs`, or of "
      "`schedule`.\n\nRaises:\n    ValueError: there is no such group, workload or machine.");
  module.attr("backoff_initials_us") = py::tuple(
      py::cast(std::vector<double>(kBackoffInitialsUs.begin(), kBackoffInitialsUs.end())));
  module.attr("backoff_alphas") =
      py::tuple(py::cast(std::vector<double>(kBackoffAlphas.begin(), kBackoffAlphas.end())));
}

void bind_probe(py::module_& module) {
  py::module_ probes = module.def_submodule(
      "probe", "Measures hardware costs in nanoseconds: see engine/machine/probe.h.");
  using Release = py::call_guard<py::gil_scoped_release>;
  probes.def("load_ns", &probe::load_ns, py::arg("bytes"), Release(),
             "A load that depends on the previous one, over a memory of that many bytes.");
  probes.def("independent_load_ns", &probe::independent_load_ns, py::arg("bytes"), Release(),
             "A load that is independent of others, over a memory of that many bytes.");
  probes.def("transfer_ns", &probe::transfer_ns, py::arg("one"), py::arg("other"), Release(),
             "The transfer of a line from one core to another.\n\nRaises:\n    ValueError: there "
             "are no such cores.");
  probes.def("atomic_ns", &probe::atomic_ns, Release(),
             "A locked instruction, in excess of a load.");
  probes.def("pause_ns", &probe::pause_ns, Release(), "One pause of a spinning wait.");
  probes.def("stream_ns", &probe::stream_ns, py::arg("bytes"), Release(),
             "Each line of a copy after its first, from a memory of that many bytes.");
}

void bind_memory(py::module_& module) {
  using Files = std::tuple<std::string, std::string, std::uint64_t>;
  module.def(
      "guard_memory",
      [](std::uint64_t reserve_bytes, const std::vector<Files>& groups) {
        std::vector<MemoryGroup> limited;
        for (const auto& [usage, stat, limit] : groups) limited.push_back({usage, stat, limit});
        guard_memory(reserve_bytes, std::move(limited));
      },
      py::arg("reserve_bytes"), py::arg("groups") = std::vector<Files>{},
      "From here on, `Session` raises MemoryError and runs end early once less memory than the "
      "reserve is left (0: memory is not watched).\n\n`groups` are the control groups that limit "
      "this process: for each the file of its usage in bytes, the file of its statistics, and its "
      "limit.");
  module.def("memory_left", &memory_left,
             "Returns the bytes that this process may still allocate: the least of what the "
             "system, the groups of `guard_memory` and the limit of its address space leave.");
}

}  // namespace
}  // namespace heddle

PYBIND11_MODULE(_engine, module) {
  using namespace heddle;
  module.doc() = "Heddle's transaction engine.";
  module.attr("version") = HEDDLE_VERSION;
#if defined(__clang__)
  module.attr("compiler") = __VERSION__;
#else
  module.attr("compiler") = "GCC " __VERSION__;
#endif
  bind_errors(module);
  bind_policy(module);
  bind_run_options(module);
  bind_session(module);
  // An interrupted command exits without destructors, but calls these functions.
  py::module_::import("atexit").attr("register")(
      py::cpp_function(&store::close_stores, py::call_guard<py::gil_scoped_release>()));
  bind_history(module);
  bind_schedule(module);
  bind_classifier(module);
  bind_recorded_trace(module);
  bind_trial(module);
  bind_option_specs(module);
  bind_probe(module);
  bind_memory(module);
  module.def("workloads", &workload_names, "Returns the workloads that this build can run.");
  module.def("protocols", &protocol_names, "Returns the protocols that this build can run.");
  module.def("machines", &machine_names, "Returns the machines that this build can run on.");
  module.def(
      "check_protocol",
      [](const std::string& protocol, const OptionMap& options, const py::object& signature) {
        if (signature.is_none()) return check_protocol(protocol, options);
        const Signature workload = parse_signature(dump_json(signature));
        check_protocol(protocol, options, &workload);
      },
      py::arg("protocol"), py::arg("options"), py::arg("signature") = py::none(),
      "Checks the options of a protocol; with the signature of a workload also those that depend "
      "on it.\n\nRaises:\n    ValueError: there is no such protocol, option or value.");
  module.def(
      "check_schedule",
      [](const OptionMap& schedule, const py::object& signature) {
        const auto options = admission::Options::parse(schedule);
        if (options.classifier.empty() || signature.is_none()) return;
        (void)classifier::Classifier::parse(options.classifier,
                                            parse_signature(dump_json(signature)));
      },
      py::arg("schedule"), py::arg("signature") = py::none(),
      "Checks an admission policy's options without using them; with the signature of a workload "
      "also its classifier.\n\nRaises:\n    ValueError: an option is unknown or out of range.");
  module.def(
      "check_machine", [](const OptionMap& machine) { (void)parse_machine(machine); },
      py::arg("machine"),
      "Checks a machine's options without using them.\n\nRaises:\n    ValueError: an option is "
      "unknown or out of range.");
  module.def("cores", &ThreadsMachine::cores,
             "Returns the number of cores that this process may use.");
  module.def(
      "signature",
      [](const OptionMap& workload) { return from_json(to_json(workload_signature(workload))); },
      py::arg("workload"),
      "Returns the signature of a workload (`name` and its options): its types and accesses.");
}
