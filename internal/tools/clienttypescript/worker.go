package main

// This file has the workflows that the client's tests start, and the worker that works on them: this program again, as
// a process of its own.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/stepwell/stepwell"
	_ "github.com/stepwell/stepwell/world/postgres" // by their URLs
	_ "github.com/stepwell/stepwell/world/remote"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

type order struct {
	Customer string `json:"customer"`
	Cents    int64  `json:"cents"`
}

type payment struct {
	Cents int64 `json:"cents"`
}

var paid = stepwell.Event[payment]("paid")

// ship reserves, waits to be paid, and for a courier to call its hook.
var ship = stepwell.Define("order", func(ctx stepwell.Context, in order) (string, error) {
	err := stepwell.Do(ctx, "reserve", func(context.Context) error {
		if in.Cents == 0 {
			return stepwell.Fatal(errors.New("nothing to pay"))
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	courier, err := stepwell.NewHook[string](ctx, stepwell.Token("courier-"+in.Customer))
	if err != nil {
		return "", err
	}
	if _, _, err := paid.Wait(ctx); err != nil {
		return "", err
	}
	by, _, err := courier.Wait(ctx)
	return "shipped by " + by, err
}, stepwell.Accepts(paid))

// count is a run of so many steps, one behind the other.
var count = stepwell.Define("count", func(ctx stepwell.Context, n int) (int, error) {
	for i := range n {
		if err := stepwell.Do(ctx, fmt.Sprint("step-", i), pause); err != nil {
			return i, err
		}
	}
	return n, nil
})

// talk writes so many words to a stream, one behind the other.
var talk = stepwell.Define("talk", func(ctx stepwell.Context, n int) (int, error) {
	return stepwell.Step(ctx, "say", func(ctx context.Context) (int, error) {
		words := stepwell.Stream[string](ctx, "the words")
		for i := range n {
			if err := errors.Join(words.Write(fmt.Sprint("word ", i)), words.Flush(), pause(ctx)); err != nil {
				return i, err
			}
		}
		return n, words.Close()
	})
})

// stammer begins its stream anew, and closes it with an error.
var stammer = stepwell.Define("stammer", func(ctx stepwell.Context, why string) (string, error) {
	return stepwell.Step(ctx, "say", func(ctx context.Context) (string, error) {
		words := stepwell.Stream[map[string]int](ctx, "words")
		attempt := stepwell.Info(ctx).Attempt
		if err := errors.Join(words.Write(map[string]int{"attempt": attempt}), words.Flush()); err != nil {
			return "", err
		}
		if attempt == 1 {
			return "", stepwell.RetryAfter(errors.New("once more"), time.Millisecond)
		}
		return why, words.CloseWithError(errors.New(why))
	})
})

// echo returns its input, and big so many letters.
var (
	echo = stepwell.Define("echo", func(_ stepwell.Context, v json.RawMessage) (json.RawMessage, error) { return v, nil })
	big  = stepwell.Define("big", func(_ stepwell.Context, n int) (string, error) { return strings.Repeat("x", n), nil })
)

// rare begins once in two seconds, and refuses other starts.
var rare = stepwell.Define("rare", func(_ stepwell.Context, n int) (int, error) { return n, nil },
	stepwell.Limit{Rate: 30, Per: time.Minute, Refuse: true})

// remote are steps that the tests run themselves.
var remote = map[string]*stepwell.RegisteredStep[json.RawMessage, json.RawMessage]{
	"remote": stepwell.DefineRemoteStep[json.RawMessage, json.RawMessage]("remote",
		stepwell.Retry{Attempts: 3, Base: 10 * time.Millisecond}),
	"brief": stepwell.DefineRemoteStep[json.RawMessage, json.RawMessage]("brief",
		stepwell.Retry{Attempts: 1}, stepwell.Timeout(time.Second)),
	"quiet": stepwell.DefineRemoteStep[json.RawMessage, json.RawMessage]("quiet",
		stepwell.Retry{Attempts: 1}, stepwell.HeartbeatTimeout(time.Second)),
}

// asked says which of them a run is to call, and with what.
type asked struct {
	Step  string          `json:"step"`
	Input json.RawMessage `json:"input"`
}

var call = stepwell.Define("call", func(ctx stepwell.Context, in asked) (json.RawMessage, error) {
	step := remote[in.Step]
	if step == nil {
		return nil, stepwell.Fatal(errors.New("no such step"))
	}
	return step.Run(ctx, in.Input)
})

func pause(ctx context.Context) error {
	select {
	case <-time.After(30 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// work works on runs of a database until it is killed.
func work(db string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	w, err := stepwell.Open(ctx, db)
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	all := []stepwell.Definition{ship, count, talk, stammer, echo, big, rare, call}
	for _, step := range remote {
		all = append(all, step)
	}
	app, err := stepwell.New(w, stepwell.Config{Definitions: all})
	if err != nil {
		return err
	}
	return app.Run(ctx)
}
