package stepwell_test

// Examples of hooks: payloads from outside, under a token.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell"
)

// Payloads, one after the other, as they come. The hook is closed by the one that says so.
func ExampleHook_All() {
	chat := stepwell.Define("chat", func(ctx stepwell.Context, room string) ([]string, error) {
		hook, err := stepwell.NewHook[string](ctx, stepwell.Token("room-"+room))
		if err != nil {
			return nil, err
		}
		var lines []string
		for line, err := range hook.All(ctx) {
			if err != nil {
				return lines, err // the run was cancelled
			}
			if line == "bye" {
				break
			}
			lines = append(lines, line)
		}
		return lines, hook.Dispose(ctx)
	})
	app, stop := exampleApp(chat)
	defer stop()
	ctx := context.Background()
	run, _ := chat.Start(ctx, app, "7")
	waitsFor(app, run.ID(), stepwell.WhyHook)
	for _, line := range []string{"hello", "anybody?", "bye"} {
		payload, _ := json.Marshal(line)
		if err := app.SendHook(ctx, "room-7", payload); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(run.Result(ctx))
	// Output: [hello anybody?] <nil>
}

// Whoever looks at the roof says now and then that they are still there. Where nobody does, the code goes on.
func ExampleApp_HeartbeatHook() {
	survey := stepwell.Define("survey", func(ctx stepwell.Context, house string) (string, error) {
		hook, err := stepwell.NewHook[string](ctx, stepwell.Token("survey-"+house), stepwell.HeartbeatTimeout(10*time.Minute))
		if err != nil {
			return "", err
		}
		report, _, err := hook.Wait(ctx)
		if errors.Is(err, stepwell.ErrHeartbeat) {
			return "somebody else has to look", nil
		}
		return report, err
	})
	app, stop := exampleApp(survey)
	defer stop()
	ctx := context.Background()
	run, _ := survey.Start(ctx, app, "7")
	waitsFor(app, run.ID(), stepwell.WhyHook)
	fmt.Println(app.HeartbeatHook(ctx, "survey-7", map[string]int{"tiles": 40}))
	fmt.Println(app.SendHook(ctx, "survey-7", json.RawMessage(`"it is tight"`)))
	fmt.Println(run.Result(ctx))
	// Output:
	// <nil>
	// <nil>
	// it is tight <nil>
}

// An approval with a deadline.
func ExampleHook_Wait() {
	approve := stepwell.Define("approve", func(ctx stepwell.Context, order string) (string, error) {
		hook, err := stepwell.NewHook[bool](ctx, stepwell.Named("approval"), stepwell.Token("approve-"+order))
		if err != nil {
			return "", err
		}
		yes, ok, err := hook.Wait(ctx, stepwell.Timeout(2*time.Millisecond))
		switch {
		case err != nil:
			return "", err // the run was cancelled
		case !ok:
			return "nobody answered", nil
		}
		return fmt.Sprint("answered: ", yes), nil
	})
	app, stop := exampleApp(approve)
	defer stop()
	run, _ := approve.Start(context.Background(), app, "7")
	fmt.Println(run.Result(context.Background()))
	// Output: nobody answered <nil>
}

// The next payload, or the end of the patience.
func ExampleHook_Start() {
	ask := stepwell.Define("ask", func(ctx stepwell.Context, _ int) (string, error) {
		hook, err := stepwell.NewHook[string](ctx)
		if err != nil {
			return "", err
		}
		first, err := stepwell.Select(ctx, hook.Start(ctx), stepwell.Timer(ctx, "patience", 2*time.Millisecond))
		if err != nil || first == 0 {
			return "answered", err
		}
		return "nobody answered", hook.Dispose(ctx)
	})
	app, stop := exampleApp(ask)
	defer stop()
	run, _ := ask.Start(context.Background(), app, 0)
	fmt.Println(run.Result(context.Background()))
	// Output: nobody answered <nil>
}

// Behind Dispose the token is free, and a payload is received no more.
func ExampleHook_Dispose() {
	once := stepwell.Define("once", func(ctx stepwell.Context, _ int) (bool, error) {
		hook, err := stepwell.NewHook[string](ctx, stepwell.Token("door"))
		if err != nil {
			return false, err
		}
		if err := hook.Dispose(ctx); err != nil {
			return false, err
		}
		_, _, err = hook.Wait(ctx)
		return errors.Is(err, stepwell.ErrNotFound), nil
	})
	app, stop := exampleApp(once)
	defer stop()
	ctx := context.Background()
	run, _ := once.Start(ctx, app, 0)
	fmt.Println(run.Result(ctx))
	fmt.Println(app.Hooks(ctx, "", "door"))
	// Output:
	// true <nil>
	// [] <nil>
}

// A token that nobody chose, and nobody guesses: for a link in a mail.
func ExampleHook_Token() {
	mail := stepwell.Define("mail", func(ctx stepwell.Context, _ int) (int, error) {
		hook, err := stepwell.NewHook[string](ctx)
		if err != nil {
			return 0, err
		}
		link := "https://example.com/confirm?token=" + hook.Token()
		return len(hook.Token()), stepwell.Do(ctx, "mail", func(context.Context) error {
			_ = link // is sent
			return nil
		})
	})
	app, stop := exampleApp(mail)
	defer stop()
	run, _ := mail.Start(context.Background(), app, 0)
	fmt.Println(run.Result(context.Background()))
	// Output: 26 <nil>
}
