package stepwelltest_test

// This file holds the replay of histories.

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/stepwelltest"
)

// letter sends one and waits a day, as it was deployed once, and as it was changed.
func letter(steps ...string) *stepwell.Workflow[string, string] {
	return stepwell.Define("letter", func(ctx stepwell.Context, to string) (string, error) {
		for i, step := range steps {
			if i > 0 {
				if err := stepwell.Sleep(ctx, "a day", 24*time.Hour); err != nil {
					return "", err
				}
			}
			if err := stepwell.Do(ctx, step, func(context.Context) error { return nil }); err != nil {
				return "", err
			}
		}
		return to, nil
	})
}

// exported runs the first letter, for a while, and returns its history.
func exported(t *testing.T, d time.Duration) string {
	t.Helper()
	env := stepwelltest.New(t, letter("write", "post"))
	run := stepwelltest.Start(env, letter("write", "post"), "Ada")
	env.Advance(d)
	path := filepath.Join(t.TempDir(), "letter.jsonl")
	run.Export(path)
	return path
}

func TestReplay(t *testing.T) {
	t.Parallel()
	over, open := exported(t, 48*time.Hour), exported(t, time.Hour)
	for _, test := range []struct {
		name, path string
		code       stepwell.Definition
		want       string // "": it fits
	}{
		{"a run that is over fits", over, letter("write", "post"), ""},
		{"a run that waits fits", open, letter("write", "post"), ""},
		{"a step behind what the run has reached may change", open, letter("write", "burn"), ""},
		{"another step", over, letter("write", "burn"), "post"},
		{"another first step", open, letter("dictate", "post"), "dictate"},
		{"a step too many", over, letter("write", "post", "remember"), "the code asks  sleep \"a day\" (2nd)"},
		{"a step too few", over, letter("write"), "a day"},
		{"an early end", open, letter("write"), "a day"},
		{"another end", over, stepwell.Define("letter", func(ctx stepwell.Context, to string) (string, error) {
			dear, err := letterBody(ctx)
			return dear + to, err
		}), "the code asks  to complete with output \"dear Ada\""},
		{"another workflow", over, onboard, "workflow letter version 1 is not registered"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			replay := func(t testing.TB) { stepwelltest.Replay(t, test.path, test.code) }
			if test.want == "" {
				replay(t)
			} else {
				wantFailure(t, replay, test.want, "run run-1")
			}
		})
	}
}

// TestReplayKnowsErrors: with their definitions the code goes where the run went, and without them elsewhere.
func TestReplayKnowsErrors(t *testing.T) {
	t.Parallel()
	pay := stepwell.Define("pay", func(ctx stepwell.Context, _ int) (string, error) {
		err := stepwell.Do(ctx, "charge", func(context.Context) error { return stepwell.Fatal(errDeclined) })
		if errors.Is(err, errDeclined) {
			return "declined", stepwell.Do(ctx, "tell", func(context.Context) error { return nil })
		}
		return "", err
	})
	known := stepwell.KnownError("declined", errDeclined)
	env := stepwelltest.New(t, pay, known)
	env.Fail("charge", stepwell.Fatal(errDeclined))
	run := stepwelltest.Start(env, pay, 1)
	run.MustComplete()
	path := filepath.Join(t.TempDir(), "pay.jsonl")
	run.Export(path)
	stepwelltest.Replay(t, path, pay, known)
	wantFailure(t, func(t testing.TB) { stepwelltest.Replay(t, path, pay) }, `step "tell"`)
}

// letterBody asks for what the first letter asks for, and comes to another end.
func letterBody(ctx stepwell.Context) (string, error) {
	for i, step := range []string{"write", "post"} {
		if i > 0 {
			if err := stepwell.Sleep(ctx, "a day", 24*time.Hour); err != nil {
				return "", err
			}
		}
		if err := stepwell.Do(ctx, step, func(context.Context) error { return nil }); err != nil {
			return "", err
		}
	}
	return "dear ", nil
}

func TestReplayRefusesWhatIsNoHistory(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile(exported(t, 48*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for name, test := range map[string]struct{ text, want string }{
		"empty":    {"", "has no history"},
		"not JSON": {string(lines[0]) + "{", "bad.jsonl: "},
		"a gap":    {string(lines[0]) + string(lines[1]) + string(lines[3]), "bad.jsonl: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "bad.jsonl")
			if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			wantFailure(t, func(t testing.TB) { stepwelltest.Replay(t, path, letter("write", "post")) }, test.want)
		})
	}
}
