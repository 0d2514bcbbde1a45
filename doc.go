// Package stepwell is durable execution for Go: a workflow is an ordinary function, every step it takes is recorded in an
// append-only event log, and so the function survives crashes, restarts, deploys and month-long sleeps, and goes on where it
// stopped.
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
// [Main] is a whole program, which works on runs until it is interrupted; its world is where the runs are: a SQLite file, a PostgreSQL
// database, or memory. An [App] works on runs and starts them:
//
//	w, err := sqlite.Open("app.db")
//	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{Onboard}})
//	go app.Run(ctx) // works until ctx ends, then drains
//	run, err := Onboard.Start(ctx, app, Signup{Email: "a@b.c"}, stepwell.Key("user-42"))
//	id, err := run.Result(ctx)
//
// # Steps
//
// What touches the world is a step: [Call] and [Exec] run a function that you have, [Step] and [Do] a closure, where the workflow runs;
// [DefineStep] makes one that any worker can run from its recorded input. A step that has completed never
// runs again. One whose process died runs again, under the same
// idempotency key ([Info]). One that fails is tried again as its [Retry] says; [Fatal], [RetryAfter] and [NonRetryable] decide
// otherwise, [Timeout] limits an attempt, and in the end its error is a [*StepError]. [Transactional] steps commit together with
// what they write to the application's own tables.
//
// # Waiting
//
// A run waits for time ([Sleep], [SleepUntil]), for an event that is sent to it ([Event]), for a payload under a token ([NewHook]), for
// runs that it starts ([Workflow.Child]), for any other ([AwaitRun]), and for what its own coroutines do ([Await]). It may wait for
// months, and holds nothing meanwhile: no slot, no goroutine.
//
// # Concurrency
//
// [Go] runs code beside code, as a coroutine of the workflow; [Map] and [Each] do so for items, so many at
// once, and [MapSettled] goes on when one fails. What was asked for and can be
// waited for later is a [Future]: [All] waits for all of several, [Race] and [Select] for the first. [Race] cancels what has lost, [Select]
// nothing; [WithCancel] makes a part of a run that can be cancelled by itself.
//
//	prices, err := stepwell.Map(ctx, []string{"ada", "bob"}, 8, func(ctx stepwell.Context, name string) (int, error) {
//		return stepwell.Step(ctx, "quote", func(ctx context.Context) (int, error) { return len(name), nil })
//	})
//
// # Ending
//
// A workflow that returns an error fails its run, which is final; [Undo] says beforehand how its steps are undone then. A run that
// is cancelled ([App.Cancel]) learns it as [ErrCancelled] from whatever it waits for, and cleans up with [Context.Uncancelled]. One that
// goes on for ever does so in segments: [ContinueAsNew]. Ended runs are kept for their [Retention].
//
// # Changing code
//
// A run keeps the [Version] of the workflow that it was started with, and a worker can have several. [Patched] guards a small change
// within one. Code that does not fit a run's log blocks the run and destroys nothing: with the right code it goes on. [App.Check] and
// package stepwelltest hold new code against the logs of old runs, before it is deployed.
//
// # Operating
//
// [App.Why] tells why a run does not move, [App.List], [App.Events] and [App.Story] what there is; [App.Signal], [App.Cancel], [App.Pause],
// [App.Resume], [App.Wake], [App.Retry], [App.Restart] and [App.Fork] act on it, and [App.Bulk] on many. [SetAttribute] shows how far a run
// is; [Stream] and [WriteStream] say what it does while it does it, and [ReadStream] follows. The command stepwell does the same in a
// terminal.
//
// # The rules of workflows
//
// The workflow function runs again, from the top, whenever its run goes on in another process: what steps returned comes from the
// log then. So it must be deterministic between steps: the same results lead to the same next steps.
//
//   - Whatever touches the world (I/O, time, randomness, other goroutines) belongs into a [Step], or comes from the [Context]:
//     Now, Rand, NewID.
//   - Concurrency inside a workflow is [Go], [All], [Race], [Select], [Map] and [Await], not go statements, channels and locks.
//   - Do not range over maps where the order decides what is asked for.
//   - A step's body may run again after a crash: make it idempotent with the key in its [StepInfo].
//   - What a body learns it returns. What it writes to variables of the workflow is lost at the next replay.
//   - Values make the round trip through JSON.
//
// Code that breaks the rules is found when a run is replayed: the run is blocked, with the difference and its line, and nothing
// is lost. [Config].Strict finds it at once.
package stepwell
