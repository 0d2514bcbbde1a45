package behaviour_test

// How blobs are held, when they go, and what is refused of them.

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"runtime/metrics"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/blob"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
)

var errBroken = errors.New("the source is broken")

// broken gives some bytes, and then an error.
func broken(n int64) io.Reader { return io.MultiReader(noise(9, n), errReader{}) }

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errBroken }

// TestBlobsUsedWrongly: each wrong use is refused with an error that says what it is, and leaves nothing.
func TestBlobsUsedWrongly(t *testing.T) {
	t.Parallel()
	onWorlds(t, func(r *rig) {
		const size = world.ApartPiece * 3 / 2
		var left context.Context
		var writer io.Writer
		secret := stepwell.Define("secret", func(ctx stepwell.Context, _ int) (blob.Ref, error) {
			return stepwell.Step(ctx, "make", func(ctx context.Context) (blob.Ref, error) { return blob.From(ctx, noise(1, size)) })
		})
		refused := func(what string, err, want error) {
			r.Helper()
			if !errors.Is(err, want) {
				r.Errorf("%s: %v, want %v", what, err, want)
			}
		}
		wf := stepwell.Define("wrong", func(ctx stepwell.Context, theirs blob.Ref) (int, error) {
			_, err := blob.Create(context.Background(), func(io.Writer) error { return nil })
			refused("make outside of a step", err, stepwell.ErrInvalid)
			_, err = blob.Open(context.Background(), theirs)
			refused("open outside of a step", err, stepwell.ErrInvalid)
			mine, err := stepwell.Step(ctx, "make", func(ctx context.Context) (blob.Ref, error) {
				left = ctx
				return blob.Create(ctx, func(w io.Writer) error { writer = w; _, err := io.Copy(w, noise(2, size)); return err })
			})
			if err != nil {
				return 0, err
			}
			err = stepwell.Do(ctx, "panic", func(ctx context.Context) error {
				_, err := blob.Create(ctx, func(w io.Writer) error { _, _ = io.Copy(w, noise(2, size)); panic("oh") })
				return err
			}, stepwell.Retry{Attempts: 1})
			if err == nil || !strings.Contains(err.Error(), "oh") {
				r.Errorf("a writer that panics: %v", err)
			}
			return 0, stepwell.Do(ctx, "use", func(ctx context.Context) error {
				for _, err := range []error{func() error { _, err := blob.From(left, noise(1, 1)); return err }(), func() error { _, err := blob.Open(left, mine); return err }()} {
					refused("the context of a step that has returned", err, stepwell.ErrInvalid)
				}
				if _, err := writer.Write([]byte("more")); err == nil {
					r.Error("a writer goes on when the blob is whole")
				}
				_, err := blob.From(ctx, broken(size))
				refused("a source that breaks", err, errBroken)
				for _, err := range []error{func() error { _, err := blob.Create(ctx, nil); return err }(), func() error { _, err := blob.From(ctx, nil); return err }()} {
					refused("nothing to write", err, stepwell.ErrInvalid)
				}
				_, err = blob.Open(ctx, theirs)
				refused("another run's blob", err, stepwell.ErrNotFound)
				_, err = blob.Open(ctx, blob.Ref{})
				refused("the zero Ref", err, stepwell.ErrInvalid)
				made := mine
				made.Blob.SHA256 = "x"
				_, err = blob.Open(ctx, made)
				refused("a Ref without a hash", err, stepwell.ErrInvalid)
				for what, change := range map[string]func(a *world.Apart){
					"hash": func(a *world.Apart) { a.SHA256 = strings.Repeat("0", 64) }, "smaller": func(a *world.Apart) { a.Size-- }, "larger": func(a *world.Apart) { a.Size += world.ApartPiece },
				} {
					made := mine
					change(&made.Blob)
					_, err := printed(ctx, made)
					refused("a Ref that says otherwise: "+what, err, world.ErrCorrupt)
				}
				one, err := blob.Open(ctx, mine)
				if err != nil {
					return err
				}
				if _, err := io.CopyN(io.Discard, one, 10); err != nil {
					return err
				}
				got, err := printed(ctx, mine) // beside the first, which is left in the middle
				if want, _ := printOf(noise(2, size)); got != want {
					r.Errorf("opened twice: %s, want %s", got, want)
				}
				return err
			})
		})
		wk := r.begin(secret, wf)
		theirs, err := start(r, wk, secret, 1).Result(r.ctx)
		if err != nil {
			r.Fatal(err)
		}
		run := start(r, wk, wf, theirs)
		want(r, run, 0)
		_, err = blob.Open(left, theirs)
		refused("open when the run is over", err, stepwell.ErrInvalid)
		_, err = blob.Read(r.ctx, wk.App, run.ID(), theirs)
		refused("read another run's blob", err, stepwell.ErrNotFound)
		_, err = blob.Read(r.ctx, nil, run.ID(), theirs)
		refused("no App", err, stepwell.ErrInvalid)
		_, err = blob.Put(r.ctx, wk.App, "\x00", noise(1, 1))
		refused("put for no run", err, stepwell.ErrInvalid)
		_, err = blob.Put(r.ctx, wk.App, "new", broken(size))
		refused("put from a source that breaks", err, errBroken)
		keys, err := r.world.Values().ValueKeys(r.ctx)
		if err != nil || len(keys) != 1 || keys[0].Runs != 2 {
			r.Errorf("values are held by %+v, %v, want two runs", keys, err)
		}
	})
}

// TestBlobsGoWithTheirRuns: an attempt that fails leaves nothing, and so does what its result does not name; forks,
// retries and who was told hold what they came to, and the last one's end is the end of it.
func TestBlobsGoWithTheirRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "runs.db")
		w := openFile(t, path)
		r := &rig{T: t, world: w, ctx: t.Context(), mode: modes[0].set}
		const size = world.ApartPiece + 10
		fail := true
		child := stepwell.Define("made", func(ctx stepwell.Context, _ int) (parcel, error) {
			ref, err := stepwell.Step(ctx, "make", func(ctx context.Context) (blob.Ref, error) {
				if _, err := blob.From(ctx, noise(8, size)); err != nil { // nobody gets this one
					return blob.Ref{}, err
				}
				ref, err := blob.From(ctx, noise(1, size))
				if err == nil && stepwell.Info(ctx).Attempt < 3 {
					err = errBroken
				}
				return ref, err
			})
			return parcel{Files: []blob.Ref{ref}}, err
		}, stepwell.Retention(time.Hour))
		wf := stepwell.Define("gets", func(ctx stepwell.Context, in parcel) (parcel, error) {
			p, err := child.Child().Run(ctx, 1)
			if err != nil {
				return p, err
			}
			p.Files = append(p.Files, in.Files...)
			return p, stepwell.Do(ctx, "read", func(ctx context.Context) error {
				if fail {
					return stepwell.Fatal(errBroken)
				}
				_, err := prints(ctx, p)
				return err
			})
		})
		wk := r.begin(child, wf)
		in, err := blob.Put(r.ctx, wk.App, "first", noise(0, size))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := blob.Put(r.ctx, wk.App, "never", noise(0, size)); err != nil {
			t.Fatal(err)
		}
		first := start(r, wk, wf, parcel{Files: []blob.Ref{in}}, stepwell.RunID("first"), stepwell.Retention(2*time.Hour))
		if _, err := first.Result(r.ctx); err == nil {
			t.Fatal("want that it fails")
		}
		if n := count(t, path, "SELECT count(DISTINCT value) FROM apart"); n != 3 {
			t.Errorf("%d values are held, want the input, what the child made, and what was put for nobody", n)
		}
		fail = false
		runs := []string{"first"}
		for _, again := range []func() (*stepwell.Run[json.RawMessage], error){
			func() (*stepwell.Run[json.RawMessage], error) { return wk.Retry(r.ctx, "first") },
			func() (*stepwell.Run[json.RawMessage], error) {
				return wk.Restart(r.ctx, "first", stepwell.RestartOptions{})
			},
			func() (*stepwell.Run[json.RawMessage], error) {
				return wk.Fork(r.ctx, "first", stepwell.ForkOptions{At: 1})
			},
		} {
			run, err := again()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := run.Result(r.ctx); err != nil {
				t.Fatal(err)
			}
			runs = append(runs, run.ID())
		}
		wk.stop(t)
		sweep := func(d time.Duration) {
			w = r.away(w, path, d)
			for {
				n, err := w.Sweep(r.ctx, 100)
				if err != nil {
					t.Fatal(err)
				}
				if n == 0 {
					return
				}
			}
		}
		sweep(25 * time.Hour) // the first and the children are gone
		app := r.client()
		for _, run := range runs[1:] {
			got, err := wf.Get(app, run).Result(r.ctx)
			if errors.Is(err, stepwell.ErrNotFound) {
				continue // its retention was that of the first
			}
			if err != nil || len(got.Files) != 2 {
				t.Fatal(got, err)
			}
			r.wantsBlob(app, run, got.Files[0], 1, size)
			r.wantsBlob(app, run, got.Files[1], 0, size)
		}
		sweep(40 * 24 * time.Hour)
		if n := count(t, path, "SELECT (SELECT count(*) FROM apart) + (SELECT count(*) FROM apart_pieces) + (SELECT count(*) FROM runs)"); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

// TestBlobsAreNotInMemory: 256 MiB go through a step, a child, its step and the result, and the program reads them.
func TestBlobsAreNotInMemory(t *testing.T) {
	const most = 48 << 20
	size := int64(128 << 20)
	if sample.All() {
		size *= 4
	}
	w := openFile(t, filepath.Join(t.TempDir(), "runs.db"))
	child := stepwell.Define("measure", func(ctx stepwell.Context, ref blob.Ref) (parcel, error) {
		of, err := stepwell.Step(ctx, "print", func(ctx context.Context) (string, error) { return printed(ctx, ref) })
		return parcel{Name: of, Files: []blob.Ref{ref}}, err
	})
	wf := stepwell.Define("large", func(ctx stepwell.Context, n int64) (parcel, error) {
		ref, err := stepwell.Step(ctx, "make", func(ctx context.Context) (blob.Ref, error) {
			return blob.Create(ctx, func(w io.Writer) error { _, err := io.Copy(w, noise(7, n)); return err })
		})
		if err != nil {
			return parcel{}, err
		}
		return child.Child().Run(ctx, ref)
	})
	app := work(t, w, stepwell.Config{Definitions: []stepwell.Definition{wf, child}})
	stop, peak := make(chan struct{}), make(chan uint64)
	go func() {
		heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		var first, top uint64
		for {
			metrics.Read(heap)
			if top = max(top, heap[0].Value.Uint64()); first == 0 {
				first = top
			}
			select {
			case <-stop:
				peak <- top - first
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	run, err := wf.Start(t.Context(), app, size)
	if err != nil {
		t.Fatal(err)
	}
	got, err := run.Result(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := blob.Read(t.Context(), app, run.ID(), got.Files[0])
	if err != nil {
		t.Fatal(err)
	}
	of, err := printOf(r)
	close(stop)
	if grown := <-peak; grown > most {
		t.Errorf("the heap grew by %d MiB for %d MiB", grown>>20, size>>20)
	} else {
		t.Logf("the heap grew by %d MiB for %d MiB", grown>>20, size>>20)
	}
	if want, _ := printOf(noise(7, size)); err != nil || of != want || got.Name != want {
		t.Errorf("%s and %s, %v, want %s", got.Name, of, err, want)
	}
}
