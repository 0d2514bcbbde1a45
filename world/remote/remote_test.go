package remote

// What the client makes of a server that is away, cuts connections, or refuses. That it is a world, the tests of package server hold it to.

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func wantErr(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

func turn(first int64) *world.Commit {
	return &world.Commit{ID: [16]byte{1, byte(first)}, Run: "r1", Worker: "w1", Claim: 1, First: first, Events: []world.Event{{Type: world.RunStarted, Time: world.Now()}}}
}

// A commit whose answer is lost is unknown, and sent again it says so, until it is known.
func TestCommitAnswerLost(t *testing.T) {
	t.Parallel()
	w, f := begin(t, map[string][]string{"commit": {"cut", "cut", `{}`, "409 LEASE_LOST"}, "outcome": {"cut", "404 NOT_FOUND"}})
	c := turn(2)
	for range 2 {
		_, err := w.Commit(t.Context(), c)
		wantErr(t, "the commit", err, world.ErrUnknownOutcome)
	}
	_, err := w.Outcome(t.Context(), c) // which is asked for until it is answered
	wantErr(t, "outcome", err, world.ErrNotFound)
	if _, err := w.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	_, err = w.Commit(t.Context(), c)
	wantErr(t, "the same once more", err, world.ErrLeaseLost)
	var again []bool
	for _, body := range f.calls("commit") {
		var m wire.CommitIn
		if err := wire.Decode([]byte(body), &m, true); err != nil {
			t.Fatal(err)
		}
		again = append(again, m.Again)
	}
	if want := []bool{false, true, true, false}; !slices.Equal(again, want) {
		t.Errorf("sent again: got %v, want %v", again, want)
	}
	if n := len(f.calls("outcome")); n != 2 {
		t.Errorf("outcome was asked for %d times, want 2", n)
	}
}

// A commit that was given up may have been written: it is in doubt as well.
func TestCommitGivenUp(t *testing.T) {
	t.Parallel()
	held := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set(wire.CallHeader, r.Header.Get(wire.CallHeader))
			_, _ = io.WriteString(w, `{"answer": {"protocol": 1}}`)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-held
	}))
	defer s.Close()
	defer close(held)
	w, err := Open(t.Context(), s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	c := turn(2)
	_, err = w.Commit(ctx, c)
	wantErr(t, "the commit", err, context.Canceled)
	if !w.inDoubt(c.ID) {
		t.Error("the commit is not in doubt")
	}
}

// What the server has not done is sent again: it is about to end, or has too much to do.
func TestServerDrains(t *testing.T) {
	t.Parallel()
	w, f := begin(t, map[string][]string{"commit": {"503 SHUTTING_DOWN", "503 NOT_READY", "429 BUSY", `{}`}})
	if _, err := w.Commit(t.Context(), turn(2)); err != nil {
		t.Fatal(err)
	}
	bodies := f.calls("commit")
	if len(bodies) != 4 || strings.Contains(bodies[3], "again") {
		t.Errorf("got %d tries, the last one %s, want 4, and no doubt", len(bodies), bodies[len(bodies)-1])
	}
}

// Nobody listens: nothing was done, and after some time that is told.
func TestServerAway(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(&fake{})
	w, err := Open(t.Context(), s.URL, Options{Patience: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	s.Close()
	w.client.CloseIdleConnections() // through one that was open it might have been done, for all that is known
	_, err = w.Commit(t.Context(), turn(2))
	wantErr(t, "commit", err, world.ErrStorage)
	if errors.Is(err, world.ErrUnknownOutcome) {
		t.Errorf("commit: got %v, want that nothing was done", err)
	}
	_, err = Open(t.Context(), s.URL)
	wantErr(t, "open", err, world.ErrStorage)
}

// A delivery is sent again where its ID, and nothing else, keeps it from coming twice.
func TestDeliveryAnswerLost(t *testing.T) {
	t.Parallel()
	w, f := begin(t, map[string][]string{"deliver": {"cut", `{"run": "r1"}`, "cut"}})
	d := &world.Delivery{Run: "r1", ID: "d1", Events: []world.Event{{Type: world.SignalReceived, Name: "a", Time: world.Now()}}}
	if done, err := w.Deliver(t.Context(), d); err != nil || done.Run != "r1" {
		t.Fatalf("got %+v, %v", done, err)
	}
	d.ID = ""
	_, err := w.Deliver(t.Context(), d)
	wantErr(t, "a delivery without an ID", err, world.ErrUnknownOutcome)
	if n := len(f.calls("deliver")); n != 3 {
		t.Errorf("got %d deliveries, want 3", n)
	}
}

// A claim is asked for again under its number; the next one has another.
func TestTakeAnswerLost(t *testing.T) {
	t.Parallel()
	w, f := begin(t, map[string][]string{
		"join":  {`{"now": "2026-11-22T10:00:00Z", "until": "2026-11-22T10:00:10Z", "server": "srv_1"}`},
		"claim": {"cut", `{"now": "2026-11-22T10:00:00Z", "runs": [{"run": "r1", "take": 1}]}`, "cut", "503 UNKNOWN_OUTCOME"},
	})
	if _, err := w.Join(t.Context(), world.Worker{ID: "w1"}); err != nil {
		t.Fatal(err)
	}
	q := world.ClaimQuery{Worker: "w1", Runs: 1}
	if claimed, err := w.Claim(t.Context(), q); err != nil || len(claimed.Runs) != 1 {
		t.Fatalf("got %+v, %v, want the run", claimed, err)
	}
	_, err := w.Claim(t.Context(), q)
	wantErr(t, "a claim that another process of the server was asked for", err, world.ErrUnknownOutcome)
	type key struct {
		n      int64
		again  bool
		server string
	}
	var got []key
	for _, body := range f.calls("claim") {
		var m wire.ClaimIn
		if err := wire.Decode([]byte(body), &m, true); err != nil {
			t.Fatal(err)
		}
		got = append(got, key{m.Number, m.Again, m.Server})
	}
	want := []key{{1, false, ""}, {1, true, "srv_1"}, {2, false, ""}, {2, true, "srv_1"}, {2, true, "srv_1"}}
	if !slices.Equal(got, want) {
		t.Errorf("claims: got %v, want %v", got, want)
	}
}

// A heartbeat whose answer is lost is not repeated at once; the next one asks for what it told.
func TestBeatAnswerLost(t *testing.T) {
	t.Parallel()
	w, f := begin(t, map[string][]string{"heartbeat": {"cut", `{"now": "2026-11-22T10:00:00Z", "until": "2026-11-22T10:00:10Z", "lost": ["r1"]}`}})
	_, err := w.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: "w1"})
	wantErr(t, "beat", err, world.ErrStorage)
	for range 2 {
		if _, err := w.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: "w1"}); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{`{"worker":"w1"}`, `{"worker":"w1","again":true}`, `{"worker":"w1"}`}
	if got := f.calls("heartbeat"); !slices.Equal(got, want) {
		t.Errorf("heartbeats: got %v, want %v", got, want)
	}
}

// Where a server hangs each call is sent again, on a connection of its own, before the worker's lease is in doubt; a commit is asked about.
func TestServerHangs(t *testing.T) {
	t.Parallel()
	heartbeat := `{"now": "2026-11-22T10:00:00Z", "until": "2026-11-22T10:00:10Z", "server": "srv_1"}`
	w, f := begin(t, map[string][]string{
		"join": {"hang", "409 CONFLICT"}, "heartbeat": {heartbeat, "hang", heartbeat}, "claim": {"hang", `{"now": "2026-11-22T10:00:00Z"}`}, "held": {"hang", `{}`},
		"commit": {"hang", `{}`}, "outcome": {"hang", "hang", "404 NOT_FOUND"}, "runs": {"hang", `{"cursor": ""}`},
	})
	w.silence, w.long = 200*time.Millisecond, 200*time.Millisecond
	w.opt.Patience = 1 // which counts for servers that are not reached
	if _, err := w.Join(t.Context(), world.Worker{ID: "w1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Claim(t.Context(), world.ClaimQuery{Worker: "w1", Runs: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: "w1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Held(t.Context(), "w1"); err != nil {
		t.Fatal(err)
	}
	_, err := w.Commit(t.Context(), turn(1))
	wantErr(t, "commit", err, world.ErrUnknownOutcome)
	_, err = w.Outcome(t.Context(), turn(1))
	wantErr(t, "outcome", err, world.ErrNotFound)
	if _, err = w.Commit(t.Context(), turn(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Runs(t.Context(), world.RunQuery{}); err != nil {
		t.Fatal(err)
	}
	for call, want := range map[string]int{"join": 1, "heartbeat": 3, "claim": 2, "held": 2, "commit": 2, "outcome": 3, "runs": 2} {
		if got := f.calls(call); len(got) < want || (call == "claim" || call == "commit") && !strings.Contains(got[1], `"again":true`) {
			t.Errorf("%s was asked %d times (%s), want %d at least", call, len(got), got, want)
		}
	}
}

// A worker whose joining was not answered has joined, or joins.
func TestJoinAnswerLost(t *testing.T) {
	t.Parallel()
	w, f := begin(t, map[string][]string{"join": {"cut", "409 CONFLICT"}, "heartbeat": {"409 LEASE_LOST", `{"now": "2026-11-22T10:00:00Z", "until": "2026-11-22T10:00:10Z"}`}})
	b, err := w.Join(t.Context(), world.Worker{ID: "w1"})
	if err != nil || b.Until.Sub(b.Now) != 10*time.Second {
		t.Fatalf("got %+v, %v", b, err)
	}
	if n := len(f.calls("join")); n != 2 {
		t.Errorf("joined %d times, want 2", n)
	}
}

// Errors are what they are in the server.
func TestErrors(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]error{
		"404 NOT_FOUND": world.ErrNotFound, "404 NO_ROUTE": world.ErrInvalid, "409 RUN_EXISTS": world.ErrRunExists, "409 RUN_OVER": world.ErrTerminal, "409 CONFLICT": world.ErrConflict,
		"409 LEASE_LOST": world.ErrLeaseLost, "429 INBOX_FULL": world.ErrInboxFull, "409 STREAM_CLOSED": world.ErrStreamClosed, "409 TOO_LARGE": world.ErrTooLarge,
		"409 INVALID": world.ErrInvalid, "500 UNKNOWN_FORMAT": world.ErrFormat, "409 WORKER_EXISTS": world.ErrWorkerExists, "503 STORAGE": world.ErrStorage,
		"503 UNKNOWN_OUTCOME": world.ErrUnknownOutcome, "500 INTERNAL": world.ErrStorage, "401 UNAUTHENTICATED": ErrUnauthenticated, "403 FORBIDDEN": ErrForbidden,
		"409 NO_KEY": world.ErrNoKey, "409 TOO_EARLY": world.ErrTooEarly, "500 CORRUPTED_EVENT_LOG": world.ErrCorrupt,
	} {
		w, _ := begin(t, map[string][]string{"run": {answer}, "join": {answer}})
		_, err := w.Run(t.Context(), "r1")
		wantErr(t, answer, err, want)
		if strings.HasPrefix(answer, "40") && (want == ErrUnauthenticated || want == ErrForbidden) {
			_, err := w.Join(t.Context(), world.Worker{ID: "w1"})
			wantErr(t, "join: "+answer, err, world.ErrInvalid)
		}
	}
	w, _ := begin(t, map[string][]string{"run": {
		`409 {"code": "TOO_EARLY", "step": "step_1", "retryAfterMs": 1500}`, `500 {"code": "CORRUPTED_EVENT_LOG", "run": "r1", "seq": 7}`,
		`409 {"code": "NO_KEY", "run": "r1", "key": "k1"}`,
	}})
	var early *world.TooEarlyError
	if _, err := w.Run(t.Context(), "r1"); !errors.As(err, &early) || early.RetryAfter != 1500*time.Millisecond || early.Step != "step_1" {
		t.Errorf("got %v, want the time left", err)
	}
	var corrupt *world.CorruptError
	if _, err := w.Run(t.Context(), "r1"); !errors.As(err, &corrupt) || corrupt.Seq != 7 || corrupt.Run != "r1" {
		t.Errorf("got %v, want where it is damaged", err)
	}
	var key *world.KeyError
	if _, err := w.Run(t.Context(), "r1"); !errors.As(err, &key) || key.Key != "k1" || key.Run != "r1" {
		t.Errorf("got %v, want the key", err)
	}
}

// No error shows a key.
func TestSecrets(t *testing.T) {
	t.Parallel()
	const secret = "secret-0123456789"
	for _, url := range []string{
		"http://" + secret + "@127.0.0.1:1", "http://me:" + secret + "@127.0.0.1:1", "http://" + secret + "@127.0.0.1:1/%zz", "ftp://" + secret + "@host",
		"http://" + secret + "@127.0.0.1:1/?key=" + secret, "http://" + secret + "@", "http://127.0.0.1:1#" + secret,
	} {
		_, err := Open(t.Context(), url, Options{Patience: time.Millisecond})
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("got %v, want an error without the key", err)
		}
	}
	_, err := Open(t.Context(), "http://127.0.0.1:1", Options{Key: secret + "\r\nX: y"})
	if wantErr(t, "a key with a line", err, world.ErrInvalid); strings.Contains(err.Error(), secret) {
		t.Errorf("got %v, want an error without the key", err)
	}
	for form, want := range map[string]string{secret: secret, "worker:w:" + secret: secret, "worker:w:" + secret + ",admin:a:other": secret, "a:b": "a:b"} {
		if got := secretOf(form); got != want {
			t.Errorf("secretOf(%q) = %q, want %q", form, got, want)
		}
	}
}

// Notices stop and come again: who listens is told to look at everything, and polls meanwhile.
func TestNotices(t *testing.T) {
	t.Parallel()
	w, f := begin(t, map[string][]string{"notices": {
		"event: open\ndata: {\"beatMs\":15000,\"pollMs\":60000}\n\n: \n\nevent: notices\ndata: [{\"kind\":\"work\",\"run\":\"r1\"}]\n\n", // and the end
	}})
	if got := w.Poll(); got != deafPoll {
		t.Errorf("before anybody listens: polls every %s, want %s", got, deafPoll)
	}
	told := make(chan world.Notice, 100)
	polls := make(chan time.Duration, 100)
	stop := w.Notify(func(n world.Notice) {
		select {
		case told <- n:
			polls <- w.Poll()
		default:
		}
	})
	defer stop()
	want := []world.Notice{
		{Kind: world.NoticeWork}, {Kind: world.NoticeMail}, {Kind: world.NoticeEnded}, {Kind: world.NoticeLog}, {Kind: world.NoticeStream}, {Kind: world.NoticeMessage}, {Kind: world.NoticeTopic},
		{Kind: world.NoticeSchedule}, {Kind: world.NoticeWork, Run: "r1"}, {Kind: world.NoticeWork}, {Kind: world.NoticeWork},
	}
	for i, n := range want {
		if got := <-told; got != n {
			t.Fatalf("notice %d: got %+v, want %+v", i, got, n)
		}
		wantPoll := time.Minute
		if i == 9 { // it has ended
			wantPoll = deafPoll
		}
		if got := <-polls; got != wantPoll {
			t.Errorf("at notice %d: polls every %s, want %s", i, got, wantPoll)
		}
	}
	stop()
	if n := len(f.calls("notices")); n < 2 {
		t.Errorf("connected %d times, want again after the end", n)
	}
}

// TestSpoiledAnswers: an answer that cannot be read, is another's or nobody's, says nothing of what happened: neither that it did nor that it did not.
func TestSpoiledAnswers(t *testing.T) {
	t.Parallel()
	all := []string{"empty", "html", "html 404", "html 502", `{"now": "2026-11-22T10:0`, `{} {}`, `{"status": "ok"}`, "other {}", "null"}
	for _, spoiled := range append([]string{"bare {}", "bare null", `bare {"status": "ok"}`, "bare 409 RUN_EXISTS", "bare 503 SHUTTING_DOWN"}, all...) {
		if spoiled != `{"status": "ok"}` { // under the call's name it is of a newer server
			t.Run(spoiled, func(t *testing.T) { spoiledAnswers(t, &fake{}, spoiled) })
		}
	}
	for _, spoiled := range []string{"{}", "[]", `""`, "true", `{"status": "ok"}`, `{"answer": null}`, `{"ok": null, "first": 1}`} {
		t.Run("raw "+spoiled, func(t *testing.T) { spoiledAnswers(t, &fake{}, "raw "+spoiled) })
	}
}

func spoiledAnswers(t *testing.T, f *fake, spoiled string) {
	t.Parallel()
	heartbeat := `{"now": "2026-11-22T10:00:00Z", "until": "2026-11-22T10:00:10Z"}`
	f.answers = map[string][]string{
		"commit": {spoiled}, "append": {spoiled}, "claim": {spoiled}, "sweep": {spoiled},
		"run": {spoiled, `{"id": "r1"}`}, "heartbeat": {spoiled, heartbeat}, "join": {spoiled, heartbeat}, "leave": {spoiled, `{}`},
		"deliver": {spoiled, `{"run": "r1"}`}, "outcome": {spoiled, `{"existing": "r0"}`}, "bindKey": {spoiled, `{"print": "AQ=="}`},
		"events": {spoiled, `{"events": [{"type": "run_created"}], "cursor": "1"}`}, "runs": {spoiled, `{"runs": [{"id": "r1"}]}`},
		"hooks": {spoiled, `[{"token": "t1"}]`}, "tasks": {spoiled, `[{"run": "r1"}]`}, "streams": {spoiled, `[{"name": "a"}]`},
		"chunks": {spoiled, `{"chunks": [{"index": 0}], "next": 1}`}, "examine": {spoiled, `[{"check": "c"}]`},
		"ready": {spoiled, `{"now": "2026-11-22T10:00:00Z", "items": [{"run": "r1"}]}`}, "stats": {spoiled, `{"now": "2026-11-22T10:00:00Z", "workers": [{"id": "w1"}]}`},
		"keepMetrics": {spoiled, `{}`}, "queues": {spoiled, `[{"name": "q"}]`},
		"settleMessages": {spoiled, `[true]`}, "metrics": {spoiled, `[{"process": "p1", "revision": 1, "says": []}]`},
		"held": {spoiled, `{"runs": [{"run": "r1", "take": 1, "last": 2}]}`},
	}
	w, _ := connect(t, f)
	ctx := t.Context()
	unknown := func(what string, err error) {
		t.Helper()
		wantErr(t, what+": "+spoiled, err, world.ErrUnknownOutcome)
	}
	_, err := w.Commit(ctx, turn(2))
	unknown("commit", err)
	_, err = w.Commit(ctx, &world.Commit{ID: [16]byte{2}, Run: "r2", First: 1, Events: []world.Event{{Type: world.RunCreated, Time: world.Now(), Birth: &world.Birth{Workflow: "a"}}}})
	unknown("start", err)
	_, err = w.Append(ctx, &world.Append{Run: "r1", Worker: "w1", Claim: 1, StreamWrite: world.StreamWrite{Stream: "a", Step: "s", Attempt: 1, Chunks: []json.RawMessage{json.RawMessage(`1`)}}})
	unknown("append", err)
	_, err = w.Claim(ctx, world.ClaimQuery{Worker: "w1", Runs: 1})
	unknown("take", err)
	if n := len(f.calls("claim")); n != claimTries {
		t.Errorf("%s: the claim was asked for %d times, want %d", spoiled, n, claimTries)
	}
	_, err = w.Sweep(ctx, 1)
	unknown("sweep", err)
	_, err = w.Heartbeat(ctx, world.HeartbeatQuery{Worker: "w1"})
	wantErr(t, "heartbeat: "+spoiled, err, world.ErrStorage)
	_, err = w.Join(ctx, world.Worker{ID: "w1"})
	if err != nil {
		t.Errorf("%s: join: %v", spoiled, err)
	}
	delivery := func(id string) *world.Delivery {
		return &world.Delivery{Run: "r1", ID: id, Events: []world.Event{{Type: world.SignalReceived, Name: "a", Time: world.Now()}}}
	}
	again := func(what string, ok func() (bool, error)) {
		t.Helper()
		if ok, err := ok(); err != nil || !ok {
			t.Errorf("%s: %s: got %v, %v, want it sent again", spoiled, what, ok, err)
		}
		if n := len(f.calls(what)); n != 2 {
			t.Errorf("%s: %s was sent %d times, want 2", spoiled, what, n)
		}
	}
	again("run", func() (bool, error) { r, err := w.Run(ctx, "r1"); return r.ID == "r1", err })
	again("deliver", func() (bool, error) { d, err := w.Deliver(ctx, delivery("d1")); return d.Run == "r1", err })
	again("outcome", func() (bool, error) { c, err := w.Outcome(ctx, turn(2)); return c.Existing == "r0", err })
	again("bindKey", func() (bool, error) { p, err := w.BindKey(ctx, "k1", nil); return len(p) == 1, err })
	again("events", func() (bool, error) {
		p, err := w.Events(ctx, "r1", world.EventQuery{})
		return len(p.Events) == 1 && p.Cursor == "1", err
	})
	again("runs", func() (bool, error) { p, err := w.Runs(ctx, world.RunQuery{}); return len(p.Runs) == 1, err })
	again("hooks", func() (bool, error) { h, err := w.Hooks(ctx, world.HookQuery{}); return len(h) == 1, err })
	again("tasks", func() (bool, error) { k, err := w.Tasks(ctx, "r1"); return len(k) == 1, err })
	again("streams", func() (bool, error) { s, err := w.StreamsOf(ctx, "r1"); return len(s) == 1, err })
	again("chunks", func() (bool, error) {
		p, err := w.Chunks(ctx, "r1", "a", world.ChunkQuery{})
		return len(p.Chunks) == 1, err
	})
	again("examine", func() (bool, error) {
		all, err := world.Findings(ctx, w)
		return len(all) == 1 && all[0].Check == "c", err
	})
	again("ready", func() (bool, error) { r, err := w.Ready(ctx, world.ReadyQuery{}); return len(r.Items) == 1, err })
	again("stats", func() (bool, error) { s, err := w.Stats(ctx); return len(s.Workers) == 1, err })
	again("held", func() (bool, error) { h, err := w.Held(ctx, "w1"); return len(h.Runs) == 1, err })
	again("keepMetrics", func() (bool, error) { return true, w.KeepMetrics(ctx, &world.ProcessMetrics{}) })
	again("metrics", func() (bool, error) { m, err := w.Metrics(ctx); return len(m) == 1, err })
	again("queues", func() (bool, error) {
		q, err := w.Messages().Queues(ctx, "q")
		return len(q) == 1 && q[0].Name == "q", err
	})
	again("settleMessages", func() (bool, error) {
		done, err := w.Messages().SettleMessages(ctx, []world.Settlement{{Receipt: world.Receipt(1, 1), Kind: world.Extend, After: time.Minute}})
		return len(done) == 1 && done[0], err
	})
	again("leave", func() (bool, error) { return true, w.Leave(ctx, "w1") })
	f.mu.Lock()
	f.answers["deliver"], f.answers["settleMessages"] = []string{spoiled}, []string{spoiled}
	f.mu.Unlock()
	_, err = w.Deliver(ctx, delivery(""))
	unknown("a delivery without an ID", err)
	_, err = w.Messages().SettleMessages(ctx, []world.Settlement{{Receipt: world.Receipt(1, 1), Kind: world.Ack}})
	unknown("an acknowledgement", err)
}

// TestSpoiledGreeting: the server is asked who it is until it says so, and what came before is not held against it.
func TestSpoiledGreeting(t *testing.T) {
	t.Parallel()
	hello := `{"protocol": 1, "server": "srv_1", "scope": "viewer"}`
	w, f := begin(t, map[string][]string{"": {"bare {}", "bare null", "{}", "raw {}", "html", "html 502", hello}, "commit": {"bare {}"}})
	if n := len(f.calls("")); n != 7 || w.Scope() != "viewer" {
		t.Errorf("asked %d times, the scope is %q, want 7 and viewer", n, w.Scope())
	}
	_, err := w.Commit(t.Context(), turn(2))
	wantErr(t, "commit", err, world.ErrUnknownOutcome)
	s := httptest.NewServer(&fake{answers: map[string][]string{"": {"bare {}"}}})
	defer s.Close()
	_, err = Open(t.Context(), s.URL, Options{Patience: time.Millisecond})
	if wantErr(t, "open", err, world.ErrStorage); errors.Is(err, world.ErrFormat) {
		t.Errorf("open: got %v, want nothing of a version", err)
	}
}

// TestSentTwice: a claim and a join that were sent twice on their way are answered as if they came late; what they came to is found out.
func TestSentTwice(t *testing.T) {
	t.Parallel()
	w, f := begin(t, map[string][]string{
		"join": {"409 CONFLICT"}, "heartbeat": {`{"now": "2026-11-22T10:00:00Z", "until": "2026-11-22T10:00:10Z", "server": "srv_1"}`},
		"claim": {"409 CONFLICT", `{"now": "2026-11-22T10:00:00Z", "runs": [{"run": "r1", "take": 1}]}`, "409 CONFLICT"},
	})
	if _, err := w.Join(t.Context(), world.Worker{ID: "w1"}); err != nil {
		t.Fatalf("join: %v", err)
	}
	q := world.ClaimQuery{Worker: "w1", Runs: 1}
	if claimed, err := w.Claim(t.Context(), q); err != nil || len(claimed.Runs) != 1 {
		t.Fatalf("take: got %+v, %v, want the run", claimed, err)
	}
	_, err := w.Claim(t.Context(), q)
	wantErr(t, "a claim that is always behind", err, world.ErrUnknownOutcome)
	if n := len(f.calls("claim")); n != 2+claimTries {
		t.Errorf("claims were asked for %d times, want %d", n, 2+claimTries)
	}
	w, _ = begin(t, map[string][]string{"join": {"409 CONFLICT"}, "heartbeat": {"409 LEASE_LOST"}})
	_, err = w.Join(t.Context(), world.Worker{ID: "w1"})
	wantErr(t, "a join that is never known", err, world.ErrUnknownOutcome)
}

// TestNewerServer: what a newer server adds to an answer is ignored; one that speaks another protocol is refused.
func TestNewerServer(t *testing.T) {
	t.Parallel()
	w, _ := begin(t, map[string][]string{"run": {`{"id": "r1", "later": {"a": 1}}`}})
	if run, err := w.Run(t.Context(), "r1"); err != nil || run.ID != "r1" {
		t.Errorf("got %+v, %v, want the run", run, err)
	}
	s := httptest.NewServer(&fake{answers: map[string][]string{"": {`{"protocol": 2, "server": "srv_1"}`}}})
	defer s.Close()
	_, err := Open(t.Context(), s.URL)
	wantErr(t, "open", err, world.ErrFormat)
}
