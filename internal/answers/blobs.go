package answers

// Values that are streams: they go where values go.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/blob"
	"github.com/stepwell/stepwell/world"
)

var sharedBlobs = map[string]func(*answers){
	"a value that is a stream goes where values go": answerBlobs,
	"a blob that was sent back is held by a fork":   answerBlobSent,
}

// letters are what a blob of one letter has.
func letters(c string) io.Reader { return strings.NewReader(strings.Repeat(c, 1200<<10)) }

// letterOf reads a blob of one letter.
func letterOf(r io.ReadCloser, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer func() { _ = r.Close() }()
	b, err := io.ReadAll(r)
	if err == nil && (len(b) != 1200<<10 || bytes.Count(b, b[:1]) != len(b)) {
		err = fmt.Errorf("%d bytes, not of one letter", len(b))
	}
	if err != nil {
		return "", err
	}
	return string(b[:1]), nil
}

func answerBlobs(r *answers) {
	type files struct{ All []blob.Ref }
	add := func(ctx context.Context, f files, c string) (files, error) {
		text := ""
		for _, ref := range f.All {
			got, err := letterOf(blob.Open(ctx, ref))
			if err != nil {
				return f, err
			}
			text += got
		}
		if want := "abcd"[:len(text)]; text != want {
			return f, stepwell.Fatal(fmt.Errorf("read %s, want %s", text, want))
		}
		ref, err := blob.From(ctx, letters(c))
		f.All = append(f.All, ref)
		return f, err
	}
	queued := stepwell.DefineStep("blob-task", func(ctx context.Context, f files) (files, error) { return add(ctx, f, "c") })
	child := stepwell.Define("blob-child", func(ctx stepwell.Context, f files) (files, error) {
		return stepwell.Step(ctx, "add", func(ctx context.Context) (files, error) { return add(ctx, f, "d") })
	})
	wf := stepwell.Define("blob-run", func(ctx stepwell.Context, f files) (files, error) {
		if len(f.All) == 4 {
			return f, nil
		}
		f, err := stepwell.Step(ctx, "add", func(ctx context.Context) (files, error) { return add(ctx, f, "b") })
		if err != nil {
			return f, err
		}
		both, err := stepwell.All(ctx, queued.Start(ctx, f), queued.Start(ctx, f))
		if err != nil {
			return f, err
		}
		if f, err = child.Child().Run(ctx, both[1]); err != nil {
			return f, err
		}
		return f, stepwell.ContinueAsNew(ctx, f)
	})
	wk := r.begin(queued, child, wf)
	in, err := blob.Put(r.ctx, wk.App, "blob-1", letters("a"))
	r.must(err)
	run, err := wf.Start(r.ctx, wk.App, files{[]blob.Ref{in}}, stepwell.RunID("blob-1"))
	r.must(err)
	forked := func(id string) {
		got, err := wf.Get(wk.App, id).Result(r.ctx)
		r.must(err)
		text := ""
		for _, ref := range got.All {
			c, err := letterOf(blob.Read(r.ctx, wk.App, id, ref))
			r.must(err)
			text += c
		}
		if text != "abcd" {
			r.Errorf("run %s: %s", id, text)
		}
	}
	forked(run.ID())
	fork, err := wk.Fork(r.ctx, run.ID(), stepwell.ForkOptions{At: 1})
	r.must(err)
	forked(fork.ID())
	_, err = wf.Start(r.ctx, wk.App, files{[]blob.Ref{in}}, stepwell.RunID("blob-2"))
	r.must(err)
	if _, err := wf.Get(wk.App, "blob-2").Result(r.ctx); err == nil || !strings.Contains(err.Error(), "does not hold") {
		r.Errorf("a run that does not hold its input's blob: %v", err)
	}
	if _, err := blob.Read(r.ctx, wk.App, "blob-2", in); !errors.Is(err, stepwell.ErrNotFound) {
		r.Errorf("read for it: %v", err)
	}
}

// answerBlobSent: what a run holds and was sent back to it, in an event or to a hook, is held by a fork, too. So it is
// where that takes over nothing of the segment that made it.
func answerBlobSent(r *answers) {
	type state struct {
		Second bool
		Token  string
	}
	back := stepwell.Event[blob.Ref]("back")
	read := func(ctx stepwell.Context, name string, ref blob.Ref) (string, error) {
		return stepwell.Step(ctx, name, func(ctx context.Context) (string, error) {
			c, err := letterOf(blob.Open(ctx, ref))
			if errors.Is(err, stepwell.ErrNotFound) {
				err = stepwell.Fatal(err)
			}
			return c, err
		})
	}
	wf := stepwell.Define("blob-sent", func(ctx stepwell.Context, s state) (string, error) {
		if !s.Second {
			for _, c := range []string{"a", "b"} {
				if _, err := stepwell.Step(ctx, "make-"+c, func(ctx context.Context) (blob.Ref, error) { return blob.From(ctx, letters(c)) }); err != nil {
					return "", err
				}
			}
			return "", stepwell.ContinueAsNew(ctx, state{true, ctx.RunID() + "-hook"})
		}
		ref, _, err := back.Wait(ctx)
		if err != nil {
			return "", err
		}
		hook, err := stepwell.NewHook[blob.Ref](ctx, stepwell.Token(s.Token))
		if err != nil {
			return "", err
		}
		other, _, err := hook.Wait(ctx)
		if err != nil {
			return "", err
		}
		one, err := read(ctx, "read-event", ref)
		if err != nil {
			return "", err
		}
		two, err := read(ctx, "read-hook", other)
		return one + two, err
	}, stepwell.KeepSegments(1))
	wk := r.begin(wf)
	run, err := wf.Start(r.ctx, wk.App, state{}, stepwell.RunID("blob-sent-1"))
	r.must(err)
	var refs []blob.Ref
	r.until("the blobs", func() bool {
		refs = nil
		for _, e := range r.events(run.ID(), world.StepCompleted) {
			var ref blob.Ref
			r.must(json.Unmarshal(e.Payload, &ref))
			refs = append(refs, ref)
		}
		return len(refs) == 2
	})
	r.has(run.ID(), 1, world.WaitCreated)
	r.must(back.Send(r.ctx, wk.App, run.ID(), refs[0]))
	r.has(run.ID(), 1, world.HookCreated)
	payload, err := json.Marshal(refs[1])
	r.must(err)
	r.must(wk.SendHook(r.ctx, run.ID()+"-hook", payload))
	gives(r, run, "ab")
	after := r.has(run.ID(), 1, world.HookReceived)[0].Seq
	fork, err := wk.Fork(r.ctx, run.ID(), stepwell.ForkOptions{At: after})
	r.must(err)
	r.until("the fork", func() bool { return r.status(fork.ID()).Terminal() })
	if info := r.get(fork.ID()); info.Status != world.Completed || string(info.Output) != `"ab"` {
		r.Errorf("the fork %s with %s, %+v", info.Status, info.Output, info.Error)
	}
}
