// Package stepwelltest is the test kit for authors of workflows. A test needs no server, no file and no time: workflows
// run on a database in memory, under a clock that stands still until the test lets it go on.
//
//	func TestNudgesAfterAWeek(t *testing.T) {
//		env := stepwelltest.New(t, Onboard)
//		stepwelltest.Return(env, "create-user", User{ID: "usr_ada"})
//
//		run := stepwelltest.Start(env, Onboard, Signup{Email: "ada@example.com"})
//		env.Advance(6 * 24 * time.Hour)
//		run.WantWaiting(stepwell.WhyEvent)
//
//		if got := run.MustComplete(); got != "usr_ada" { // lets the rest of the time pass
//			t.Errorf("got %q, want usr_ada", got)
//		}
//		run.WantSteps("create-user", "send-welcome", "nudge")
//		env.CrashEverywhere() // again, killed at each commit: the same end
//	}
//
// # Steps
//
// A test runs no step's body unless it says so. A step without a result completes at once. A step with a result needs a
// fake: without one the test fails, and prints the line to add.
//
//   - [Return] gives a step its result.
//   - [Env.Fail] gives a step its error.
//   - [Fake] and [FakeStep] run a function of the test's. They are for steps that behave differently from attempt to
//     attempt.
//   - [Options].RealSteps runs the bodies of all steps that have no fake.
//
// A fake stands for all steps of its name. An undo is a step, too. A fake that no step uses is no failure; each failure
// lists them. With RealSteps it is one: a misspelt fake would let the real body run.
//
// To fake a child workflow, give [New] another definition of its name.
//
// # Time
//
// A test begins at midnight UTC, 2000-01-01, or at [Options].Start. The clock stands still. [Env.Advance] lets time
// pass. [Run.MustComplete] and its sisters wait for a run's end, and time passes as far as that. Each call returns when
// nothing more can happen without time. So a year of sleeps takes a millisecond.
//
// Steps live under the same clock, which is that of testing/synctest. The test itself does not: it asks [Env.Now].
//
// # Determinism
//
// The kit replays each run at every wait and before its end, as [stepwell.Config].Strict does. A run that breaks the
// rules of workflows is blocked. A run that is blocked at the end of the test fails it. What is random in a workflow,
// IDs included, is the same each time the test runs.
//
// # Crashes
//
// [Env.CrashEverywhere] repeats what the test has done, and kills the worker before and after each of its commits in
// turn. A step that was killed runs again. So it finds workflows whose end depends on how often a body ran.
//
// # Stores
//
// [Options].Store runs a test on the database of production: SQLite with package sqlitetest, PostgreSQL with package
// postgrestest. Time is virtual there, too.
//
// # Deploys
//
// [Replay] evaluates today's code against the history of a run in production. A change that no longer fits runs under
// way then fails a test and not a deploy:
//
//	stepwell export wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4 > testdata/histories/ada.jsonl
//
//	func TestRunsUnderWayGoOn(t *testing.T) {
//		stepwelltest.Replay(t, "testdata/histories/ada.jsonl", Onboard)
//	}
package stepwelltest
