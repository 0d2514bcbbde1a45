package server

// Blobs of workers that work through a server.

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/blob"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote"
)

// TestBlobsThroughTheServer: a worker whose key is for one step reads the blobs that its task's input names, and makes
// others, piece by piece; it reads no other blob of the run. A child of the run, and the program, read them all.
func TestBlobsThroughTheServer(t *testing.T) {
	t.Parallel()
	const whole, limited = "whole-secret-0123456789", "limited-secret-0123456789"
	const size = 2*world.ApartPiece + 7
	keys, err := ParseKeys("worker:w:" + whole + ",worker?step=far:l:" + limited)
	if err != nil {
		t.Fatal(err)
	}
	read := func(ctx context.Context, ref blob.Ref) (string, error) {
		r, err := blob.Open(ctx, ref)
		if err != nil {
			return "", err
		}
		defer func() { _ = r.Close() }()
		b, err := io.ReadAll(r)
		if len(b) != size || err != nil || bytes.Count(b, b[:1]) != size {
			t.Errorf("%d bytes, %v", len(b), err)
			return "", err
		}
		return string(b[:1]), err
	}
	fill := func(s string) io.Reader { return strings.NewReader(strings.Repeat(s, size)) }
	type handed struct{ Secret, Open blob.Ref }
	for _, kind := range sample.OneKey(t, kinds) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := kinds[kind](t)
			url := serveWorld(t, w, Options{Keys: keys})
			var secret blob.Ref
			far := stepwell.DefineStep("far", func(ctx context.Context, ref blob.Ref) (blob.Ref, error) {
				if _, err := blob.Open(ctx, secret); !errors.Is(err, remote.ErrForbidden) {
					t.Errorf("another blob of the run: got %v, want that it is forbidden", err)
				}
				got, err := read(ctx, ref)
				if err != nil {
					return ref, err
				}
				return blob.From(ctx, fill(got))
			})
			child := stepwell.Define("child", func(ctx stepwell.Context, all []blob.Ref) (string, error) {
				return stepwell.Step(ctx, "read", func(ctx context.Context) (text string, err error) {
					for _, ref := range all {
						got, err := read(ctx, ref)
						if err != nil {
							return "", err
						}
						text += got
					}
					return text, nil
				})
			})
			wf := stepwell.Define("asks", func(ctx stepwell.Context, in handed) (string, error) {
				out, err := far.Run(ctx, in.Open)
				if err != nil {
					return "", err
				}
				return child.Child().Run(ctx, []blob.Ref{in.Secret, in.Open, out})
			})
			work := func(key string, defs ...stepwell.Definition) *stepwell.App {
				r, err := remote.Open(t.Context(), url, remote.Options{Key: key})
				if err != nil {
					t.Fatal(err)
				}
				app, err := stepwell.New(r, stepwell.Config{Definitions: defs})
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- app.Run(ctx) }()
				t.Cleanup(func() {
					stop()
					if err := <-ended; err != nil {
						t.Error(err)
					}
					_ = r.Close()
				})
				return app
			}
			app := work(whole, wf, child)
			var in handed
			for ref, text := range map[*blob.Ref]string{&in.Secret: "s", &in.Open: "o"} {
				if *ref, err = blob.Put(t.Context(), app, "mine", fill(text)); err != nil {
					t.Fatal(err)
				}
			}
			secret = in.Secret
			work(limited, far)
			run, err := wf.Start(t.Context(), app, in, stepwell.RunID("mine"))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := run.Result(t.Context()); got != "soo" || err != nil {
				t.Errorf("got %q, %v; want %q", got, err, "soo")
			}
		})
	}
}
