package behaviour_test

// Tokens that nobody chose are secrets: they follow from nothing that readers of a log are shown, and those that were handed out stay.

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/webhook"
	"github.com/stepwell/stepwell/world"
)

// seededToken is a token that whoever is shown a run's seed can make.
func seededToken(run string, seed uint64, hook string) string {
	b := binary.BigEndian.AppendUint64([]byte("hook token\x00"), seed)
	sum := sha256.Sum256(append(append(append(b, run...), 0), hook...))
	return strings.ToLower(base32.HexEncoding.EncodeToString(sum[:])[:26])
}

// gate opens a hook, says its token, and waits for what comes there.
var gate = stepwell.Define("gate", func(ctx stepwell.Context, _ bool) (string, error) {
	h, err := stepwell.NewHook[string](ctx)
	if err != nil {
		return "", err
	}
	token := h.Token() // as the code sees it at once
	if err := stepwell.SetAttribute(ctx, "token", token); err != nil {
		return "", err
	}
	_, _, err = h.Wait(ctx)
	return token, err
})

func (r *rig) openHook(run string) world.HookRow {
	r.Helper()
	var rows []world.HookRow
	until(r, "the hook of "+run, func() bool {
		var err error
		if rows, err = r.world.Hooks(r.ctx, world.HookQuery{Run: run}); err != nil {
			r.Fatal(err)
		}
		return len(rows) == 1
	})
	return rows[0]
}

// TestTokensDoNotFollowFromTheLog: whoever is shown a run's seed has no token of it.
func TestTokensDoNotFollowFromTheLog(t *testing.T) {
	everyWay(t, func(r *rig) {
		wk := r.begin(gate)
		run := start(r, wk, gate, true, stepwell.RunID("r1"))
		h := r.openHook("r1")
		birth := r.events("r1")[0].Birth
		if h.Token == seededToken("r1", birth.Seed, h.ID) {
			r.Errorf("the token of hook %s follows from the run's seed", h.ID)
		}
		if err := wk.SendHook(r.ctx, h.Token, []byte(`"x"`)); err != nil {
			r.Fatal(err)
		}
		want(r, run, h.Token)
	})
}

// gateLog is the log of a gate whose hook is open, behind so many signals of 4 KB that nobody waits for; it is r1, created now with seed 7.
func gateLog(token func(hook string) string, signals int) *stepwell.History {
	at := world.Now()
	id := func(kind world.Kind, name string) string {
		return world.CorrelationID("r1", at, world.Key{Kind: kind, Name: name})
	}
	h := &stepwell.History{Run: "r1", Events: []world.Event{
		{Type: world.RunCreated, Birth: &world.Birth{Workflow: "gate", Version: 1, Seed: 7, Priority: 1}, Payload: []byte(`true`)}, {Type: world.RunStarted},
	}}
	for range signals {
		h.Events = append(h.Events, world.Event{Type: world.SignalReceived, Name: "later", Payload: fmt.Appendf(nil, "%q", strings.Repeat("x", 4000))})
	}
	hook := id(world.KindHook, "hook")
	h.Events = append(h.Events, world.Event{Type: world.HookCreated, ID: hook, Name: "hook", Token: token(hook)},
		world.Event{Type: world.AttrSet, ID: id(world.KindAttr, "token"), Name: "token", Payload: fmt.Appendf(nil, "%q", token(hook))})
	for i := range h.Events {
		h.Events[i].Seq, h.Events[i].Time = int64(i+1), at
	}
	return h
}

// handedOut brings a gate's log into the world, lets it go on, and sends to the token that it has: the code must have seen that too.
func (r *rig) handedOut(h *stepwell.History) {
	r.Helper()
	token := h.Events[len(h.Events)-2].Token
	wk := r.begin(gate)
	if err := wk.Import(r.ctx, h, stepwell.ImportOptions{Go: true}); err != nil {
		r.Fatal(err)
	}
	if err := wk.SendHook(r.ctx, token, []byte(`"x"`)); err != nil {
		r.Fatal(err)
	}
	want(r, gate.Get(wk.App, "r1"), token)
}

// TestTokensThatWereHandedOutStay: a hook that is open in a log has the token of its record, wherever that came from.
func TestTokensThatWereHandedOutStay(t *testing.T) {
	everyWay(t, func(r *rig) { r.handedOut(gateLog(func(hook string) string { return seededToken("r1", 7, hook) }, 0)) })
}

// TestTokenWhoseRecordIsOnALaterPage: a run whose turn was cut into several commits is read page by page, and binds to the token that was handed out.
func TestTokenWhoseRecordIsOnALaterPage(t *testing.T) {
	onWorlds(t, func(r *rig) { r.handedOut(gateLog(func(string) string { return "handed-out" }, 1100)) }) // more than a page, and more bytes than a row
}

// TestHistoriesThatViewersExported: a run cannot go on from one; one that is over can be kept.
func TestHistoriesThatViewersExported(t *testing.T) {
	onWorlds(t, func(r *rig) {
		wk := r.begin(gate)
		run := start(r, wk, gate, true, stepwell.RunID("r1"))
		h := r.openHook("r1")
		log := func() []world.Event {
			events := world.HideSecrets(r.events("r1"))
			for i := range events {
				events[i].Commit = 0
			}
			return events
		}
		for _, e := range log() {
			if e.Token == h.Token || e.Birth != nil && e.Birth.Seed != 0 {
				r.Errorf("event %d shows a token or a seed to a viewer", e.Seq)
			}
		}
		if err := wk.Import(r.ctx, &stepwell.History{Run: "r2", Events: log()}, stepwell.ImportOptions{}); !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(err.Error(), "viewer's key") {
			r.Errorf("import of a run that is not over: got %v, want that it was exported with a viewer's key", err)
		}
		if err := wk.SendHook(r.ctx, h.Token, []byte(`"x"`)); err != nil {
			r.Fatal(err)
		}
		want(r, run, h.Token)
		if err := wk.Import(r.ctx, &stepwell.History{Run: "r2", Events: log()}, stepwell.ImportOptions{}); err != nil {
			r.Errorf("import of a run that is over: %v", err)
		}
	})
}

// TestErrorsDoNotTellTokens: a step that sends to a hook records why it could not, and whoever reads that cannot send.
func TestErrorsDoNotTellTokens(t *testing.T) {
	everyWay(t, func(r *rig) {
		app := r.client()
		const token = "order-4711-0123456789"
		for payload, want := range map[string]error{`"x"`: stepwell.ErrNotFound, `{`: stepwell.ErrInvalid} {
			if err := app.SendHook(r.ctx, token, []byte(payload)); !errors.Is(err, want) || strings.Contains(err.Error(), token[:5]) {
				r.Errorf("%s: got %v, want %v that does not tell the token", payload, err, want)
			}
		}
		if err := app.SendHook(r.ctx, token+"\n", []byte(`1`)); !errors.Is(err, stepwell.ErrInvalid) || strings.Contains(err.Error(), token[:5]) {
			r.Errorf("got %v, want ErrInvalid that does not tell the token", err)
		}
		for _, is := range []string{token, world.WebhookToken + token, token + "\n"} {
			if _, err := webhook.Find(r.ctx, app, is); err == nil || strings.Contains(err.Error(), token[:5]) {
				r.Errorf("webhook: got %v, want an error that does not tell the token", err)
			}
		}
	})
}
