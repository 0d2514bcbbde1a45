package behaviour_test

// This file holds law 8 (docs/design/README.md#law-8) for runs that continue: one run is killed again and again, with kill -9,
// before and after each commit that a process makes of it, and is sent something at that very moment.

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// gatherer is the workflow of internal/tools/waiters that goes on after each two notes.
const gatherer = "gatherer"

// killContinuing lets a run that continues live through many deaths, one a process: each note that was sent is taken once, in order.
func killContinuing(t *testing.T, bin string) {
	const commits = 6 // of a process, at each of which one dies
	dir := t.TempDir()
	file := openFile(t, filepath.Join(dir, "runs.db"))
	app, err := stepwell.New(file, stepwell.Config{Name: "client"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	run, err := app.Start(ctx, gatherer, json.RawMessage(`{"left":0}`), stepwell.RunID(gatherer))
	if err != nil {
		t.Fatal(err)
	}
	var sent []string
	send := func(text string) {
		if err := note.Send(ctx, app, run.ID(), text); err != nil {
			t.Fatal(err)
		}
		sent = append(sent, text)
	}
	for n := range commits {
		for _, late := range []bool{false, true} {
			for i := range 2*n + 4 { // a commit takes two at most
				send(fmt.Sprintf("%d/%v/%d", n+1, late, i))
			}
			last := fmt.Sprintf("%d/%v/last", n+1, late)
			worker := startWaiting(t, waitingVictim{bin: bin, Dir: dir, N: n + 1, Late: late, Note: last})
			select {
			case <-worker.ended:
			case <-ctx.Done():
				t.Fatalf("the worker does not die at commit %d, after %v", n+1, late)
			}
			if worker.said.Len() > 0 {
				t.Fatalf("commit %d, after %v: the worker ended: %s", n+1, late, worker.said)
			}
			sent = append(sent, last)
		}
	}
	all := strings.Join(sent, " ")
	send("stop")
	worker := startWaiting(t, waitingVictim{bin: bin, Dir: dir})
	var got string
	out, err := run.Result(ctx)
	if err == nil {
		err = json.Unmarshal(out, &got)
	}
	worker.stop()
	<-worker.ended
	if err != nil || got != all {
		t.Errorf("it took\n%s, %v\nwant each that was sent, in order, once:\n%s", got, err, all)
	}
	events := eventsOf(t, file, run.ID())
	checkLog(t.Errorf, run.ID(), events)
	segments := 0
	for _, e := range events {
		if e.Type == world.RunContinued {
			segments++
		}
	}
	if want := len(sent) / 2; segments != want {
		t.Errorf("%d continuations, want %d: one for each two notes", segments, want)
	}
}
