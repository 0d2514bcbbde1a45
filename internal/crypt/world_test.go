package crypt_test

// The wrapped world is a world like any other.

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/crypt"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/worldtest"
)

// ring makes a keyring with random keys of some names.
func ring(t testing.TB, ids ...string) *keyring.Ring {
	t.Helper()
	keys := make([]keyring.Key, len(ids))
	for i, id := range ids {
		var err error
		if keys[i], err = keyring.NewKey(id); err != nil {
			t.Fatal(err)
		}
	}
	r, err := keyring.New(keys[0], keys[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// quiet is a world that tells as little of its being encrypted as one that is not: not that it is what has encrypted a run, and not which run a result is of.
// What comes encrypted stays as it is. What it filters by input, it filters itself.
type quiet struct {
	*crypt.World
	queues *defined
}

func newQuiet(t testing.TB) world.World {
	w := crypt.Wrap(memory.New(), ring(t, own))
	return quiet{w, &defined{Messenger: w.Messages(), limits: make(map[string][]world.SaidLimit)}}
}

// own is the ID of its key.
const own = "k1"

// hide takes out what it has added to a run's row.
func hide(r *world.Run) {
	if r.Encryption == own {
		r.Encryption = ""
	}
}

func (w quiet) Run(ctx context.Context, id string) (world.Run, error) {
	row, err := w.World.Run(ctx, id)
	hide(&row)
	return row, err
}

func (w quiet) Runs(ctx context.Context, q world.RunQuery) (world.RunPage, error) {
	below := q
	below.Input = nil
	page, err := w.World.Runs(ctx, below)
	page.Runs = slices.DeleteFunc(page.Runs, func(r world.Run) bool {
		hide(&r)
		holds, bad := q.Holds(&r)
		return !holds || bad != nil
	})
	for i := range page.Runs {
		hide(&page.Runs[i])
	}
	return page, err
}

func (w quiet) Events(ctx context.Context, run string, q world.EventQuery) (world.EventPage, error) {
	page, err := w.World.Events(ctx, run, q)
	nameless(page.Events)
	return page, err
}

func (w quiet) Commit(ctx context.Context, c *world.Commit) (world.Committed, error) {
	done, err := w.World.Commit(ctx, c)
	nameless(done.Events)
	return done, err
}

func (w quiet) Outcome(ctx context.Context, c *world.Commit) (world.Committed, error) {
	done, err := w.World.Outcome(ctx, c)
	nameless(done.Events)
	return done, err
}

func (w quiet) Claim(ctx context.Context, q world.ClaimQuery) (world.Claimed, error) {
	claimed, err := w.World.Claim(ctx, q)
	for i := range claimed.Runs {
		nameless(claimed.Runs[i].Log)
		for k := range claimed.Runs[i].Mail {
			nameless(claimed.Runs[i].Mail[k].Events)
		}
	}
	return claimed, err
}

func (w quiet) Heartbeat(ctx context.Context, q world.HeartbeatQuery) (world.Heartbeat, error) {
	b, err := w.World.Heartbeat(ctx, q)
	for i := range b.Mail {
		nameless(b.Mail[i].Events)
	}
	return b, err
}

// Messages are the world's, but that its sender has the definition of each queue: it tells the keys of limits, which
// the world below cannot read.
func (w quiet) Messages() world.Messenger { return w.queues }

type defined struct {
	world.Messenger
	mu     sync.Mutex
	limits map[string][]world.SaidLimit // by queue
}

func (d *defined) DeclareQueue(ctx context.Context, q world.MessageQueue) error {
	err := d.Messenger.DeclareQueue(ctx, q)
	if err == nil && q.Limits != nil {
		d.mu.Lock()
		d.limits[q.Name] = q.Limits
		d.mu.Unlock()
	}
	return err
}

func (d *defined) SendMessages(ctx context.Context, all []world.Message) ([]world.Sent, error) {
	all = slices.Clone(all)
	d.mu.Lock()
	for i := range all {
		m := &all[i]
		for _, l := range d.limits[m.Queue] {
			if key, err := world.KeyAt(m.Payload, l.Path); err == nil && l.Path != "" && m.Keys[l.Name] == "" {
				keys := map[string]string{l.Name: key}
				maps.Copy(keys, m.Keys)
				m.Keys = keys
			}
		}
	}
	d.mu.Unlock()
	return d.Messenger.SendMessages(ctx, all)
}

func nameless(events []world.Event) {
	for i := range events {
		if e := &events[i]; e.Type == world.StepCompleted || e.Type == world.StepFailed {
			e.Peer = ""
		}
	}
}

func TestWorld(t *testing.T) {
	worldtest.RunOver(t, newQuiet, sample.Share(t, 4))
}

// asked is a world that notes what it is asked the outcome of.
type asked struct {
	world.World
	commits []*world.Commit
}

func (w *asked) Outcome(ctx context.Context, c *world.Commit) (world.Committed, error) {
	w.commits = append(w.commits, c)
	return w.World.Outcome(ctx, c)
}

// TestOutcomeIsAskedForEncrypted: a world below that is far away hears of a commit in doubt what it heard of the commit, and no payload.
func TestOutcomeIsAskedForEncrypted(t *testing.T) {
	below := &asked{World: memory.New()}
	w := crypt.Wrap(below, ring(t, "k1"))
	c := &world.Commit{ID: [16]byte{1}, Run: "wrun_1", First: 1, Events: []world.Event{{
		Type: world.RunCreated, Time: time.Unix(1, 0), Payload: json.RawMessage(secret), Birth: &world.Birth{Workflow: "w", Version: 1},
	}}}
	if _, err := w.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Outcome(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if string(c.Events[0].Payload) != secret {
		t.Errorf("the commit was changed: %s", c.Events[0].Payload)
	}
	if n := len(below.commits); n != 1 {
		t.Fatalf("asked %d times, want once", n)
	}
	if e := below.commits[0].Events[0]; e.Encrypted != "k1" || !crypt.LooksEncrypted(e.Payload) {
		t.Errorf("asked with %s, sealed %q; want it encrypted", e.Payload, e.Encrypted)
	}
}
