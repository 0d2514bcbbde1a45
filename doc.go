// Package stepwell is durable execution for Go: a workflow is an ordinary function, every step it takes is recorded in an
// append-only event log, and so the function survives crashes, restarts, deploys and month-long sleeps, and goes on where it
// stopped.
//
//	var Onboard = stepwell.Define("onboard-user", func(ctx stepwell.Context, in Signup) (string, error) {
//		user, err := stepwell.Step(ctx, "create-user", func(ctx context.Context) (User, error) {
//			return users.Create(ctx, in.Email, stepwell.Info(ctx).IdempotencyKey)
//		})
//		if err != nil {
//			return "", err
//		}
//		if err := stepwell.Sleep(ctx, "welcome-delay", 5*time.Minute); err != nil {
//			return "", err
//		}
//		return user.ID, stepwell.Do(ctx, "send-welcome", func(ctx context.Context) error {
//			return mail.Welcome(ctx, user.Email)
//		})
//	})
//
// An [App] works on runs and starts them:
//
//	w, err := sqlite.Open("app.db")
//	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{Onboard}})
//	go app.Run(ctx)
//	run, err := Onboard.Start(ctx, app, Signup{Email: "a@b.c"}, stepwell.Key("user-42"))
//	id, err := run.Result(ctx)
//
// # Waiting
//
// A run waits for time ([Sleep]), for an event that is sent to it ([Event]), for a payload under a token ([NewHook]), for runs
// that it starts ([Workflow.Child]) and for any other ([AwaitRun]). It may wait for months, and holds nothing meanwhile: no slot,
// no goroutine. [Select] and [Race] wait for the first of several.
//
// # Operating
//
// [App.Why] tells why a run does not move, [App.List] and [App.Events] what there is; [App.Cancel], [App.Pause], [App.Resume] and
// [App.Wake] act on it. The command stepwell does the same in a terminal.
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
//
// Code that breaks the rules is found when a run is replayed: the run is blocked, with the difference and its line, and nothing
// is lost. [Config].Strict finds it at once.
package stepwell
