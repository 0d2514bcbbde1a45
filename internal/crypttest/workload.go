// Package crypttest has a workload that puts a secret into everything that a run keeps, so that tests can look for it in a database.
package crypttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world"
)

// Secret is in all payloads of the workload.
const Secret = "hunter2-4111-1111"

// Note is a payload of the workload.
type Note struct {
	Text string `json:"text"`
	N    int    `json:"n"`
}

func note(n int) Note { return Note{Text: Secret, N: n} }

var (
	said   = stepwell.Event[Note]("said")
	double = stepwell.DefineStep("double", func(ctx context.Context, in Note) (Note, error) {
		out := stepwell.Stream[Note](ctx, "doubled")
		if err := out.Write(note(in.N)); err != nil {
			return Note{}, err
		}
		return note(2 * in.N), out.Close()
	})
	child = stepwell.Define("crypt-child", func(ctx stepwell.Context, in Note) (Note, error) {
		if in.N < 0 {
			return Note{}, fmt.Errorf("child of %s", in.Text)
		}
		return stepwell.Step(ctx, "work", func(context.Context) (Note, error) { return note(in.N), nil })
	})
	//stepwell:allow panics a run that is blocked is part of the workload
	stuck = stepwell.Define("crypt-stuck", func(_ stepwell.Context, in Note) (Note, error) { panic("stuck with " + in.Text) })
	all   = stepwell.Define("crypt-all", everything)
)

func everything(ctx stepwell.Context, in Note) (Note, error) {
	if in.N == 100 { // the next segment
		return stepwell.Step(ctx, "last", func(context.Context) (Note, error) { return note(in.N), nil })
	}
	if _, err := stepwell.Step(ctx, "fails", func(context.Context) (Note, error) {
		return Note{}, fmt.Errorf("declined %s: %w", Secret, errors.New("cause "+Secret))
	}, stepwell.Retry{Attempts: 2, Base: time.Millisecond}); err == nil || !strings.Contains(err.Error(), Secret) {
		return Note{}, stepwell.Fatal(fmt.Errorf("the step's error is %v", err))
	}
	one, two := double.Start(ctx, note(1)), double.Start(ctx, note(2)) // queued
	for _, f := range []*stepwell.Future[Note]{one, two} {
		if _, err := f.Get(ctx); err != nil {
			return Note{}, err
		}
	}
	if err := stepwell.WriteStream(ctx, "progress", note(1)); err != nil {
		return Note{}, err
	}
	if _, err := child.Child().Run(ctx, note(3)); err != nil {
		return Note{}, err
	}
	if _, err := child.Child().Run(ctx, note(-1)); err == nil || !strings.Contains(err.Error(), Secret) {
		return Note{}, stepwell.Fatal(fmt.Errorf("the child's error is %v", err))
	}
	if _, err := stepwell.AwaitRun[Note](ctx, "nobody"); !errors.Is(err, stepwell.ErrNotFound) {
		return Note{}, stepwell.Fatal(fmt.Errorf("await of nobody: %w", err))
	}
	hook, err := stepwell.NewHook[Note](ctx, stepwell.Token("crypt-token"), stepwell.Metadata(note(4)))
	if err != nil {
		return Note{}, err
	}
	if got, _, err := hook.Wait(ctx); err != nil || got.Text != Secret {
		return Note{}, stepwell.Fatal(fmt.Errorf("the hook's payload is %v, %w", got, err))
	}
	if got, ok, err := said.Wait(ctx, stepwell.Match{"text": Secret, "n": 5}); err != nil || !ok || got.N != 5 {
		return Note{}, stepwell.Fatal(fmt.Errorf("the event is %v, %w", got, err))
	}
	if err := hook.Dispose(ctx); err != nil {
		return Note{}, err
	}
	return Note{}, stepwell.ContinueAsNew(ctx, note(100))
}

// Run works on a world with a keyring until a run of everything is over, and another one is blocked with a secret in its reason. It checks that all of it is
// there for who has the key, and returns the two runs.
func Run(t *testing.T, w world.World, ring *keyring.Ring) (done, blocked string) {
	t.Helper()
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{all, child, stuck, double}, Encryption: ring, Poll: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	working, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- app.Run(working) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	run, err := all.Start(ctx, app, note(0))
	check(t, err)
	bad, err := stuck.Start(ctx, app, note(0))
	check(t, err)
	payload, err := json.Marshal(note(5))
	check(t, err)
	check(t, app.Signal(ctx, run.ID(), "said", payload, stepwell.DeliveryID("one")))
	await(ctx, t, func() bool { // the hook is open
		rows, err := app.Hooks(ctx, run.ID(), "")
		return err == nil && len(rows) == 1 && strings.Contains(string(rows[0].Metadata), Secret)
	})
	check(t, app.SendHook(ctx, "crypt-token", payload))
	if got, err := run.Result(ctx); err != nil || got != note(100) {
		t.Fatalf("got %v, %v; want the result", got, err)
	}
	await(ctx, t, func() bool {
		row, err := app.Get(ctx, bad.ID())
		return err == nil && row.Queue != nil && row.Queue.Blocked != nil && strings.Contains(row.Queue.Blocked.Message, Secret)
	})
	for _, name := range []string{"doubled", "progress"} {
		n := 0
		for c, err := range stepwell.ReadStream[Note](ctx, app, run.ID(), name, 0) {
			check(t, err)
			if n++; c.Value.Text != Secret {
				t.Errorf("stream %s: got %v", name, c.Value)
			}
			if name == "progress" {
				break // nobody closes it
			}
		}
		if n == 0 {
			t.Errorf("stream %s is empty", name)
		}
	}
	return run.ID(), bad.ID()
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// await asks until something holds.
func await(ctx context.Context, t *testing.T, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("it did not come to that")
		}
	}
}
