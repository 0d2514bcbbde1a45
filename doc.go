// Package stepwell is durable execution for Go. A workflow is an ordinary function. An append-only
// event log records every step that it takes. So the function survives crashes, restarts, deploys
// and sleeps of months, and continues where it stopped.
//
//	var Onboard = stepwell.Define("onboard-user", onboardUser)
//
//	func onboardUser(ctx stepwell.Context, in Signup) (string, error) {
//		user, err := stepwell.Call(ctx, "create-user", users.Create, in)
//		if err != nil {
//			return "", err
//		}
//		if err := stepwell.Sleep(ctx, "welcome-delay", 5*time.Minute); err != nil {
//			return "", err
//		}
//		return user.ID, stepwell.Exec(ctx, "send-welcome", mail.Welcome, user.Email)
//	}
//
// [Main] is a whole worker program: it runs workflows until it is interrupted. Runs are kept in a
// store, which the API calls a world: a SQLite file, a PostgreSQL database, or memory. A worker
// claims a run before it works on it: no other worker works on the run until the first releases it,
// or its lease ends. An [App] starts and runs workflows within a program of your own:
//
//	w, err := sqlite.Open("app.db")
//	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{Onboard}})
//	go app.Run(ctx) // works until ctx ends, then drains
//	run, err := Onboard.Start(ctx, app, Signup{Email: "a@b.c"}, stepwell.Key("user-42"))
//	id, err := run.Result(ctx)
//
// # Steps
//
// Side effects belong in steps. [Call] and [Exec] run an existing function as a step; [Step] and
// [Do] run a closure. [DefineStep] makes a step that any worker can run from its recorded input.
//
// A completed step never runs again. If the process dies during a step, the step runs again. So
// give systems that must not act twice an idempotency key: see [Step]. A failed step is tried again as its [Retry] says. [Fatal],
// [RetryAfter] and [NonRetryable] change that for single errors, and [Timeout] limits an attempt. A
// step that fails for good returns a [*StepError]. [Transactional] steps commit together with their
// writes to the application's own tables.
//
// # Waiting
//
// A run can wait for time ([Sleep], [SleepUntil]), for an event sent to it ([Event]), for a payload
// under a token ([NewHook]), for a child run ([Workflow.Child]), for any other run ([AwaitRun]),
// and for its own coroutines ([Await]). It may wait for months. A run that only waits needs no
// slot, goroutine or connection. A worker keeps the functions of some waiting runs in memory, which
// saves replays, and can drop them at any time: see [Config].CacheRuns. Payloads that are sent to a
// run go to its inbox, which keeps them until a wait takes them.
//
// # Concurrency
//
// [Go] runs a coroutine of the workflow. [Map] and [Each] run one for each item, with a limit on
// how many run at once; [MapSettled] continues after a failed item. A [Future] is a result to wait
// for later. [All] waits for all of several futures; [Race] and [Select] wait for the first. Race
// cancels the others, Select does not. [WithCancel] makes a part of a run that can be cancelled
// alone.
//
//	prices, err := stepwell.Map(ctx, []string{"ada", "bob"}, 8, func(ctx stepwell.Context, name string) (int, error) {
//		return stepwell.Step(ctx, "quote", func(ctx context.Context) (int, error) { return len(name), nil })
//	})
//
// # Ending
//
// A workflow that returns an error fails its run for good. [Undo] registers functions that undo its
// steps in that case. In a cancelled run ([App.Cancel]) every wait returns [ErrCancelled]; the code
// cleans up with [Context.Uncancelled]. A workflow that runs for ever continues in segments:
// [ContinueAsNew]. Ended runs are kept for their [Retention].
//
// # Changing code
//
// A run keeps the [Version] of the workflow that it was started with, and a worker can have several
// versions. [Patched] guards a small change within one version. Code that does not match a run's
// log blocks the run and destroys nothing: the run continues once a worker has the right code.
// [App.Check] and package stepwelltest check new code against the logs of old runs before you
// deploy it.
//
// # Operating
//
// [App.Why] says why a run does not move. [App.List] and [App.Events] show runs and logs.
// [App.Story] shows a run as a journal: its steps, waits and hooks in order, with their results.
// [App.Signal], [App.Cancel], [App.Pause], [App.Resume], [App.Wake], [App.Retry], [App.Restart] and
// [App.Fork] change one run; [App.Bulk] changes many. [SetAttribute] publishes the progress of a
// run. [Stream] and [WriteStream] publish output while a run works, and [ReadStream] follows it.
// The command stepwell does the same in a terminal.
//
// # The rules of workflows
//
// When a run continues in another process, its workflow function runs again from the top, with the
// results of steps from the log. So the code between steps must be deterministic: the same results
// must lead to the same next steps.
//
//   - Side effects (I/O, time, randomness, other goroutines) belong in a [Step]. The [Context] has
//     replacements: Now, Rand, NewID.
//   - Concurrency inside a workflow is [Go], [All], [Race], [Select], [Map] and [Await], not go
//     statements, channels and locks.
//   - Do not range over a map if the order decides what the workflow does next.
//   - A step's body may run again after a crash. Make it idempotent with the key in its [StepInfo].
//   - A body returns what it learns. Writes to variables of the workflow are lost at the next
//     replay.
//   - Values make the round trip through JSON.
//
// Replay detects code that asks for other operations than the log has. It blocks the run and
// reports the difference with its line; nothing is lost. It does not detect every broken rule, such
// as a step that is not idempotent. [Config].Strict replays at every wait, and compares inputs too.
package stepwell
