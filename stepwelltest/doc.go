// Package stepwelltest is the test kit for authors of workflows. A test needs no server, no file and no time: workflows run on a
// world in memory, under a clock that stands still until the test lets it go on.
//
//	func TestNudgesAfterAWeek(t *testing.T) {
//		env := stepwelltest.New(t, Onboard)
//		stepwelltest.Fake(env, "create-user", func(context.Context) (User, error) {
//			return User{ID: "usr_ada"}, nil
//		})
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
// # Time
//
// It is midnight UTC, 2000-01-01, and stays so until [Env.Advance] lets time pass, or [Run.MustComplete] and its sisters wait for a
// run's end. Each call returns when nothing more can happen without time. So a year of sleeps takes a millisecond, and a test never
// waits for a moment. Bodies of steps live under the same clock (it is that of testing/synctest); the test itself does not: it asks
// [Env.Now].
//
// # Steps
//
// Steps run their own bodies, unless [Fake], [FakeDo] or [FakeStep] has put something in their place. [Env.FakesOnly] makes sure
// that no step does what it does in production. A child workflow is faked by giving [New] another definition of its name.
//
// # Determinism
//
// Each run is replayed beside itself at every suspension and before its end, and must have asked for the same and come to the same, as
// [stepwell.Config].Strict has it. Code that breaks the rules of workflows blocks its run, and a run that is blocked at the end of the test fails it, whether the test looks or not. What is random in a
// workflow, IDs included, is the same in each run of the test.
//
// # Crashes
//
// [Env.CrashEverywhere] does what the test has done again and again, and kills the worker before and after each of its commits in
// turn. A killed step runs again: this finds workflows whose end depends on how often a body ran.
//
// # Stores
//
// A test that has to hold on the database of production runs there, by [NewOn]: on SQLite with package sqlitetest, on PostgreSQL with
// package postgrestest. Time is virtual there, too.
//
// # Deploys
//
// [Replay] evaluates today's code against the history of a run in production, so that a change that no longer fits runs under way
// fails a test and not a deploy:
//
//	stepwell export wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4 > testdata/ada.jsonl
//
//	func TestRunsUnderWayGoOn(t *testing.T) {
//		stepwelltest.Replay(t, "testdata/ada.jsonl", Onboard)
//	}
package stepwelltest
