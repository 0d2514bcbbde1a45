// Command worker works on the workflows of the tests of the Python client until it is killed. The tests set their pace:
// by events, not by time.
//
//	worker -db sqlite:app.db
//	worker -db http://127.0.0.1:7373
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/stepwell/stepwell"
	_ "github.com/stepwell/stepwell/world/postgres"
	_ "github.com/stepwell/stepwell/world/remote"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

// order is what is bought.
type order struct {
	Customer string `json:"customer"`
	Cents    int    `json:"cents"`
}

// payment is what the event paid brings.
type payment struct {
	Cents int `json:"cents"`
}

var paid = stepwell.Event[payment]("paid")

// noStock is an error with a code.
type noStock struct{ item string }

func (e *noStock) Error() string { return "no " + e.item + " is left" }

// Code is for callers.
func (*noStock) Code() string { return "NO_STOCK" }

var buy = stepwell.Define("order", func(ctx stepwell.Context, in order) (string, error) {
	err := stepwell.Do(ctx, "reserve", func(context.Context) error {
		if in.Cents == 0 {
			return stepwell.Fatal(&noStock{"lamp"})
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
	p, _, err := paid.Wait(ctx)
	if err != nil {
		return "", err
	}
	by, _, err := courier.Wait(ctx)
	return fmt.Sprintf("%d cents, by %s", p.Cents, by), err
})

var tick = stepwell.Event[int]("tick")

// ticks says each number that it is sent, until one is negative.
var ticks = stepwell.Define("ticks", func(ctx stepwell.Context, _ any) (int, error) {
	for n := 0; ; n++ {
		t, _, err := tick.Wait(ctx)
		if err != nil || t < 0 {
			return n, err
		}
		if err := stepwell.WriteStream(ctx, "numbers", t); err != nil {
			return n, err
		}
	}
})

// tries writes to a stream, fails, and writes again: what it wrote first is void.
var tries = stepwell.Define("tries", func(ctx stepwell.Context, _ any) (string, error) {
	return stepwell.Step(ctx, "say", func(ctx context.Context) (string, error) {
		words := stepwell.Stream[string](ctx, "words")
		if stepwell.Info(ctx).Attempt > 1 {
			return "done", errors.Join(words.Write("right"), words.Close())
		}
		if err := errors.Join(words.Write("wrong"), words.Write("worse"), words.Flush()); err != nil {
			return "", err
		}
		return "", errors.New("not yet")
	}, stepwell.Retry{Base: time.Millisecond})
})

// breaks closes its stream with an error.
var breaks = stepwell.Define("breaks", func(ctx stepwell.Context, _ any) (string, error) {
	return stepwell.Step(ctx, "say", func(ctx context.Context) (string, error) {
		words := stepwell.Stream[string](ctx, "words")
		return "broken", errors.Join(words.Write("half"), words.CloseWithError(&noStock{"breath"}))
	})
})

var echo = stepwell.Define("echo", func(_ stepwell.Context, in json.RawMessage) (json.RawMessage, error) {
	return in, nil
})

// large returns a text of so many bytes.
var large = stepwell.Define("large", func(_ stepwell.Context, n int) (string, error) {
	return strings.Repeat("é", n/2), nil
})

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

func main() {
	db := flag.String("db", "", "the `database`")
	flag.Parse()
	if err := run(*db); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

func run(db string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	w, err := stepwell.Open(ctx, db)
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	definitions := []stepwell.Definition{buy, ticks, tries, breaks, echo, large, call}
	for _, step := range remote {
		definitions = append(definitions, step)
	}
	app, err := stepwell.New(w, stepwell.Config{Definitions: definitions})
	if err != nil {
		return err
	}
	return app.Run(ctx)
}
