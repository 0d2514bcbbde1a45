package behaviour_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
)

// A start with an ID and an idempotency key is sent again safely: both belong to the run that is there, wherever it is worked on. An ID and a key of two runs are
// no start of either.
func TestStartAgainWithIDAndKey(t *testing.T) {
	wf, other := serial(1), stepwell.Define("other", func(_ stepwell.Context, n int) (int, error) { return n, nil })
	everyWay(t, func(r *rig) {
		begin := func(app *stepwell.App, id, key string) (*stepwell.Run[int], error) {
			return wf.Start(r.ctx, app, 1, stepwell.RunID(id), stepwell.Key(key))
		}
		client := r.client()
		for _, id := range []string{"in-the-queue", "at-once"} {
			first, err := begin(client, id, "key-"+id)
			if err != nil || first.Existed() {
				r.Fatalf("%s: %v, existed %v", id, err, first.Existed())
			}
			if id == "in-the-queue" {
				again, err := begin(client, id, "key-"+id)
				if err != nil || again.ID() != id || !again.Existed() {
					r.Fatalf("%s, pending: got %v, %v", id, again, err)
				}
			}
			wk := r.begin(wf, other)
			want(r, first, 1)
			for who, app := range map[string]*stepwell.App{"client": client, "worker": wk.App} {
				again, err := begin(app, id, "key-"+id)
				if err != nil || again.ID() != id || !again.Existed() {
					r.Fatalf("%s, over, from the %s: got %v, %v", id, who, again, err)
				}
				want(r, again, 1)
			}
			if id == "at-once" {
				for who, app := range map[string]*stepwell.App{"client": client, "worker": wk.App} {
					_, err := begin(app, "at-once", "key-in-the-queue")
					if !errors.Is(err, stepwell.ErrRunExists) || !strings.Contains(err.Error(), "run at-once:") || !strings.Contains(err.Error(), "run in-the-queue") {
						r.Errorf("ID and key of two runs, from the %s: %v, want both named", who, err)
					}
					_, err = other.Start(r.ctx, app, 1, stepwell.RunID("at-once"), stepwell.Key("key-at-once"))
					if _, free := begin(app, "at-once", "free"); !errors.Is(err, stepwell.ErrRunExists) || !errors.Is(free, stepwell.ErrRunExists) {
						r.Errorf("another workflow, another key, from the %s: %v, %v, want %v", who, err, free, stepwell.ErrRunExists)
					}
				}
			}
			wk.stop(r)
		}
	})
}
