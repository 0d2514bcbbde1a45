// Damage: what is kept of one run is changed behind the world's back. Nothing panics, all others go on, and the run is named.

package worldtest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// DamageStore is a store whose storage a test can damage.
type DamageStore interface {
	// Open opens a World on the storage.
	Open(t testing.TB) world.World
	// Keep saves the storage for Restore. No World is open then.
	Keep(t testing.TB)
	// Restore restores what Keep saved.
	Restore(t testing.TB)
	// Columns returns all tables with their columns.
	Columns(t testing.TB) [][2]string
	// Spoil damages a column in one of the ways of [Hows]: in the rows of a run, of the queue with
	// the name of the run's workflow, or all rows of another table. It returns false if there is no
	// such row, or the store does not permit it.
	Spoil(t testing.TB, table, column, how, run string) bool
	// Exec runs a statement on the tables, and returns the number of changed rows.
	Exec(t testing.TB, text string) int64
	// Count runs a statement that counts.
	Count(t testing.TB, text string) int
	// Orphan deletes the row of a run, and leaves its other data.
	Orphan(t testing.TB, run string)
}

// Hows are the ways of [DamageStore].Spoil: a flipped bit, impossible text, null, another type or
// the lowest value, the highest value.
var Hows = []string{"flip", "garbage", "null", "type", "huge"}

// named are the columns of which a flipped bit must be found by whoever reads the row.
var named = map[string][]string{
	"log":    {"head", "body", "seq"},
	"inbox":  {"head", "body"},
	"tasks":  {"input", "options", "workflow"},
	"chunks": {"data"},
	"runs":   {"workflow", "priority", "parent_step", "retention_ns", "output", "output_apart", "error"},

	"apart_pieces":   {"data", "sum"},
	"messages":       {"head", "body", "sum"}, // where they stand in the row of the message
	"message_bodies": {"head", "body", "sum"},
	"publications":   {"topic", "source", "head", "body", "sum"},
	"subscriptions":  {"name", "said", "sum"},
}

// RunDamage tests a store with damage in each column of each table, in each of [Hows]. With each,
// it calls everything that reads the table: lists, one run, its log, streams, tasks and hooks,
// counts, ready lists, claims, commits, deliveries, heartbeats, the sweep and the doctor. Nothing
// may panic or fail for other runs, and a flipped bit under a checksum must be reported. some
// selects cases; nil: all. The test fails if its data has no value in some column, as after a
// migration that adds a table.
func RunDamage(t *testing.T, s DamageStore, some func(table, column, how string) bool) {
	ids := damageScene(t, s.Open(t))
	columns := s.Columns(t)
	if slices.Contains(columns, [2]string{"limit_line", "run"}) { // it stands there by mistake: it has no limits
		if slices.Contains(columns, [2]string{"limit_keys", "text"}) {
			s.Exec(t, "INSERT INTO limit_line SELECT k.key, 0, 0, r.key FROM limit_keys k, runs r WHERE k.text = 'key' AND r.id = '"+ids.victim+"'")
		} else {
			at := " SELECT 'damaged/key', 0, now(), r.key FROM runs r WHERE r.id = '" + ids.victim + "'"
			s.Exec(t, "INSERT INTO limit_line (key, urgency, place, run)"+at)
			s.Exec(t, "INSERT INTO limit_news (key, kind, urgency, place, run)"+strings.Replace(at, ", 0,", ", 2, 0,", 1))
			s.Exec(t, "INSERT INTO limit_keys VALUES ('damaged/key', 1)")
		}
	}
	if past := "now() - interval '1 day'"; slices.Contains(columns, [2]string{"lapses", "run"}) { // it was to have begun
		if slices.Contains(columns, [2]string{"lapses", "due_us"}) {
			past = "1"
		}
		s.Exec(t, "INSERT INTO lapses SELECT "+past+", key, 1 FROM runs WHERE id IN ('"+ids.victim+"', '"+ids.over+"')")
	}
	if slices.Contains(columns, [2]string{"buckets", "run"}) { // it gathers by mistake
		until := "now() + interval '1 day'"
		if slices.Contains(columns, [2]string{"buckets", "until_us"}) {
			until = strconv.FormatInt(world.Now().Add(24*time.Hour).UnixMicro(), 10)
		}
		s.Exec(t, "INSERT INTO buckets SELECT 'victim', 'k', key, 1000, 0, "+until+", 1, 8 FROM runs WHERE id = '"+ids.victim+"'")
	}
	s.Keep(t)
	if len(columns) < 80 {
		t.Fatalf("the schema has %d columns", len(columns))
	}
	tried := 0
	for _, at := range columns {
		for _, how := range Hows {
			if some != nil && !some(at[0], at[1], how) {
				continue
			}
			for _, run := range []string{ids.victim, ids.over} {
				name := fmt.Sprintf("%s.%s/%s/%s", at[0], at[1], how, map[bool]string{true: "over", false: "alive"}[run == ids.over])
				t.Run(name, func(t *testing.T) {
					s.Restore(t)
					w := s.Open(t)
					r := newRig(t, w)
					k := r.worker("victim", "good", "over")
					if !s.Spoil(t, at[0], at[1], how, run) {
						return
					}
					tried++
					r.damaged(k, ids, run, how == "flip" && slices.Contains(named[at[0]], at[1]))
				})
			}
		}
	}
	if some == nil && tried == 0 {
		t.Errorf("%d kinds of damage were tried", tried)
	}
	t.Run("every column", func(t *testing.T) {
		for _, at := range columns {
			s.Restore(t)
			if !slices.ContainsFunc(Hows, func(how string) bool {
				return s.Spoil(t, at[0], at[1], how, ids.victim) || s.Spoil(t, at[0], at[1], how, ids.over)
			}) {
				t.Errorf("%s.%s is not in the scene: no test has seen it damaged", at[0], at[1])
			}
		}
	})
	t.Run("a piece", func(t *testing.T) {
		s.Restore(t)
		r := newRig(t, s.Open(t))
		if !s.Spoil(t, "apart_pieces", "data", "flip", ids.victim) {
			t.Fatal("the run holds no value apart")
		}
		_, err := r.w.Values().Piece(r.ctx, ids.victim, ids.value, 0)
		if c, ok := errors.AsType[*world.CorruptError](err); !ok || c.Run != ids.victim || !strings.Contains(err.Error(), ids.value) {
			t.Errorf("a damaged piece: %v; want an ErrCorrupt that names the run and the value", err)
		}
		v, err := world.Verify(r.ctx, r.w, world.VerifyQuery{})
		r.must(err, "verify")
		if len(v.Damaged) != 1 || v.Damaged[0].Run != ids.victim || !strings.Contains(v.Damaged[0].What, ids.value) {
			t.Errorf("verified: %+v; want the run and the value", v.Damaged)
		}
		r.same(r.kept(ids.good, ids.goodValue), []string{"good"}, "pieces of another run")
	})
	t.Run("a message", func(t *testing.T) { damagedMessage(t, s) })
	t.Run("without its row", func(t *testing.T) {
		s.Restore(t)
		w := s.Open(t)
		r := newRig(t, w)
		k := r.worker("victim", "good", "over")
		s.Orphan(t, ids.victim)
		r.damaged(k, ids, ids.victim, false)
		if d := r.able.Doctor; d != nil {
			all, err := world.Findings(r.ctx, d)
			r.must(err, "examine")
			if !slices.ContainsFunc(all, func(f world.Finding) bool { return f.Check == "rows of no run" && f.Health == world.HealthBad }) {
				t.Errorf("doctor does not name rows of no run: %+v", all)
			}
		}
	})
}

type damageIDs struct{ victim, over, good, value, goodValue string }

// damagedMessage damages one message of a queue, head or body: it comes as the others do, with what is wrong,
// and can be ended.
func damagedMessage(t *testing.T, s DamageStore) {
	table := "messages"
	if slices.ContainsFunc(s.Columns(t), func(at [2]string) bool { return at[0] == "message_bodies" }) {
		table = "message_bodies"
	}
	for column, to := range map[string]string{"head": `'{"h":{"a":"b"}}'`, "body": "'7'"} {
		t.Run(column, func(t *testing.T) {
			s.Restore(t)
			r := newRig(t, s.Open(t))
			first := "(SELECT min(m.key) FROM messages m JOIN queues q ON q.key = m.queue WHERE q.name = 'victim' AND m.grp IS NULL AND NOT m.dead AND m.places IS NULL)"
			if n := s.Exec(t, "UPDATE "+table+" SET "+column+" = "+to+" WHERE key = "+first); n != 1 {
				t.Fatalf("%d messages changed", n)
			}
			q := r.w.Messages()
			got, err := q.ReceiveMessages(r.ctx, world.ReceiveQuery{Queue: "victim", Limit: 10})
			r.must(err, "receive")
			r.same(textsOf(got.Messages)[:2], []string{"", "free 2"}, "messages of no group that come first")
			if m := got.Messages[0]; !strings.Contains(m.Damage, m.ID) || m.Payload != nil || m.Headers != nil || got.Messages[1].Damage != "" {
				t.Errorf("received %+v; want the first with what is wrong, and nothing of what it says", got.Messages)
			}
			ended, err := q.SettleMessages(r.ctx, []world.Settlement{{Receipt: got.Messages[0].Receipt, Kind: world.Ack}, {Receipt: got.Messages[1].Receipt, Kind: world.Ack}})
			r.must(err, "settle")
			r.same(ended, []bool{true, true}, "what was ended")
		})
	}
}
