package behaviour_test

// This file holds what a retry does for each way in which a run can end: the table in docs/operating.md is this one.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// retryEnd is how a run ended, and what a retry of it does.
type retryEnd struct {
	body    func(ctx stepwell.Context, s *shop) (string, error) // broken until s.mended
	opts    []stepwell.StartOption
	before  func(r *rig, s *shop)
	after   func(r *rig, s *shop, run string) // what happens behind the start; nil: it ends by itself
	ran     []string                          // in the retry, which completes; in the order of their names
	refused string                            // or why there is none
	fork    bool                              // what there is instead
	child   bool
	result  string
	gives   string // and what it can be
	again   int    // how often it fails before it is mended: each failure is retried
}

// shop is where the runs of a test do their work.
type shop struct {
	diary
	mended bool
	child  *stepwell.Workflow[int, int]
}

func (s *shop) do(ctx stepwell.Context, name string) error {
	return stepwell.Do(ctx, name, func(c context.Context) error { s.note(c, name); return nil })
}

// broken is a step that fails until all is mended.
func (s *shop) broken(ctx stepwell.Context, name string, err error) error {
	return stepwell.Do(ctx, name, func(c context.Context) error {
		if s.note(c, name); !s.mended {
			return stepwell.Fatal(err)
		}
		return nil
	})
}

type crashed struct{}

func (crashed) Error() string { return "it ended its process" }
func (crashed) Code() string  { return world.CodeCrashLoop }

// retryEnds are the rows of the table in docs/operating.md, by what their first column says.
var retryEnds = map[string]retryEnd{
	"failed of a step": {
		body: func(ctx stepwell.Context, s *shop) (string, error) {
			if err := s.do(ctx, "reserve"); err != nil {
				return "", err
			}
			return "done", s.broken(ctx, "charge", errNoStock)
		},
		ran: []string{"charge"},
	},
	"failed of several steps": {
		body: func(ctx stepwell.Context, s *shop) (string, error) {
			a := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return 0, s.broken(ctx, "a", errNoStock) })
			b := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return 0, s.broken(ctx, "b", errNoStock) })
			c := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return 0, s.do(ctx, "c") })
			_, failedA := a.Get(ctx)
			_, failedB := b.Get(ctx)
			_, failedC := c.Get(ctx)
			return "done", errors.Join(failedA, failedB, failedC)
		},
		ran: []string{"a", "b"},
	},
	"handled a step's failure, and failed later": {
		body: func(ctx stepwell.Context, s *shop) (string, error) {
			if err := s.broken(ctx, "charge-card", errNoStock); err != nil {
				if err := s.do(ctx, "charge-account"); err != nil {
					return "", err
				}
			}
			if err := s.do(ctx, "ship"); err != nil {
				return "", err
			}
			if !s.mended {
				return "", errors.New("no more: " + errNoStock.Error())
			}
			return "done", nil
		},
		ran: nil,
	},
	"handled a step's failure, and failed of another": {
		body: func(ctx stepwell.Context, s *shop) (string, error) {
			card := s.broken(ctx, "charge-card", errNoStock)
			if card != nil {
				if err := s.do(ctx, "charge-account"); err != nil {
					return "", err
				}
			}
			if err := s.broken(ctx, "ship", errNoStock); err != nil {
				return "", errors.Join(card, err)
			}
			return "done", nil
		},
		ran: []string{"ship"},
	},
	"failed of its code alone": {
		body: func(ctx stepwell.Context, s *shop) (string, error) {
			if err := s.do(ctx, "reserve"); err != nil {
				return "", err
			}
			if !s.mended {
				return "", errNoStock
			}
			return "done", s.do(ctx, "ship")
		},
		ran: []string{"ship"},
	},
	"failed of a step that ended its process (`CRASH_LOOP`)": {
		body: func(ctx stepwell.Context, s *shop) (string, error) { return "done", s.broken(ctx, "charge", crashed{}) },
		ran:  []string{"charge"},
	},
	"failed of a step whose result could not be kept (`ENCODE`, `TOO_LARGE`)": {
		body: func(ctx stepwell.Context, s *shop) (string, error) {
			_, err := stepwell.Step(ctx, "charge", func(c context.Context) (float64, error) {
				s.note(c, "charge")
				return math.NaN(), nil
			})
			return "done", err
		},
		refused: `step "charge" did its work`, fork: true, result: "charge", gives: `0`,
	},
	"ran out of time": {
		body: func(ctx stepwell.Context, s *shop) (string, error) {
			if err := s.do(ctx, "reserve"); err != nil {
				return "", err
			}
			if _, _, err := tidings.Wait(ctx, stepwell.Timeout(3*time.Second)); err != nil {
				return "", err
			}
			return "done", s.do(ctx, "ship")
		},
		opts: []stepwell.StartOption{stepwell.Timeout(2 * time.Second)},
		ran:  []string{"ship"},
	},
	"ran out of time, and undid what it had done": {
		body: func(ctx stepwell.Context, s *shop) (string, error) {
			if err := s.do(ctx, "charge"); err != nil {
				return "", err
			}
			stepwell.AddUndo(ctx, "refund", func(c context.Context, _ any) error { s.note(c, "refund"); return nil }, nil)
			return "done", stepwell.Sleep(ctx, "for long", 6*time.Second)
		},
		opts:    []stepwell.StartOption{stepwell.Timeout(2 * time.Second)},
		refused: `it has undone its work ("refund")`,
	},
	"failed, and undid what it had done": {
		body: func(ctx stepwell.Context, s *shop) (string, error) {
			if err := s.do(ctx, "charge"); err != nil {
				return "", err
			}
			stepwell.AddUndo(ctx, "refund", func(c context.Context, _ any) error { s.note(c, "refund"); return nil }, nil)
			return "done", s.broken(ctx, "ship", errNoStock)
		},
		refused: `it has undone its work ("refund")`,
	},
	"failed of its code, and undid what it had done": {
		body: func(ctx stepwell.Context, s *shop) (string, error) {
			if err := s.do(ctx, "charge"); err != nil {
				return "", err
			}
			stepwell.AddUndo(ctx, "refund", func(c context.Context, _ any) error { s.note(c, "refund"); return nil }, nil)
			if !s.mended {
				return "", errNoStock
			}
			return "done", nil
		},
		refused: `it has undone its work ("refund")`,
	},
	"failed, and its undo functions failed, too": {
		body: func(ctx stepwell.Context, s *shop) (string, error) {
			if err := s.do(ctx, "charge"); err != nil {
				return "", err
			}
			stepwell.AddUndo(ctx, "refund", func(c context.Context, _ any) error { return stepwell.Fatal(errStock) }, nil)
			if !s.mended {
				return "", errNoStock
			}
			return "done", s.do(ctx, "ship")
		},
		ran: []string{"ship"},
	},
	"failed of a step, and did more after the failure": {
		body: func(ctx stepwell.Context, s *shop) (string, error) {
			if err := s.broken(ctx, "charge-card", errNoStock); err != nil {
				return "", errors.Join(err, s.do(ctx, "charge-account"))
			}
			return "done", nil
		},
		refused: `"charge-account" ended after the step that failed the run`, fork: true,
	},
	"failed of a child": {
		body: func(ctx stepwell.Context, s *shop) (string, error) {
			_, err := s.child.Child(stepwell.RunID("the-child")).Run(ctx, 0)
			return "done", err
		},
		refused: "its child run the-child", fork: true, child: true, result: "shop-child", gives: `0`,
	},
	"failed while a child went on": {
		body: func(ctx stepwell.Context, s *shop) (string, error) {
			s.child.Child().Start(ctx, 1)
			return "done", s.broken(ctx, "charge", errNoStock)
		},
		refused: "had begun: a retry would start another one", fork: true,
	},
	"failed of a run that it awaited": {
		body: func(ctx stepwell.Context, s *shop) (string, error) {
			_, err := stepwell.AwaitRun[int](ctx, "awaited")
			return "done", err
		},
		before: func(r *rig, s *shop) {
			if _, err := s.child.Start(r.ctx, r.client(s.child), 0, stepwell.RunID("awaited")); err != nil {
				r.Fatal(err)
			}
		},
		refused: "run awaited, which it awaited", fork: true, result: "awaited", gives: `0`,
	},
	"failed with an open hook whose token another run has by now": {
		body: func(ctx stepwell.Context, s *shop) (string, error) {
			if _, err := stepwell.NewHook[int](ctx, stepwell.Token("desk")); err != nil {
				return "", err
			}
			if s.mended {
				return "done", stepwell.Sleep(ctx, "for long", 3*time.Hour)
			}
			return "done", s.broken(ctx, "charge", errNoStock)
		},
		after: func(r *rig, s *shop, run string) {
			until(r, "the end", func() bool { return r.get(run).Status == world.Failed })
			s.mended = true
			if _, err := r.client().Restart(r.ctx, run, stepwell.RestartOptions{ID: "holder"}); err != nil {
				r.Fatal(err)
			}
			until(r, "the other's hook", func() bool { return r.count("holder", world.HookCreated, "") == 1 })
		},
		refused: "run holder now holds the token of its hook", fork: true,
	},
	"was cancelled": {
		body: func(ctx stepwell.Context, s *shop) (string, error) {
			return "done", stepwell.Sleep(ctx, "for long", 3*time.Hour)
		},
		after: func(r *rig, _ *shop, run string) {
			if err := r.client().Cancel(r.ctx, run, "no more"); err != nil {
				r.Fatal(err)
			}
		},
		refused: "it was cancelled", fork: true,
	},
	"completed": {
		body:    func(ctx stepwell.Context, s *shop) (string, error) { return "done", s.do(ctx, "charge") },
		refused: "it completed",
	},
	"is a retry that failed": {
		body: func(ctx stepwell.Context, s *shop) (string, error) {
			if err := s.do(ctx, "reserve"); err != nil {
				return "", err
			}
			return "done", s.broken(ctx, "charge", errNoStock)
		},
		again: 2, ran: []string{"charge"},
	},
}

var tidings = stepwell.Event[int]("note")

func (s *shop) definitions() []stepwell.Definition {
	s.child = stepwell.Define("shop-child", func(ctx stepwell.Context, n int) (int, error) {
		if err := s.do(ctx, "child-charge"); err != nil {
			return 0, err
		}
		if n == 1 {
			return 0, stepwell.Sleep(ctx, "for long", 3*time.Hour)
		}
		return 0, s.broken(ctx, "child-ship", errNoStock)
	})
	wf := stepwell.Define("shop", func(ctx stepwell.Context, end string) (string, error) {
		out, err := retryEnds[end].body(ctx, s)
		if err != nil {
			return "", err
		}
		return out, nil
	})
	return []stepwell.Definition{wf, s.child}
}

// TestRetryOfEachEnd: a retry completes, and runs what did not end, or it is refused and says what there is instead; of what had ended nothing runs again.
func TestRetryOfEachEnd(t *testing.T) {
	for end, c := range retryEnds {
		t.Run(strings.ReplaceAll(end, "`", ""), func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(r *rig) { c.test(r, end) })
		})
	}
}

func (c retryEnd) test(r *rig, end string) {
	s := &shop{}
	defs := s.definitions()
	app := r.begin(defs...)
	if c.before != nil {
		c.before(r, s)
	}
	run := start(r, app, defs[0].(*stepwell.Workflow[string, string]), end, c.opts...).ID()
	if c.after != nil {
		c.after(r, s, run)
	}
	until(r, "the end of the run", func() bool { return r.get(run).Status.Terminal() })
	for range c.again {
		retried, err := app.Retry(r.ctx, run)
		if err != nil {
			r.Fatal(err)
		}
		run = retried.ID()
		until(r, "the end of a retry", func() bool { return r.get(run).Status.Terminal() })
	}
	s.mended = true
	story, err := app.Story(r.ctx, run, false)
	if err != nil {
		r.Fatal(err)
	}
	advice, err := app.RetryAdvice(r.ctx, run)
	if err != nil {
		r.Fatal(err)
	}
	if status := r.get(run).Status; status != world.Completed && (story.Retry == nil || fmt.Sprint(*story.Retry) != fmt.Sprint(advice)) {
		r.Errorf("the story of a run that is %s says %+v, the advice %+v", status, story.Retry, advice)
	}
	before := len(r.events(run))
	retried, err := app.Retry(r.ctx, run)
	if c.refused != "" {
		var refused *stepwell.RetryRefusedError
		if !errors.As(err, &refused) || !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(advice.Refused, c.refused) {
			r.Fatalf("retried: %v, %v; want it refused: %s", retried, err, c.refused)
		}
		if !advice.Restart || (advice.Fork > 0) != c.fork || (advice.Child != "") != c.child || advice.Result != c.result {
			r.Errorf("instead: %+v", advice)
		}
		if c.result != "" { // what is said helps
			forked, err := app.Fork(r.ctx, run, stepwell.ForkOptions{At: advice.Fork, Results: map[string]json.RawMessage{advice.Result: []byte(c.gives)}})
			if err != nil {
				r.Fatal(err)
			}
			if out, err := forked.Result(r.ctx); err != nil || string(out) != `"done"` || len(s.of(forked.ID())) != 0 {
				r.Errorf("forked with a result it came to %s, %v, and ran %q", out, err, s.of(forked.ID()))
			}
		}
		return
	}
	if err != nil || advice.Refused != "" {
		r.Fatalf("retried: %v, the advice was %+v", err, advice)
	}
	if again, err := app.Retry(r.ctx, run); err != nil || !again.Existed() || again.ID() != retried.ID() {
		r.Errorf("retried again: %v, %v; want the same run", again, err)
	}
	out, err := retried.Result(r.ctx)
	if err != nil || string(out) != `"done"` {
		r.dump(run)
		r.dump(retried.ID())
		r.Errorf("the retry came to %s, %v; want it done", out, err)
	}
	got := s.of(retried.ID())
	if slices.Sort(got); !slices.Equal(got, c.ran) {
		r.dump(retried.ID())
		r.Errorf("the retry ran %q, want %q", got, c.ran)
	}
	if now := len(r.events(run)); now != before {
		r.Errorf("the failed run has %d events, had %d", now, before)
	}
	app.stop(r.T)
	r.replays(retried.ID(), defs...)
}

// TestTheTableOfRetries: the docs say what the test holds.
func TestTheTableOfRetries(t *testing.T) {
	t.Parallel()
	f, err := os.Open("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows := map[string]bool{}
	in := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if in = strings.HasPrefix(line, "| the run … | a retry … |") || in && strings.HasPrefix(line, "|"); !in {
			continue
		}
		cells := strings.Split(line, " | ")
		end := strings.TrimPrefix(cells[0], "| ")
		c, known := retryEnds[end]
		if !known {
			continue
		}
		rows[end] = true
		if is := strings.HasPrefix(cells[1], "is refused"); is != (c.refused != "") {
			t.Errorf("the row of a run that %s says %q", end, cells[1])
		}
		for word, is := range map[string]bool{"fork": c.fork, "with a result": c.result != "", "retry the child": c.child} {
			if strings.Contains(cells[2], word) != is {
				t.Errorf("the row of a run that %s says %q instead; the test has it otherwise: %q is %v", end, cells[2], word, is)
			}
		}
	}
	for end := range retryEnds {
		if !rows[end] {
			t.Errorf("docs/operating.md has no row of a run that %s", end)
		}
	}
}
