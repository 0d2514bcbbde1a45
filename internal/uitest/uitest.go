// Package uitest has what tests of the web UI share, those with a browser and those without: a server with its pages, a
// worker, and workflows that show all that a run can have.
package uitest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/acting"
	"github.com/stepwell/stepwell/server"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// Order is the input of Shop.
type Order struct {
	Customer string   `json:"customer"`
	Cents    int      `json:"cents"`
	Items    []string `json:"items,omitempty"`
}

// Workflows, a step and an event: the worker of each site has them.
var (
	Paid    = stepwell.Event[map[string]any]("paid")
	Reserve = stepwell.DefineStep("reserve", func(_ context.Context, item string) (string, error) { return item + " reserved", nil })
	Invoice = stepwell.Define("invoice", func(ctx stepwell.Context, cents int) (string, error) {
		return stepwell.Step(ctx, "print", func(context.Context) (string, error) { return fmt.Sprintf("%d.pdf", cents), nil })
	})
	Shop = stepwell.Define("order", func(ctx stepwell.Context, in Order) (string, error) {
		if err := stepwell.SetAttribute(ctx, "city", "Ulm"); err != nil {
			return "", err
		}
		if _, err := stepwell.Map(ctx, in.Items, 0, func(ctx stepwell.Context, item string) (string, error) { return Reserve.Run(ctx, item) }); err != nil {
			return "", err
		}
		if _, err := stepwell.Step(ctx, "charge", func(ctx context.Context) (map[string]any, error) {
			switch {
			case in.Cents == 0:
				return nil, stepwell.Fatal(errors.New("nothing to pay"))
			case stepwell.Info(ctx).Attempt < 3:
				return nil, errors.New("bank: connection refused")
			}
			return map[string]any{"receipt": "r-1001", "cents": in.Cents, "card": map[string]any{"brand": "visa", "last4": "4242"}}, nil
		}, stepwell.Retry{Attempts: 5, Base: 20 * time.Millisecond}); err != nil {
			return "", err
		}
		stepwell.AddUndo(ctx, "refund", func(context.Context, any) error { return nil }, nil)
		if _, err := Invoice.Child().Run(ctx, in.Cents); err != nil {
			return "", err
		}
		courier, err := stepwell.NewHook[string](ctx, stepwell.Token("courier-"+in.Customer), stepwell.Metadata(map[string]string{"for": in.Customer}))
		if err != nil {
			return "", err
		}
		if err := stepwell.Do(ctx, "write-note", func(ctx context.Context) error {
			out := stepwell.Stream[string](ctx, "note")
			for word := range strings.FieldsSeq("Dear " + in.Customer + ", your parcel is packed and waits for the courier.") {
				if err := out.Write(word + " "); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return "", err
		}
		if _, _, err := Paid.Wait(ctx, stepwell.Match{"customer": in.Customer}, stepwell.Timeout(24*time.Hour)); err != nil {
			return "", err
		}
		if err := stepwell.Sleep(ctx, "pack", time.Hour); err != nil {
			return "", err
		}
		by, _, err := courier.Wait(ctx)
		return "shipped by " + by, err
	})
	Broken = stepwell.Define("import-file", func(ctx stepwell.Context, in string) (string, error) {
		if _, err := stepwell.Step(ctx, "open", func(context.Context) (string, error) { return in, nil }); err != nil {
			return "", err
		}
		panic("column 7 is not a date") //stepwell:allow panics a blocked run is on the pages
	})
)

// Site is a server with its pages.
type Site struct {
	*testing.T
	App   *stepwell.App
	World world.World
	Base  string
	Log   *Lines
	HTTP  *http.Client
}

// Lines is what was logged.
type Lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write adds to them.
func (l *Lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

// String is all of it.
func (l *Lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// New starts all; more workflows can be given.
func New(t *testing.T, o server.Options, more ...stepwell.Definition) *Site {
	t.Helper()
	return On(t, memory.New(), o, more...)
}

// On is New on a world, which it closes.
func On(t *testing.T, w world.World, o server.Options, more ...stepwell.Definition) *Site {
	t.Helper()
	s := &Site{T: t, World: w, Log: &Lines{}}
	t.Cleanup(func() {
		if err := s.World.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	var err error
	s.App, err = stepwell.New(s.World, stepwell.Config{
		Definitions: append([]stepwell.Definition{Shop, Invoice, Broken, Reserve}, more...), Name: "tester", Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	o.Logger = slog.New(slog.NewTextHandler(s.Log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	srv, err := server.New(s.App, o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := srv.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Base = "http://" + l.Addr().String()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	s.HTTP = &http.Client{Jar: jar, Transport: transport}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.App.Run(ctx); err != nil {
			t.Errorf("Run = %v", err)
		}
	})
	running.Go(func() {
		if err := srv.Serve(ctx, l, server.Serving{}); err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		cancel()
		running.Wait()
	})
	return s
}

// Start begins a run of Shop.
func (s *Site) Start(id string, in Order) {
	s.Helper()
	if _, err := Shop.Start(s.Context(), s.App, in, stepwell.RunID(id)); err != nil {
		s.Fatal(err)
	}
}

// Until waits for a run to stand as a kind says.
func (s *Site) Until(run string, kind stepwell.WhyKind) {
	s.Helper()
	var got stepwell.Why
	for limit := time.Now().Add(20 * time.Second); ; {
		var err error
		if got, err = s.App.Why(s.Context(), run); err != nil {
			s.Fatal(err)
		}
		if got.Kind == kind {
			return
		}
		if time.Now().After(limit) {
			s.Fatalf("run %s: waited 20 s for %s; it is: %s", run, kind, got)
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-s.Context().Done():
			s.Fatal(s.Context().Err())
		}
	}
}

// Evil are texts that must be shown and never be anything else.
var Evil = []string{
	`<script>window.hacked=1</script>`, `"><img src=x onerror=window.hacked=1>`, `'><svg/onload=window.hacked=1>`, `</textarea><script>window.hacked=1</script>`,
	`</pre><iframe srcdoc="<script>parent.hacked=1</script>">`, `javascript:window.hacked=1`, `{{.Token}}{{printf "%s" .}}`, "`${window.hacked=1}`",
	`</title><script>window.hacked=1</script>`, `--><script>window.hacked=1</script><!--`, `&lt;b&gt; &quot;`, `\u003cscript\u003e`,
}

// EvilName is evil as a name can be.
func EvilName() string { return strings.Join(Evil[:4], " ") }

// Hostile is a workflow all of whose names and values are evil.
var Hostile = stepwell.Define("hostile", func(ctx stepwell.Context, in []string) (string, error) {
	name := EvilName()
	if err := stepwell.SetAttribute(ctx, name, in); err != nil {
		return "", err
	}
	if _, err := stepwell.Step(ctx, name, func(ctx context.Context) ([]string, error) {
		out := stepwell.Stream[string](ctx, name)
		for _, s := range in {
			if err := out.Write(s); err != nil {
				return nil, err
			}
		}
		return in, out.CloseWithError(errors.New(strings.Join(in, " ")))
	}); err != nil {
		return "", err
	}
	hook, err := stepwell.NewHook[string](ctx, stepwell.Token(name), stepwell.Metadata(in))
	if err != nil {
		return "", err
	}
	if err := stepwell.Do(ctx, name, func(context.Context) error { return stepwell.Fatal(errors.New(strings.Join(in, "\n"))) }); err == nil {
		return "", errors.New("want a failure")
	}
	if _, _, err := stepwell.Event[map[string]any](name).Wait(ctx, stepwell.Match{name: in}); err != nil {
		return "", err
	}
	_, _, err = hook.Wait(ctx)
	return "", errors.Join(err, errors.New(strings.Join(in, " ")))
})

// Telling is where Tell hears what to write.
var Telling atomic.Pointer[chan string]

// Tell is a workflow that streams what it hears.
var Tell = stepwell.Define("tell", func(ctx stepwell.Context, _ int) (int, error) {
	return stepwell.Step(ctx, "tell", func(ctx context.Context) (int, error) {
		out := stepwell.Stream[string](ctx, "story")
		for {
			select {
			case word, ok := <-*Telling.Load():
				if !ok {
					return 1, out.Close()
				}
				if err := errors.Join(out.Write(word), out.Flush()); err != nil {
					return 0, err
				}
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
	})
})

// StartHostile begins a run of Hostile, which waits and is paused.
func (s *Site) StartHostile() {
	s.Helper()
	if _, err := Hostile.Start(s.Context(), s.App, Evil, stepwell.RunID("bad-1"), stepwell.Key(EvilName())); err != nil {
		s.Fatal(err)
	}
	s.Until("bad-1", stepwell.WhyEvent)
	if err := s.App.Signal(s.Context(), "bad-1", "unread "+EvilName(), json.RawMessage(mustJSON(Evil))); err != nil {
		s.Fatal(err)
	}
	if err := s.App.Pause(acting.For(s.Context(), Evil[0]), "bad-1", strings.Join(Evil, " ")); err != nil {
		s.Fatal(err)
	}
	s.Until("bad-1", stepwell.WhyPaused)
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Busy is a site with runs that stand in all ways.
func Busy(t *testing.T, o server.Options, more ...stepwell.Definition) *Site {
	t.Helper()
	s := New(t, o, more...)
	s.Start("o-1", Order{Customer: "ada", Cents: 4200, Items: []string{"lamp", "chair"}})
	s.Start("o-2", Order{Customer: "bob", Cents: 0})
	if _, err := Broken.Start(t.Context(), s.App, "x.csv", stepwell.RunID("imp-1")); err != nil {
		t.Fatal(err)
	}
	s.Until("o-1", stepwell.WhyEvent)
	s.Until("o-2", stepwell.WhyOver)
	s.Until("imp-1", stepwell.WhyBlocked)
	return s
}

// Secrets of the keys that a locked server knows.
const (
	ViewerSecret   = "viewer-secret-0123456789"
	OperatorSecret = "operator-secret-0123456789"
	AdminSecret    = "admin-secret-0123456789"
)

// Locked are options of a server that asks for a key.
func Locked(t *testing.T) server.Options {
	t.Helper()
	keys, err := server.ParseKeys("viewer:vic:" + ViewerSecret + " operator:olga:" + OperatorSecret + " admin:ann:" + AdminSecret)
	if err != nil {
		t.Fatal(err)
	}
	return server.Options{Keys: keys}
}

// ManyRuns are more than a page looks at. Nobody works on them.
func (s *Site) ManyRuns() {
	s.Helper()
	for i := range 1200 {
		if _, err := Filler.Start(s.Context(), s.App, i, stepwell.RunID(fmt.Sprint("filler-", i))); err != nil {
			s.Fatal(err)
		}
	}
}

// Filler is a workflow without a worker.
var Filler = stepwell.Define("filler", func(stepwell.Context, int) (int, error) { return 0, nil })
