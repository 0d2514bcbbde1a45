package vet

// The rules: what they are called, and which part of the page of rules has them.

// rule is one of those that an analyzer holds workflow code to.
type rule struct {
	name   string
	about  string // what it forbids, in a sentence
	why    string // what goes wrong where it is broken; "": each message says its own
	anchor string // of docs/rules.md
	far    bool   // counts also where the code of another module does it
}

// see is how messages end: the rule, and where it is told.
func (r *rule) see() string { return " (" + r.name + ": docs/rules.md#" + r.anchor + ")" }

// page is where the rules are told.
const page = "https://github.com/stepwell/stepwell/blob/main/docs/rules.md"

// The rules by their names, which are those of their analyzers.
var (
	ruleTime        = &rule{"time", "clocks and timers", "replay sees another time", "time-and-randomness", true}
	ruleRandom      = &rule{"random", "randomness and generated IDs", "replay draws another value", "time-and-randomness", true}
	ruleEnvironment = &rule{"environment", "the environment, the process and the machine", "it may differ where the run goes on", "globals-and-io", true}
	ruleFiles       = &rule{"files", "files", "they may have changed when the run goes on", "globals-and-io", true}
	ruleNetwork     = &rule{"network", "the network", "replay would send it again, and hear something else", "globals-and-io", true}
	ruleDatabase    = &rule{"database", "databases", "replay would ask again, and read something else", "globals-and-io", true}
	ruleGlobals     = &rule{"globals", "variables that others change", "it may hold something else when the run goes on", "conditions", false}
	ruleLogging     = &rule{"logging", "logs that replay repeats", "replay writes it again", "1-between-steps-the-code-must-be-deterministic", false}
	ruleGoroutines  = &rule{"goroutines", "goroutines", "the order in which goroutines get to run is nobody's to repeat", "goroutines", false}
	ruleChannels    = &rule{"channels", "channels and select", "what is ready first is nobody's to repeat", "goroutines", false}
	ruleLocks       = &rule{"locks", "mutexes, wait groups and conditions", "coroutines of a workflow need no lock, and a lock that is waited for holds all of them", "goroutines", false}
	ruleBackground  = &rule{"background", "contexts of the standard library", "I/O belongs into a step, whose body has a context of its own", "1-between-steps-the-code-must-be-deterministic", false}
	ruleMapOrder    = &rule{"maporder", "the order of a map", "", "map-ranges", false}
	ruleNested      = &rule{"nested", "operations in the body of a step", "", "goroutines", false}
	ruleContext     = &rule{"context", "the workflow's Context where it may not be used", "", "goroutines", false}
	ruleBodyWrites  = &rule{"bodywrites", "variables of the workflow that a step's body changes", "", "4-state-comes-out-of-a-step-by-being-returned", false}
	ruleCaptured    = &rule{"captured", "variables of a loop in functions that run when it has gone on", "", "loop-variables", false}
	ruleChanged     = &rule{"changed", "names and types that no longer go with what runs have recorded", "", "9-running-workflows-keep-the-code-that-they-began-with", false}
	ruleKeys        = &rule{"keys", "idempotency keys that differ with each attempt", "", "2-a-step-may-run-more-than-once-make-it-idempotent", false}
	ruleRoundTrip   = &rule{"roundtrip", "values that JSON does not give back", "", "7-values-make-the-round-trip-through-json", false}
	ruleErrors      = &rule{"unchecked", "errors of operations that nobody looks at", "", "8-wait-for-what-matters", false}
	ruleUnawaited   = &rule{"unawaited", "what is started and not waited for", "", "8-wait-for-what-matters", false}
	ruleLeft        = &rule{"leftbehind", "waits of a loop's rounds that take what later ones wait for", "", "8-wait-for-what-matters", false}
	ruleCancelled   = &rule{"cancelled", "loops that go on when the run is cancelled", "", "8-wait-for-what-matters", false}
	ruleRecovered   = &rule{"recovered", "panics that are swallowed", "", "10-workflow-code-does-not-crash-spin-or-leave", false}
	rulePanics      = &rule{"panics", "code that crashes or leaves", "it blocks the run, or ends the process", "10-workflow-code-does-not-crash-spin-or-leave", false}
	ruleSpins       = &rule{"spins", "long computations", "it holds a run slot and a core, at each replay", "10-workflow-code-does-not-crash-spin-or-leave", false}
	ruleDeferred    = &rule{"deferred", "operations in deferred functions", "", "deferred-functions", false}
	ruleUnbounded   = &rule{"unbounded", "loops whose log grows without end", "", "9-running-workflows-keep-the-code-that-they-began-with", false}
	ruleRegistered  = &rule{"unregistered", "workflows, steps and errors that no App has", "", "7-values-make-the-round-trip-through-json", false}
	ruleAllow       = &rule{"allow", "allowances without a reason, and those that allow nothing", "", "found-before-it-runs", false}
)

// rules are all of them, in the order of the page.
var rules = []*rule{
	ruleTime, ruleRandom, ruleLogging, ruleBackground, ruleGoroutines, ruleChannels, ruleLocks, ruleNested, ruleContext, ruleCaptured, ruleMapOrder,
	ruleEnvironment, ruleFiles, ruleNetwork, ruleDatabase, ruleGlobals, ruleKeys, ruleBodyWrites, ruleRoundTrip, ruleRegistered,
	ruleErrors, ruleUnawaited, ruleLeft, ruleCancelled, ruleUnbounded, ruleChanged, rulePanics, ruleSpins, ruleRecovered, ruleDeferred, ruleAllow,
}

// ruleNamed is the rule of a name, or nil.
func ruleNamed(name string) *rule {
	for _, r := range rules {
		if r.name == name {
			return r
		}
	}
	return nil
}
