package behaviour_test

// Values that are streams: they go wherever values go, and are held by whom they come to.

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/blob"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
)

// noise gives bytes that do not compress, and that no other seed gives.
func noise(seed uint64, n int64) io.Reader {
	var key [32]byte
	key[0], key[1] = byte(seed), byte(seed>>8)
	return io.LimitReader(rand.NewChaCha8(key), n)
}

// printOf is a fingerprint of what a reader gives: one by instructions of the processor, as the race detector looks at
// each byte that Go sums up.
func printOf(r io.Reader) (string, error) {
	sum := sha256.New()
	n, err := io.Copy(sum, r)
	return fmt.Sprintf("%d bytes %x", n, sum.Sum(nil)), err
}

// printed reads a blob in a body.
func printed(ctx context.Context, ref blob.Ref) (string, error) {
	r, err := blob.Open(ctx, ref)
	if err != nil {
		return "", err
	}
	defer func() { _ = r.Close() }()
	return printOf(r)
}

// parcel is a value with blobs in it.
type parcel struct {
	Name  string
	Files []blob.Ref
	More  map[string]any
}

// blobs are workflows whose values are streams.
type blobs struct {
	run, child *stepwell.Workflow[parcel, parcel]
	task       *stepwell.RegisteredStep[parcel, parcel]
	size       int64
}

func (b *blobs) definitions() []stepwell.Definition {
	return []stepwell.Definition{b.run, b.child, b.task}
}

// prints are of all files of a parcel.
func prints(ctx context.Context, p parcel) (all []string, err error) {
	for _, ref := range p.Files {
		of, err := printed(ctx, ref)
		if err != nil {
			return nil, err
		}
		all = append(all, of)
	}
	return all, nil
}

func newBlobs(size int64) *blobs {
	b := &blobs{size: size}
	make := func(ctx context.Context, p parcel, seed uint64) (parcel, error) {
		ref, err := blob.From(ctx, noise(seed, b.size))
		p.Files = append(p.Files, ref)
		return p, err
	}
	b.task = stepwell.DefineStep("task", func(ctx context.Context, p parcel) (parcel, error) {
		if _, err := prints(ctx, p); err != nil {
			return p, err
		}
		return make(ctx, p, 2)
	})
	b.child = stepwell.Define("blob-child", func(ctx stepwell.Context, p parcel) (parcel, error) {
		return stepwell.Step(ctx, "again", func(ctx context.Context) (parcel, error) {
			if _, err := prints(ctx, p); err != nil {
				return p, err
			}
			return make(ctx, p, 3)
		})
	})
	b.run = stepwell.Define("blobs", func(ctx stepwell.Context, p parcel) (parcel, error) {
		if len(p.Files) > 3 {
			return p, stepwell.Do(ctx, "read", func(ctx context.Context) error { _, err := prints(ctx, p); return err })
		}
		p, err := stepwell.Step(ctx, "make", func(ctx context.Context) (parcel, error) { return make(ctx, p, 1) })
		if err != nil {
			return p, err
		}
		both, err := stepwell.All(ctx, b.task.Start(ctx, p), b.task.Start(ctx, p), b.task.Start(ctx, p), b.task.Start(ctx, p))
		if err != nil {
			return p, err
		}
		p = both[1]
		if err := stepwell.Sleep(ctx, "rest", time.Minute); err != nil {
			return p, err
		}
		if p, err = b.child.Child().Run(ctx, p); err != nil {
			return p, err
		}
		return p, stepwell.ContinueAsNew(ctx, p)
	})
	return b
}

// wants reads a blob that a run holds, and compares it.
func (r *rig) wantsBlob(app *stepwell.App, run string, ref blob.Ref, seed uint64, size int64) {
	r.Helper()
	want, _ := printOf(noise(seed, size))
	from, err := blob.Read(r.ctx, app, run, ref)
	if err != nil {
		r.Fatal(err)
	}
	if got, err := printOf(from); err != nil || got != want {
		r.Errorf("blob %d: %s, %v, want %s", seed, got, err, want)
	}
	if err := errors.Join(from.Close(), from.Close()); err != nil {
		r.Error(err)
	}
	if _, err := from.Read(make([]byte, 1)); err == nil {
		r.Error("a closed reader reads")
	}
}

// TestBlobs: what is made as a stream goes through steps in place and queued, a child, a segment and to the client, in
// the values that name it, and the log has none of it.
func TestBlobs(t *testing.T) {
	t.Parallel()
	everyWay(t, func(r *rig) {
		b := newBlobs(world.ApartPiece * 5 / 2)
		app := r.begin(b.definitions()...).App
		in, err := blob.Put(r.ctx, app, "mine", noise(0, b.size))
		if err != nil {
			r.Fatal(err)
		}
		run, err := b.run.Start(r.ctx, app, parcel{Name: "x", Files: []blob.Ref{in}}, stepwell.RunID("mine"))
		if err != nil {
			r.Fatal(err)
		}
		got, err := run.Result(r.ctx)
		if err != nil || len(got.Files) != 4 {
			r.Fatalf("%+v, %v", got, err)
		}
		for i, ref := range got.Files {
			r.wantsBlob(app, run.ID(), ref, uint64(i), b.size)
			from, size, err := app.OpenValue(r.ctx, run.ID(), ref.ID())
			if err != nil || size != b.size {
				r.Fatal(size, err)
			}
			if _, err := io.Copy(io.Discard, from); err != nil {
				r.Error(err)
			}
		}
		row, err := app.Get(r.ctx, run.ID())
		if err != nil || row.OutputApart != "" || row.InputApart != "" {
			r.Errorf("the output is said to be apart: %+v, %v", row, err)
		}
		named := 0
		for _, e := range r.events(run.ID()) {
			if len(e.Payload) > 2000 {
				r.Errorf("event %d (%s) has %d bytes", e.Seq, e.Type, len(e.Payload))
			}
			if _, names := world.SplitApart(e.Apart); len(names) > 0 {
				named++
			}
		}
		if named < 7 {
			r.Errorf("%d events name blobs", named)
		}
		if _, err := b.run.Start(r.ctx, app, parcel{Files: got.Files[:1]}, stepwell.RunID("other")); err != nil {
			r.Fatal(err)
		}
		_, err = b.run.Get(app, "other").Result(r.ctx)
		if !errors.Is(err, stepwell.ErrNotFound) && (err == nil || !strings.Contains(err.Error(), "does not hold")) {
			r.Errorf("a run that holds none: %v", err)
		}
	})
}

// TestBlobsSurviveKills: see TestBigValuesSurviveKills.
func TestBlobsSurviveKills(t *testing.T) {
	t.Parallel()
	for _, op := range []faults.Op{faults.Commit, faults.Piece} {
		for _, late := range sample.OneFor(t, string(op), false, true) {
			t.Run(fmt.Sprintf("%s/after=%v", op, late), func(t *testing.T) {
				t.Parallel()
				on := sample.One(t, kinds...)[0]
				first, step := sample.Of(t, 3)
				killed := true
				for k := first; killed; k += step {
					bubble(t, on.open, modes[0].set, func(r *rig) { killed = blobsAreKilled(r, op, k, late) })
					if k == 1 && !killed {
						t.Errorf("nobody died: the failpoints are not reached")
					}
				}
			})
		}
	}
}

func blobsAreKilled(r *rig, op faults.Op, k int, late bool) bool {
	b := newBlobs(world.ApartPiece + 1000)
	cfg := stepwell.Config{Definitions: b.definitions()}
	app, err := stepwell.New(r.world, cfg)
	if err != nil {
		r.Fatal(err)
	}
	in, err := blob.Put(r.ctx, app, "mine", noise(0, b.size))
	if err != nil {
		r.Fatal(err)
	}
	run, err := b.run.Start(r.ctx, app, parcel{Files: []blob.Ref{in}}, stepwell.RunID("mine"))
	if err != nil {
		r.Fatal(err)
	}
	first := r.beginMortalAt(cfg, op, k, late)
	until(r, "a death, or the end", func() bool { return first.died.Load() || r.get(run.ID()).Status.Terminal() })
	first.stop()
	wk := r.beginWith(cfg)
	got, err := run.Result(r.ctx)
	if err != nil || len(got.Files) != 4 {
		r.dump(run.ID())
		r.Fatalf("killed at %s %d: %+v, %v", op, k, got, err)
	}
	for i, ref := range got.Files {
		r.wantsBlob(app, run.ID(), ref, uint64(i), b.size)
	}
	wk.stop(r)
	return first.died.Load()
}

func TestAValueThatIsAStreamGoesWhereValuesGo(t *testing.T) {
	shared(t, "a value that is a stream goes where values go")
}

func TestABlobThatWasSentBackIsHeldByAFork(t *testing.T) {
	shared(t, "a blob that was sent back is held by a fork")
}
