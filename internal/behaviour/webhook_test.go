package behaviour_test

// Webhooks: requests are received like payloads, and answered once, whatever dies, whichever process waits, and whoever comes again.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/webhook"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// counter answers each request with how many came, and ends with a DELETE. A second answer to one request is refused.
var counter = stepwell.Define("counter", func(ctx stepwell.Context, opts []string) ([]string, error) {
	hook, err := webhook.New(ctx, webhook.Token("counter"), webhook.RespondManually(time.Minute))
	if err != nil {
		return nil, err
	}
	var seen []string
	for req, err := range hook.All(ctx) {
		if err != nil {
			return nil, err
		}
		seen = append(seen, req.Method+" "+string(req.Body))
		res := webhook.Response{Status: 201, Header: map[string]string{"X-N": fmt.Sprint(len(seen))}, Body: req.Body}
		if err := req.Respond(ctx, res); err != nil {
			return nil, err
		}
		if err := req.Respond(ctx, webhook.Response{Status: 500}); !errors.Is(err, stepwell.ErrAnswered) {
			return nil, fmt.Errorf("answered twice: %w", err)
		}
		if req.Method == "DELETE" {
			break
		}
		if err := stepwell.Do(ctx, "work", func(context.Context) error { return nil }); err != nil {
			return nil, err
		}
	}
	return seen, hook.Dispose(ctx)
})

// door finds a webhook, which may not be open yet.
func (r *rig) door(app *stepwell.App, token string) (door *webhook.Door) {
	r.Helper()
	until(r, "webhook "+token, func() bool {
		var err error
		if door, err = webhook.Find(r.ctx, app, token); err != nil && !errors.Is(err, stepwell.ErrNotFound) {
			r.Fatal(err)
		}
		return err == nil
	})
	return door
}

// ask sends a request and waits for the answer.
func (r *rig) ask(door *webhook.Door, req webhook.Request) *webhook.Response {
	r.Helper()
	reply, err := door.Send(r.ctx, req)
	if err != nil {
		r.Fatal(err)
	}
	res, err := door.Answer(r.ctx, reply)
	if err != nil {
		r.Fatal(err)
	}
	return res
}

func nth(n int, body string) *webhook.Response {
	return &webhook.Response{Status: 201, Header: map[string]string{"X-N": fmt.Sprint(n)}, Body: webhook.Body(body)}
}

// TestWebhookIsAnsweredOnce: each sender gets its own answer, from a process that does not work on the run,
// and each request costs one claim.
func TestWebhookIsAnsweredOnce(t *testing.T) {
	everywhere(t, func(r *rig) {
		wk := r.begin(counter)
		run := start(r, wk, counter, nil)
		client := r.client()
		door := r.door(client, "wh_counter")
		for i, req := range []webhook.Request{
			{Method: "POST", Body: []byte("one")}, {Method: "PUT", Body: []byte{0, 255, 1}}, {Method: "DELETE"},
		} {
			if diff := cmp.Diff(nth(i+1, string(req.Body)), r.ask(door, req), emptyBody); diff != "" {
				r.Errorf("answer %d (-want +got):\n%s", i+1, diff)
			}
		}
		want(r, run, []string{"POST one", "PUT \x00\ufffd\x01", "DELETE "}) // as JSON has what is no text
		if n := r.count(run.ID(), world.StepCreated, "work"); n != 2 {
			r.Errorf("%d steps, want 2", n)
		}
		r.cost(run.ID(), 4, 0)
		r.replays(run.ID(), counter)
		if _, err := webhook.Find(r.ctx, client, "wh_counter"); !errors.Is(err, stepwell.ErrNotFound) {
			r.Errorf("behind its end: %v, want ErrNotFound", err)
		}
	})
}

// emptyBody takes no body for an empty one.
var emptyBody = cmp.Transformer("text", func(b webhook.Body) string { return string(b) })

// TestWebhookOfAWorkerThatDies: before and after each of its commits; who waits gets one answer, and the same as whoever asks again.
func TestWebhookOfAWorkerThatDies(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		for k := 1; ; k++ {
			died := true
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
				defer cancel()
				r := &rig{T: t, world: memory.New(), mode: modes[0].set, ctx: ctx}
				first := r.beginMortal(stepwell.Config{Definitions: []stepwell.Definition{counter}}, k, after)
				client := r.client(counter)
				run, err := counter.Start(ctx, client, nil, stepwell.RunID("the-run"))
				if err != nil {
					t.Fatal(err)
				}
				answers := make(chan *webhook.Response, 2)
				go func() {
					door := r.door(client, "wh_counter")
					answers <- r.ask(door, webhook.Request{Method: "POST", Body: []byte("a"), Delivery: "one"})
					answers <- r.ask(door, webhook.Request{Method: "DELETE"})
				}()
				synctest.Wait()
				r.pass(time.Second)
				first.stop()
				second := begin(t, r.world, stepwell.Config{Definitions: []stepwell.Definition{counter}, CacheRuns: -1})
				for i, body := range []string{"a", ""} {
					if diff := cmp.Diff(nth(i+1, body), <-answers, emptyBody); diff != "" {
						t.Errorf("death %d, after %v: answer %d (-want +got):\n%s", k, after, i+1, diff)
					}
				}
				want(r, run, []string{"POST a", "DELETE "})
				streams, err := client.Streams(ctx, "the-run")
				if err != nil || len(streams) != 2 || streams[0].Next != 1 || streams[1].Next != 1 {
					t.Errorf("death %d, after %v: streams %+v, %v: want two with one chunk", k, after, streams, err)
				}
				second.stop(t)
				died = first.died.Load()
			})
			if !died {
				if k < 4 {
					t.Errorf("%d deaths, want 3 or more: the faults are not reached", k-1)
				}
				break
			}
		}
	}
}

// TestWebhookDeliveryComesAgain: it is received once and answered alike; what creates its name alone gets no answer of it.
func TestWebhookDeliveryComesAgain(t *testing.T) {
	everywhere(t, func(r *rig) {
		wk := r.begin(counter)
		run := start(r, wk, counter, nil)
		door := r.door(wk.App, "wh_counter")
		once := webhook.Request{Method: "POST", Body: []byte("pay"), Delivery: "evt_1"}
		reply, err := door.Send(r.ctx, once)
		if err != nil {
			r.Fatal(err)
		}
		if again, err := door.Send(r.ctx, once); err != nil || again != reply {
			r.Errorf("while the first waits: %q, %v; want %q", again, err, reply)
		}
		first, err := door.Answer(r.ctx, reply)
		if err != nil {
			r.Fatal(err)
		}
		delivered := r.deliveries()
		if diff := cmp.Diff(first, r.ask(door, once)); diff != "" {
			r.Errorf("the same again (-first +again):\n%s", diff)
		}
		if n := r.deliveries() - delivered; n != 0 {
			r.Errorf("%d deliveries of a request that was answered, want none", n)
		}
		other := once
		other.Body = []byte("what was it?")
		if reply, err := door.Send(r.ctx, other); !errors.Is(err, stepwell.ErrDeliveryUsed) {
			r.Errorf("another body under the same name: %q, %v; want ErrDeliveryUsed", reply, err)
		}
		r.ask(door, webhook.Request{Method: "DELETE"})
		want(r, run, []string{"POST pay", "DELETE "})
		r.replays(run.ID(), counter)
	})
}

func (r *rig) deliveries() int64 {
	r.Helper()
	s, err := r.world.Stats(r.ctx)
	if err != nil {
		r.Fatal(err)
	}
	return s.Counters.Deliveries
}

// TestWebhookRunThatDoesNotAnswer: who waits is told when the run ends.
func TestWebhookRunThatDoesNotAnswer(t *testing.T) {
	everywhere(t, func(r *rig) {
		for _, fails := range []bool{false, true} {
			silent := stepwell.Define("silent", func(ctx stepwell.Context, _ int) (int, error) {
				hook, err := webhook.New(ctx, webhook.RespondManually(0))
				if err != nil {
					return 0, err
				}
				if _, _, err := hook.Wait(ctx); err != nil || fails {
					return 0, errors.Join(err, errors.New("no"))
				}
				return 1, nil
			})
			wk := r.begin(silent)
			run := start(r, wk, silent, 0)
			synctest.Wait()
			hooks, err := wk.Hooks(r.ctx, run.ID(), "")
			if err != nil || len(hooks) != 1 {
				r.Fatalf("hooks %v, %v, want one", hooks, err)
			}
			door := r.door(wk.App, hooks[0].Token)
			reply, err := door.Send(r.ctx, webhook.Request{Method: "POST"})
			if err != nil {
				r.Fatal(err)
			}
			if res, err := door.Answer(r.ctx, reply); !errors.Is(err, stepwell.ErrTerminal) {
				r.Errorf("fails %v: got %v, %v, want ErrTerminal", fails, res, err)
			}
			if _, err := door.Send(r.ctx, webhook.Request{}); !errors.Is(err, stepwell.ErrTerminal) {
				r.Errorf("fails %v: another request: %v, want ErrTerminal", fails, err)
			}
			wk.stop(r.T)
		}
	})
}

// TestWebhookKeepsItsURL: a deploy with another base changes no URL that was handed out, strict replays included; webhooks opened from then on have the new one.
func TestWebhookKeepsItsURL(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("urls", func(ctx stepwell.Context, _ int) (all []string, err error) {
			for _, opts := range [][]webhook.Option{{webhook.Token("named"), webhook.Metadata(7)}, {}, {}} {
				hook, err := webhook.New(ctx, opts...)
				if err != nil {
					return nil, err
				}
				at := hook.URL() // at once
				if all = append(all, at); len(all) == 2 {
					if err := stepwell.Sleep(ctx, "deploy", time.Minute); err != nil {
						return nil, err
					}
				}
				if got := hook.URL(); got != at {
					return nil, fmt.Errorf("it was %s, and is %s", at, got)
				}
			}
			return all, stepwell.Sleep(ctx, "rest", time.Minute) // its record is in the log before the end
		})
		old := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}, PublicURL: "https://old.example.com/hooks/"})
		run := start(r, old, wf, 0)
		synctest.Wait()
		old.stop(r.T)
		hooks, err := old.Hooks(r.ctx, run.ID(), "")
		if err != nil || len(hooks) != 2 {
			r.Fatalf("hooks %v, %v, want two", hooks, err)
		}
		r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}, PublicURL: "https://new.example.com"})
		got, err := run.Result(r.ctx)
		if err != nil || len(got) != 3 {
			r.dump(run.ID())
			r.Fatal(got, err)
		}
		known := map[string]bool{}
		for i := range hooks {
			info, ok := webhook.Of(&hooks[i])
			known[info.URL] = ok
		}
		const path = "/.well-known/workflow/v1/webhook/wh_"
		for i, prefix := range []string{"https://old.example.com/hooks" + path + "named", "https://old.example.com/hooks" + path, "https://new.example.com" + path} {
			if !strings.HasPrefix(got[i], prefix) {
				r.Errorf("URL %d is %s, want %s…", i, got[i], prefix)
			}
			if i < 2 && !known[got[i]] {
				r.Errorf("URL %s is none of those that are listed: %v", got[i], known)
			}
		}
		r.replays(run.ID(), wf)
	})
}

// TestForkOfAWebhook: the fork's code sees the URL that the fork was given, at once, and nobody who has the source's.
func TestForkOfAWebhook(t *testing.T) {
	everywhere(t, func(r *rig) {
		mailed := make(chan [2]string, 8)
		wf := stepwell.Define("link", func(ctx stepwell.Context, _ int) (string, error) {
			hook, err := webhook.New(ctx)
			if err != nil {
				return "", err
			}
			plain, err := stepwell.NewHook[string](ctx)
			if err != nil {
				return "", err
			}
			sent := [2]string{hook.Token(), plain.Token()}
			if err := stepwell.Do(ctx, "mail", func(context.Context) error { mailed <- sent; return nil }); err != nil {
				return "", err
			}
			if _, _, err := plain.Wait(ctx); err != nil {
				return "", err
			}
			req, _, err := hook.Wait(ctx)
			return string(req.Body), err
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, 0)
		source := <-mailed
		created := r.events(run.ID(), world.StepStarted)[0].Seq
		forked, err := wk.Fork(r.ctx, run.ID(), stepwell.ForkOptions{ID: "the-fork", At: created})
		if err != nil {
			r.Fatal(err)
		}
		fork := <-mailed
		if fork[0] == source[0] || !strings.HasPrefix(fork[0], "wh_") {
			r.Errorf("the fork's webhook has the token %q, the source's %q", fork[0], source[0])
		}
		for i, tokens := range [][2]string{fork, source} {
			if err := wk.SendHook(r.ctx, tokens[1], json.RawMessage(`"x"`)); err != nil {
				r.Errorf("run %d: its plain hook: %v", i, err)
			}
			if _, err := r.door(wk.App, tokens[0]).Send(r.ctx, webhook.Request{Method: "POST", Body: fmt.Append(nil, i)}); err != nil {
				r.Errorf("run %d: its webhook: %v", i, err)
			}
		}
		var got [2]string
		var errs [2]error
		result, err := forked.Result(r.ctx)
		got[0], errs[0] = string(result), err
		got[1], errs[1] = run.Result(r.ctx)
		if errs[0] != nil || errs[1] != nil || got != [2]string{`"0"`, "1"} {
			r.Errorf("got %q, %v; want each its own", got, errs)
		}
	})
}

// TestWebhookGoesOn: a segment that asks for the token of the last one's webhook has the same, with what was not received, and answers it.
func TestWebhookGoesOn(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("on", func(ctx stepwell.Context, n int) (string, error) {
			hook, err := webhook.New(ctx, webhook.Token("on"), webhook.RespondManually(time.Minute))
			if err != nil {
				return "", err
			}
			req, _, err := hook.Wait(ctx)
			if err != nil {
				return "", err
			}
			if err := req.Respond(ctx, webhook.Response{Body: fmt.Append(nil, n)}); err != nil {
				return "", err
			}
			if n < 2 {
				return "", stepwell.ContinueAsNew(ctx, n+1)
			}
			return hook.URL(), nil
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, 0)
		door := r.door(wk.App, "wh_on")
		var replies []string
		for range 3 {
			reply, err := door.Send(r.ctx, webhook.Request{Method: "POST"})
			if err != nil {
				r.Fatal(err)
			}
			replies = append(replies, reply)
		}
		for i, reply := range replies {
			if res, err := door.Answer(r.ctx, reply); err != nil || string(res.Body) != fmt.Sprint(i) {
				r.Errorf("answer %d: %+v, %v", i, res, err)
			}
		}
		want(r, run, "http://127.0.0.1:7373/.well-known/workflow/v1/webhook/wh_on")
	})
}
