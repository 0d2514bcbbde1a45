package ui_test

// What the tests share: a server with its pages, a worker, and workflows that show all that a run can have.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/server"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type order struct {
	Customer string   `json:"customer"`
	Cents    int      `json:"cents"`
	Items    []string `json:"items,omitempty"`
}

var (
	paid      = stepwell.Event[map[string]any]("paid")
	reserve   = stepwell.DefineStep("reserve", func(_ context.Context, item string) (string, error) { return item + " reserved", nil })
	invoiceWF = stepwell.Define("invoice", func(ctx stepwell.Context, cents int) (string, error) {
		return stepwell.Step(ctx, "print", func(context.Context) (string, error) { return fmt.Sprintf("%d.pdf", cents), nil })
	})
	shop = stepwell.Define("order", func(ctx stepwell.Context, in order) (string, error) {
		if err := stepwell.SetAttribute(ctx, "city", "Ulm"); err != nil {
			return "", err
		}
		if _, err := stepwell.Map(ctx, in.Items, 0, func(ctx stepwell.Context, item string) (string, error) { return reserve.Run(ctx, item) }); err != nil {
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
		stepwell.Compensate(ctx, "refund", func(context.Context) error { return nil })
		if _, err := invoiceWF.Child().Run(ctx, in.Cents); err != nil {
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
		if _, _, err := paid.Wait(ctx, stepwell.Match{"customer": in.Customer}, stepwell.Timeout(24*time.Hour)); err != nil {
			return "", err
		}
		if err := stepwell.Sleep(ctx, "pack", time.Hour); err != nil {
			return "", err
		}
		by, err := courier.Receive(ctx)
		return "shipped by " + by, err
	})
	broken = stepwell.Define("import-file", func(ctx stepwell.Context, in string) (string, error) {
		if _, err := stepwell.Step(ctx, "open", func(context.Context) (string, error) { return in, nil }); err != nil {
			return "", err
		}
		panic("column 7 is not a date") //stepwell:allow panics a blocked run is on the pages
	})
)

// site is a server with its pages.
type site struct {
	*testing.T
	app   *stepwell.App
	world world.World
	base  string
	log   *lines
	http  *http.Client
}

// lines is what was logged.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newSite starts all; more workflows can be given.
func newSite(t *testing.T, o server.Options, more ...stepwell.Definition) *site {
	t.Helper()
	return newSiteOn(t, memory.New(), o, more...)
}

// newSiteOn is newSite on a world, which it closes.
func newSiteOn(t *testing.T, w world.World, o server.Options, more ...stepwell.Definition) *site {
	t.Helper()
	s := &site{T: t, world: w, log: &lines{}}
	t.Cleanup(func() {
		if err := s.world.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	var err error
	s.app, err = stepwell.New(s.world, stepwell.Config{
		Definitions: append([]stepwell.Definition{shop, invoiceWF, broken, reserve}, more...), Name: "tester", Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	o.Logger = slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	srv, err := server.New(s.app, o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := srv.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.base = "http://" + l.Addr().String()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	s.http = &http.Client{Jar: jar, Transport: transport}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.app.Run(ctx); err != nil {
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

// page is an answer.
type page struct {
	status int
	header http.Header
	body   string
	at     *url.URL // where redirects led
}

func (s *site) do(req *http.Request) *page {
	s.Helper()
	resp, err := s.http.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	return &page{resp.StatusCode, resp.Header, string(b), resp.Request.URL}
}

// get loads a page; headers are pairs.
func (s *site) get(path string, headers ...string) *page {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.base+path, nil)
	if err != nil {
		s.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return s.do(req)
}

var tokenField = regexp.MustCompile(`name="token" value="([^"]+)"`)

// token is what the forms of this visitor have.
func (s *site) token() string {
	s.Helper()
	m := tokenField.FindStringSubmatch(s.get("/ui/keys").body)
	if m == nil {
		s.Fatal("no form with a token")
	}
	return m[1]
}

// post sends a form with its token; fields are pairs.
func (s *site) post(path string, fields ...string) *page {
	s.Helper()
	form := url.Values{"token": {s.token()}}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return s.send(path, form)
}

func (s *site) send(path string, form url.Values, headers ...string) *page {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		s.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return s.do(req)
}

// want loads a page that must have texts.
func (s *site) want(path string, texts ...string) *page {
	s.Helper()
	p := s.get(path)
	if p.status != http.StatusOK {
		s.Fatalf("%s: got %d, want 200: %.2000s", path, p.status, p.body)
	}
	for _, text := range texts {
		if !strings.Contains(p.body, text) {
			s.Errorf("%s: want %q in it:\n%.6000s", path, text, p.body)
		}
	}
	return p
}

// start begins a run of the shop.
func (s *site) start(id string, in order) {
	s.Helper()
	if _, err := shop.Start(s.Context(), s.app, in, stepwell.RunID(id)); err != nil {
		s.Fatal(err)
	}
}

// until waits for a run to stand as a kind says.
func (s *site) until(run string, kind stepwell.WhyKind) {
	s.Helper()
	var got stepwell.Why
	for limit := time.Now().Add(20 * time.Second); ; {
		var err error
		if got, err = s.app.Why(s.Context(), run); err != nil {
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
