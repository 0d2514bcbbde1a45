package sqlite

// Workers that live behind a server: the process that has the file may end and come back without taking their leases from them.

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

func joinRemote(t testing.TB, w *World, lease time.Duration, classes ...world.Class) world.Worker {
	t.Helper()
	wk := world.Worker{
		ID: world.NewID(world.PrefixWorker, time.Now()), Name: "elsewhere", Build: "b1", Lease: lease, Classes: classes, Steps: []string{"task"}, Remote: true,
	}
	if _, err := w.Join(t.Context(), wk); err != nil {
		t.Fatal(err)
	}
	return wk
}

// restart ends the process that has a file, as far as the file can tell, and begins another.
func restart(t testing.TB, w *World) *World {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return openAt(t, w.path)
}

func TestRemoteWorkersOutliveTheServer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	w := openAt(t, path)
	local, far := join(t, w, time.Hour, class1), joinRemote(t, w, time.Hour, class1)
	must(t, w, eager("near", "w", local.ID))
	must(t, w, eager("far", "w", far.ID))
	must(t, w, &world.Commit{
		ID: commitID(), Run: "far", Worker: far.ID, Claim: 1, First: 3,
		Events: []world.Event{{Type: world.StepCreated, ID: "step_1", Kind: world.KindTask, Name: "task", Queued: true, Time: world.Now(), Payload: json.RawMessage(`1`)}},
		Tasks:  []world.Task{{Step: "step_1", Name: "task", Workflow: "w", Priority: 1}},
	})
	task := claim(t, w, far, 10).Tasks[0]

	next := &world.Commit{ID: commitID(), Run: "far", Worker: far.ID, Claim: 1, First: 4, Events: []world.Event{{Type: world.SignalReceived, Time: world.Now(), Name: "go"}}}
	calls := map[string]func(w *World) error{ // each may be the first that the new process hears of
		"commit": func(w *World) error { _, err := w.Commit(t.Context(), next); return err },
		"beat": func(w *World) error {
			b, err := w.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: far.ID, Tasks: []world.TaskKey{{Run: "far", Step: "step_1", Attempt: 1}}})
			if len(b.Ended)+len(b.Lost) > 0 {
				t.Errorf("heartbeat: got %+v, want that all is held still", b)
			}
			return err
		},
		"append": func(w *World) error {
			_, err := w.Append(t.Context(), &world.Append{
				Run: "far", Worker: far.ID, Claim: 1, StreamWrite: world.StreamWrite{Stream: "s", Chunks: []json.RawMessage{json.RawMessage(`1`)}},
			})
			return err
		},
		"take": func(w *World) error {
			got, err := w.Claim(t.Context(), world.ClaimQuery{Worker: far.ID, Classes: far.Classes, Runs: 10, Steps: far.Steps, Tasks: 10})
			if len(got.Runs) != 1 || got.Runs[0].Run != "near" || len(got.Tasks) != 0 {
				t.Errorf("took %+v, want the run of the worker that died with the process", got)
			}
			return err
		},
		"end of the task": func(w *World) error {
			_, err := w.Deliver(t.Context(), &world.Delivery{Worker: far.ID, Task: &world.TaskKey{Run: "far", Step: "step_1", Attempt: task.Attempt}, Events: []world.Event{
				{Type: world.StepStarted, ID: "step_1", Attempt: 1, Time: world.Now()}, {Type: world.StepCompleted, ID: "step_1", Attempt: 1, Time: world.Now()},
			}})
			return err
		},
	}
	for _, name := range []string{"commit", "beat", "append", "take", "end of the task"} {
		w = restart(t, w)
		if err := calls[name](w); err != nil {
			t.Fatalf("%s after a restart: %v", name, err)
		}
	}
	_, err := w.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: local.ID})
	wantErr(t, err, world.ErrLeaseLost)

	w = restart(t, w)
	another := join(t, w, time.Hour, class1)
	if got := claim(t, w, another, 10); len(got.Runs) != 0 {
		t.Fatalf("took %+v, want nothing: the remote worker has all", got.Runs)
	}
	stats, err := w.Stats(t.Context())
	if err != nil || len(stats.Workers) != 2 || !stats.Workers[0].Remote || stats.Workers[1].Remote || stats.Workers[0].Runs != 2 {
		t.Fatalf("got workers %+v, %v; want the remote one, with two runs, and the other", stats.Workers, err)
	}
	w = restart(t, w)
	if err := w.Leave(t.Context(), far.ID); err != nil {
		t.Fatal(err)
	}
	if got := claim(t, w, join(t, w, time.Hour, class1), 10); len(got.Runs) != 2 || got.Runs[0].Strikes+got.Runs[1].Strikes != 0 {
		t.Fatalf("took %+v, want both runs with no strike: their worker left", got.Runs)
	}
}

// A remote worker that is not heard of again has one lease more, and then its runs come back.
func TestRemoteWorkerIsGone(t *testing.T) {
	t.Parallel()
	w := open(t)
	far := joinRemote(t, w, 100*time.Millisecond, class1)
	must(t, w, eager("r1", "w", far.ID))
	w = restart(t, w)
	heir := join(t, w, time.Hour, class1)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); ; <-tick.C {
		if got := claim(t, w, heir, 1); len(got.Runs) == 1 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the run did not come back")
		}
	}
	_, err := w.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: far.ID})
	wantErr(t, err, world.ErrLeaseLost)
}

// While one process serves a remote worker another one beside it does not.
func TestRemoteWorkerElsewhere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	w, beside := openAt(t, path), openAt(t, path)
	far := joinRemote(t, w, time.Hour, class1)
	must(t, w, eager("r1", "w", far.ID))
	_, err := beside.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: far.ID})
	wantErr(t, err, world.ErrLeaseLost)
	if _, err := w.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: far.ID}); err != nil {
		t.Fatal(err)
	}
}
