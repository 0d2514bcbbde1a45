package behaviour_test

// Encrypted logs whose bytes were changed under the program: each blocks its run, is never overwritten, and heals when they are put back.

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// logRow is a row of a log in a file.
type logRow struct {
	head string
	body []byte
}

// rowsInFile reads the rows of a run's log, by the number of their first event.
func rowsInFile(t *testing.T, path, run string) map[int]logRow {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // it was read
	rows, err := db.Query("SELECT seq, head, body FROM log WHERE run = (SELECT key FROM runs WHERE id = ?1)", run)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }() // it was read
	all := map[int]logRow{}
	for rows.Next() {
		var seq int
		var r logRow
		if err := rows.Scan(&seq, &r.head, &r.body); err != nil {
			t.Fatal(err)
		}
		all[seq] = r
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// changedRow is a row whose first envelope has another byte at a place: at 0 to 3 lie version, codec, compression and where the bytes are; at -1 the last one
// of the tag.
func changedRow(t *testing.T, r logRow, at int, change byte) logRow {
	t.Helper()
	begin := bytes.Index(r.body, []byte(`"sealed:`)) + len(`"sealed:`)
	size := bytes.IndexByte(r.body[max(begin, 0):], '"')
	if begin < len(`"sealed:`) || size < 0 {
		t.Fatalf("no envelope in %s", r.body)
	}
	raw, err := base64.RawStdEncoding.DecodeString(string(r.body[begin : begin+size]))
	if err != nil {
		t.Fatal(err)
	}
	if at < 0 {
		at += len(raw)
	}
	raw[at] ^= change
	body := bytes.Clone(r.body)
	base64.RawStdEncoding.Encode(body[begin:], raw)
	return logRow{r.head, body}
}

// TestAChangedEnvelopeBlocksItsRun: a payload that was changed, and a row that is another run's, are a corrupt log; a format that is not known is one.
func TestAChangedEnvelopeBlocksItsRun(t *testing.T) {
	for name, test := range map[string]struct {
		code string
		row  func(t *testing.T, own, other logRow) logRow
	}{
		"a changed payload": {world.CodeCorrupt, func(t *testing.T, own, _ logRow) logRow { return changedRow(t, own, -1, 1) }},
		"another run's row": {world.CodeCorrupt, func(_ *testing.T, _, other logRow) logRow { return other }},
		"an unknown codec":  {world.CodeFormat, func(t *testing.T, own, _ logRow) logRow { return changedRow(t, own, 1, 1<<6) }},
		"a later version":   {world.CodeFormat, func(t *testing.T, own, _ logRow) logRow { return changedRow(t, own, 0, 1<<1) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { changedEnvelope(t, test.code, test.row) })
		})
	}
}

func changedEnvelope(t *testing.T, code string, change func(t *testing.T, own, other logRow) logRow) {
	path := filepath.Join(t.TempDir(), "runs.db")
	cfg := stepwell.Config{Definitions: []stepwell.Definition{confides}, Encryption: keysOf(t, "k1")}
	w := openFile(t, path)
	wk := begin(t, w, cfg)
	var runs []*stepwell.Run[string]
	for _, in := range []string{"one", "two"} {
		run, err := confides.Start(t.Context(), wk.App, in)
		if err != nil {
			t.Fatal(err)
		}
		until(t, "the wait", func() bool { return len(eventsOf(t, w, run.ID(), world.WaitCreated)) == 1 })
		runs = append(runs, run)
	}
	done := eventsOf(t, w, runs[0].ID(), world.StepCompleted)
	if len(done) != 1 {
		t.Fatalf("%d steps are over, want 1", len(done))
	}
	hurt, seq := runs[0].ID(), int(done[0].Commit)
	wk.stop(t)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const set = "UPDATE log SET head = ?1, body = ?2, sum = NULL WHERE seq = ?3 AND run = (SELECT key FROM runs WHERE id = ?4)"
	own := rowsInFile(t, path, hurt)
	bad := change(t, own[seq], rowsInFile(t, path, runs[1].ID())[seq])
	if bytes.Equal(bad.body, own[seq].body) {
		t.Fatal("nothing was changed")
	}
	execute(t, path, set, bad.head, bad.body, seq, hurt)
	w = openFile(t, path)
	wk = begin(t, w, cfg)
	if err := confided.Send(t.Context(), wk.App, hurt, "x"); err != nil {
		t.Fatal(err)
	}
	var b *world.Block
	until(t, "the run to be blocked", func() bool {
		row, err := wk.Get(t.Context(), hurt)
		if err != nil {
			t.Fatal(err)
		}
		b = row.Queue.Blocked
		return b != nil
	})
	if b.Code != code {
		t.Errorf("blocked = %s: %s, want %s", b.Code, b.Message, code)
	}
	if want := done[0].Seq; code == world.CodeCorrupt && b.Seq != want || !strings.Contains(b.Message, fmt.Sprintf("event %d", want)) {
		t.Errorf("blocked at event %d: %s, want event %d", b.Seq, b.Message, want)
	}
	if strings.Contains(b.Message, "sealed:") || strings.Contains(b.Message, "one") {
		t.Errorf("the block shows a payload: %s", b.Message)
	}
	if err := confided.Send(t.Context(), wk.App, runs[1].ID(), "y"); err != nil { // no other run is held up
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if got, err := confides.Get(wk.App, runs[1].ID()).Result(ctx); err != nil || got != "two y" {
		t.Errorf("the other run = %q, %v", got, err)
	}
	wk.stop(t)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	left := rowsInFile(t, path, hurt)
	if len(left) != len(own) || left[seq].head != bad.head || !bytes.Equal(left[seq].body, bad.body) {
		t.Errorf("%d rows, and event %d is %s; want %d, and what lay there", len(left), seq, left[seq].body, len(own))
	}
	execute(t, path, set, own[seq].head, own[seq].body, seq, hurt)
	wk = begin(t, openFile(t, path), cfg)
	if got, err := confides.Get(wk.App, hurt).Result(ctx); err != nil || got != "one x" {
		t.Errorf("the healed run = %q, %v", got, err)
	}
}
