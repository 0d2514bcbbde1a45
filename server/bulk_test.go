package server

// Bulk operations: all that match, in pieces, in lines, cut off, and repeated.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// manyRuns is a server, without a worker, on a world with so many runs.
func manyRuns(t *testing.T, w world.World, runs int) (*Server, *lines) {
	t.Helper()
	t.Cleanup(func() { _ = w.Close() })
	app, err := stepwell.New(w, stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range runs {
		if _, err := app.Start(t.Context(), "later", json.RawMessage("1"), stepwell.RunID(fmt.Sprintf("r%03d", i))); err != nil {
			t.Fatal(err)
		}
	}
	log := &lines{}
	s, err := New(app, Options{Insecure: true, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return s, log
}

// post sends a bulk operation without a network; headers are pairs.
func post(t *testing.T, s *Server, act, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/bulk/"+act, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	to := httptest.NewRecorder()
	s.ServeHTTP(to, req)
	return to
}

// told is an answer as a client reads it: the only one, or each line.
func told(t *testing.T, a *httptest.ResponseRecorder) (all []bulked) {
	t.Helper()
	if a.Code != http.StatusOK {
		t.Fatalf("got %d: %s", a.Code, a.Body)
	}
	for line := range strings.Lines(a.Body.String()) {
		var is bulked
		if err := json.Unmarshal([]byte(line), &is); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, is)
	}
	return all
}

// mail counts deliveries of each run, and how many runs have so many.
func mail(t *testing.T, w world.World) map[int]int {
	t.Helper()
	page, err := w.Runs(t.Context(), world.RunQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	have := map[int]int{}
	for _, r := range page.Runs {
		have[r.Queue.Mail]++
	}
	return have
}

// One request acts on all that match; where the time is up, the next goes on; in lines it is told as it goes. Each run is met once.
func TestBulkMeetsAll(t *testing.T) {
	t.Parallel()
	for _, kind := range sample.OneKey(t, kinds) {
		open := kinds[kind]
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			const runs = 150
			w := open(t)
			s, _ := manyRuns(t, w, runs)
			const body = `{"filter": {"workflow": "later"}, "event": "go", "deliveryId": "d1"%s}`
			if is := told(t, post(t, s, "signal", fmt.Sprintf(body, ""))); len(is) != 1 || is[0].Done != runs || len(is[0].Runs) != runs || is[0].Cursor != "" || is[0].AtLeast {
				t.Errorf("at once: got %+v, want %d done and no cursor", is, runs)
			}
			s.bulkTime = -1 // no time for a second page
			requests, met := 0, map[string]int{}
			for cursor := ""; ; {
				is := told(t, post(t, s, "signal", fmt.Sprintf(body, fmt.Sprintf(`, "cursor": %q`, cursor))))[0]
				requests++
				for _, r := range is.Runs {
					met[r.Run]++
				}
				if cursor = is.Cursor; cursor == "" {
					break
				}
			}
			if want := (runs + runsAtOnce - 1) / runsAtOnce; requests < want || requests > want+1 || len(met) != runs {
				t.Errorf("in pieces: %d requests met %d runs, want about %d and %d", requests, len(met), want, runs)
			}
			all := told(t, post(t, s, "signal", fmt.Sprintf(body, ""), "Accept", ndJSON))
			seen := 0
			for i, is := range all {
				last := i == len(all)-1
				if seen += len(is.Runs); is.Done != seen || is.End != last || !last && len(is.Runs) > runsAtOnce {
					t.Errorf("line %d: got %d done, end %v, %d runs; want %d in all", i, is.Done, is.End, len(is.Runs), seen)
				}
			}
			if end := all[len(all)-1]; seen != runs || end.Cursor != "" || end.AtLeast {
				t.Errorf("in lines: told of %d runs, the last %+v; want %d, and no cursor", seen, end, runs)
			}
			if got := mail(t, w); got[1] != runs {
				t.Errorf("runs by deliveries: %v, want %d with 1: it was the same one thrice", got, runs)
			}
		})
	}
}

// A dry run counts, and says where that is not all; what is so already is told from what was done.
func TestBulkCounts(t *testing.T) {
	t.Parallel()
	s, _ := manyRuns(t, memory.New(), 50)
	for _, c := range []struct {
		act, body, accept string
		want              bulked // the last line's, without runs; a cursor is compared as there or not
	}{
		{"cancel", `{"all": true, "dryRun": true}`, "", bulked{Count: 50, Would: 50, DryRun: true}},
		{"cancel", `{"all": true, "dryRun": true, "limit": 30}`, "", bulked{Count: 30, Would: 30, DryRun: true, AtLeast: true, Cursor: "x"}},
		{"cancel", `{"all": true, "dryRun": true}`, ndJSON, bulked{Count: 50, Would: 50, DryRun: true, End: true}},
		{"cancel", `{"all": true, "dryRun": true, "limit": 30}`, ndJSON, bulked{Count: 30, Would: 30, DryRun: true, End: true, AtLeast: true, Cursor: "x"}},
		{"signal", `{"all": true, "dryRun": true, "event": "e"}`, "", bulked{Count: 50, Would: 50, DryRun: true}},
		{"cancel", `{"filter": {"workflow": "none"}}`, ndJSON, bulked{End: true}},
		{"pause", `{"all": true, "limit": 20}`, "", bulked{Count: 20, Done: 20, AtLeast: true, Cursor: "x"}},
		{"pause", `{"all": true}`, "", bulked{Count: 50, Done: 30, Unchanged: 20}},
		{"resume", `{"all": true}`, ndJSON, bulked{Count: 50, Done: 50, End: true}},
		{"resume", `{"all": true}`, "", bulked{Count: 50, Unchanged: 50}},
		{"retry", `{"filter": {"workflow": "later", "status": ["pending"]}}`, "", bulked{Count: 50, Refused: 50}},
	} {
		all := told(t, post(t, s, c.act, c.body, "Accept", c.accept))
		got := all[len(all)-1]
		if n := len(got.Refusals); n != min(got.Refused, 1) || n > 0 && got.Refusals[0].Count != got.Refused {
			t.Errorf("%s %s: refusals are %d groups, want one of all %d", c.act, c.body, n, got.Refused)
		}
		got.Refusals = nil
		if got.Runs = nil; got.Cursor != "" {
			got.Cursor = "x"
		}
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", c.want) {
			t.Errorf("%s %s: got %+v, want %+v", c.act, c.body, got, c.want)
		}
	}
	for _, c := range []struct{ act, body, key, want string }{
		{"signal", `{"all": true, "event": "e"}`, "", "Idempotency-Key"},
		{"signal", `{"all": true, "event": "e", "deliveryId": "a"}`, "b", "differ"},
		{"signal", `{"all": true, "deliveryId": "a"}`, "", "event"},
		{"cancel", `{"all": true}`, "b", "for signal"},
		{"cancel", `{"all": true, "limit": 10001}`, "", "limit"},
	} {
		var headers []string
		if c.key != "" {
			headers = []string{"Idempotency-Key", c.key}
		}
		if a := post(t, s, c.act, c.body, headers...); a.Code != http.StatusBadRequest || !strings.Contains(a.Body.String(), c.want) {
			t.Errorf("%s %s, key %q: got %d, %s; want 400 and %q", c.act, c.body, c.key, a.Code, a.Body, c.want)
		}
	}
	if a := post(t, s, "signal", `{"all": true, "event": "e"}`, "Idempotency-Key", "k"); a.Code != http.StatusOK {
		t.Errorf("with the header: got %d, %s", a.Code, a.Body)
	}
}

// A client that is cut off goes on behind the last line that it has read, or repeats it all: each run gets the event once.
func TestBulkIsCutOff(t *testing.T) {
	t.Parallel()
	const runs = 100
	w := memory.New()
	s, _ := manyRuns(t, w, runs)
	h := httptest.NewServer(s)
	defer h.Close()
	const body = `{"all": true, "event": "go", "cursor": %q}`
	send := func(ctx context.Context, cursor string) (*bufio.Reader, func()) {
		req, err := http.NewRequestWithContext(ctx, "POST", h.URL+"/v1/bulk/signal", strings.NewReader(fmt.Sprintf(body, cursor)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", "d1")
		req.Header.Set("Accept", ndJSON)
		resp, err := h.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		return bufio.NewReader(resp.Body), func() { _ = resp.Body.Close() }
	}
	ctx, cut := context.WithCancel(t.Context())
	from, done := send(ctx, "")
	line, err := from.ReadBytes('\n')
	var first bulked
	if err == nil {
		err = json.Unmarshal(line, &first)
	}
	if err != nil || first.Cursor == "" || first.Done != runsAtOnce {
		t.Fatalf("the first line is %s, %v; want %d done and a cursor", line, err, runsAtOnce)
	}
	cut()
	done()
	for _, cursor := range []string{first.Cursor, ""} {
		from, done := send(t.Context(), cursor)
		var last bulked
		for !last.End {
			line, err := from.ReadBytes('\n')
			if err == nil {
				last = bulked{}
				err = json.Unmarshal(line, &last)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		done()
		want := runs
		if cursor != "" {
			want -= first.Done
		}
		if last.Done != want || last.Cursor != "" {
			t.Errorf("behind %q: got %+v, want %d done", cursor, last, want)
		}
	}
	if got := mail(t, w); got[1] != runs {
		t.Errorf("runs by deliveries: %v, want %d with 1", got, runs)
	}
}

// failing is a world that fails: lists behind so many pages, and deliveries behind so many.
type failing struct {
	world.World
	mu                sync.Mutex
	pages, deliveries int // that go well; -1: all
	onPage            func()
}

func (w *failing) Runs(ctx context.Context, q world.RunQuery) (world.RunPage, error) {
	if w.onPage != nil {
		w.onPage()
	}
	if w.pages == 0 {
		return world.RunPage{}, fmt.Errorf("%w: the disk, secret", world.ErrStorage)
	}
	w.pages--
	return w.World.Runs(ctx, q)
}

func (w *failing) Deliver(ctx context.Context, d *world.Delivery) (world.Delivered, error) {
	w.mu.Lock()
	none := w.deliveries == 0
	if w.deliveries--; none {
		w.deliveries = 0
	}
	w.mu.Unlock()
	if none {
		return world.Delivered{}, fmt.Errorf("%w: the disk, secret", world.ErrStorage)
	}
	return w.World.Deliver(ctx, d)
}

// panics is a world in which an act is a fault of the server's.
type panics struct{ world.World }

func (panics) Deliver(context.Context, *world.Delivery) (world.Delivered, error) { panic("boom") }

// Where the database fails on the way, what was done is told, and how to go on; at once, it is refused. What failed is logged, and not told.
func TestBulkFails(t *testing.T) {
	t.Parallel()
	for _, accept := range []string{"", ndJSON} {
		fails := &failing{World: memory.New(), pages: -1, deliveries: -1}
		s, log := manyRuns(t, fails, 50)
		ask := func() *httptest.ResponseRecorder { return post(t, s, "cancel", `{"all": true}`, "Accept", accept) }
		fails.pages = 0
		if a := ask(); a.Code != http.StatusServiceUnavailable || !strings.Contains(a.Body.String(), "STORAGE") {
			t.Errorf("no list: got %d, %s", a.Code, a.Body)
		}
		fails.pages = 1
		all := told(t, ask())
		if last := all[len(all)-1]; last.Done != runsAtOnce || last.Error == nil || last.Error.Code != "STORAGE" || last.Cursor == "" {
			t.Errorf("a list that breaks off: got %+v, want %d done, the error and a cursor", last, runsAtOnce)
		}
		fails.pages = -1
		pages := 0
		fails.onPage = func() {
			if pages++; pages == 2 {
				fails.deliveries = 0
			}
		}
		all = told(t, ask())
		last := all[len(all)-1]
		if last.Done != runsAtOnce || last.Refused != operate.Find("signal").Parallel || last.Error == nil || last.Cursor == "" {
			t.Errorf("deliveries that fail: got %+v, want %d done, %d refused, the error and a cursor", last, runsAtOnce, operate.Find("signal").Parallel)
		}
		fails.deliveries = -1
		if all := told(t, post(t, s, "cancel", fmt.Sprintf(`{"all": true, "cursor": %q}`, last.Cursor), "Accept", accept)); all[len(all)-1].Done != 50-runsAtOnce {
			t.Errorf("gone on with: got %+v, want %d done", all, 50-runsAtOnce)
		}
		if text := log.String(); !strings.Contains(text, "secret") || !strings.Contains(text, "run_id=r0") {
			t.Errorf("the log does not tell what failed: %s", text)
		}
	}
	s, log := manyRuns(t, panics{memory.New()}, 3)
	if is := told(t, post(t, s, "cancel", `{"all": true}`))[0]; is.Refused != 3 || is.Runs[0].Code != "INTERNAL" || strings.Contains(is.Runs[0].Error, "boom") {
		t.Errorf("acts that panic: got %+v, want 3 refused", is)
	}
	if n := strings.Count(log.String(), "boom"); n < 3 {
		t.Errorf("the log tells of %d panics, want 3: %s", n, log)
	}
}

// A server that ends stops between two pages, and says how to go on; who has gone is not acted for any more.
func TestBulkEndsWithTheServer(t *testing.T) {
	t.Parallel()
	for _, accept := range []string{"", ndJSON} {
		fails := &failing{World: memory.New(), pages: -1, deliveries: -1}
		s, _ := manyRuns(t, fails, 50)
		fails.onPage = s.Drain
		all := told(t, post(t, s, "cancel", `{"all": true}`, "Accept", accept))
		if last := all[len(all)-1]; last.Done != runsAtOnce || last.Cursor == "" || last.Error != nil {
			t.Errorf("drained: got %+v, want %d done and a cursor", last, runsAtOnce)
		}
	}
	fails := &failing{World: memory.New(), pages: -1, deliveries: -1}
	s, _ := manyRuns(t, fails, 50)
	ctx, gone := context.WithCancel(t.Context())
	work := &bulkWork{s: s, r: &request{Request: httptest.NewRequest("POST", "/", nil)}, is: operate.Find("cancel"), do: func(ctx context.Context, _ stepwell.RunInfo) error {
		gone()
		return ctx.Err()
	}}
	if met, err := work.page(ctx, make([]stepwell.RunInfo, 3*operate.Find("signal").Parallel)); !errors.Is(err, context.Canceled) || len(met) != operate.Find("signal").Parallel || work.total.Done != operate.Find("signal").Parallel {
		t.Errorf("a client that goes: met %d, %d done, %v; want those that had begun, and that they ended well", len(met), work.total.Done, err)
	}
}
