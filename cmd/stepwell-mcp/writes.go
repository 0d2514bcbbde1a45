package main

// This file has the tools that act.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stepwell/stepwell/internal/operate"
)

func (t *tools) addWrites(s *mcp.Server) {
	write(t, s, "retry_run", "Go on, in a new run, from the step that failed a run: what completed is not done again. explain_why says beforehand what it would do.", false, true, t.retry)
	write(t, s, "restart_run", "Begin a new run with the input of another, from nothing: all its steps run again.", true, false, t.restart)
	write(t, s, "cancel_run", "Ask a run to end: its code cleans up, and it ends cancelled. It cannot be taken back.", true, true, t.cancel)
	write(t, s, "pause_run", "Stop a run until it is resumed.", false, true, t.pause)
	write(t, s, "resume_run", "Let a paused run go on; one that is blocked is tried again at once.", false, true, t.resume)
	write(t, s, "wake_run", "End what a run waits for that is nothing but time, now.", true, false, t.wake)
	write(t, s, "signal_run", "Send an event to a run, with a JSON payload that its code takes.", true, false, t.signal)
	write(t, s, "bulk_runs", "Do the same to all runs that a filter finds. Without expectedCount nothing is done, and the runs are counted: tell the user the count. "+
		"With expectedCount, just as it was counted, it is done; where the filter finds another number by then, nothing is.", true, false, t.bulk)
}

// acted is what was done.
type acted struct {
	Run     string `json:"run,omitempty" jsonschema:"the run that it was done to; of a retry or a restart the new one"`
	Action  string `json:"action"`
	Result  string `json:"result" jsonschema:"such as requested, paused, created, existed, unchanged"`
	From    string `json:"from,omitempty" jsonschema:"the run that a new one was made of"`
	Event   string `json:"event,omitempty"`
	Retries int    `json:"retries,omitempty" jsonschema:"delays before next attempts that were ended"`
	Starts  int    `json:"starts,omitempty"`
	Sleeps  int    `json:"sleeps,omitempty"`
}

func (t *tools) act(ctx context.Context, who caller, run string, l *line) (acted, error) {
	if run == "" {
		return acted{}, errors.New("run is empty: nothing was done")
	}
	return one[acted](ctx, t.commands, who, l)
}

func (t *tools) retry(ctx context.Context, who caller, in *runIn) (acted, error) {
	return t.act(ctx, who, in.Run, commandLine("runs", "retry").with(in.Run))
}

func (t *tools) resume(ctx context.Context, who caller, in *runIn) (acted, error) {
	return t.act(ctx, who, in.Run, commandLine("runs", "resume").with(in.Run))
}

type restartIn struct {
	runIn
	InPlace bool `json:"inPlace,omitempty" jsonschema:"who starts with the key of the run, or waits for its result, gets the new run; it must be over, and not completed"`
}

func (t *tools) restart(ctx context.Context, who caller, in *restartIn) (acted, error) {
	return t.act(ctx, who, in.Run, commandLine("runs", "restart").on("in-place", in.InPlace).with(in.Run))
}

type reasonIn struct {
	runIn
	Reason string `json:"reason,omitempty" jsonschema:"why, for the log"`
}

func (in *reasonIn) noted() []any { return append(in.runIn.noted(), "reason", short(in.Reason)) }

func (t *tools) cancel(ctx context.Context, who caller, in *reasonIn) (acted, error) {
	return t.act(ctx, who, in.Run, commandLine("runs", "cancel").flag("reason", in.Reason).with(in.Run))
}

func (t *tools) pause(ctx context.Context, who caller, in *reasonIn) (acted, error) {
	return t.act(ctx, who, in.Run, commandLine("runs", "pause").flag("reason", in.Reason).with(in.Run))
}

// waking says what a wake ends.
type waking struct {
	Retries bool `json:"retries,omitempty" jsonschema:"of a wake: have steps that failed tried again now; after an outage this alone is what you want"`
	Starts  bool `json:"starts,omitempty" jsonschema:"of a wake: begin runs whose start was delayed"`
	Sleeps  bool `json:"sleeps,omitempty" jsonschema:"of a wake: end sleeps and timers of the code, which are often a part of what it is for"`
}

func (w *waking) add(l *line) *line {
	return l.on("retries", w.Retries).on("starts", w.Starts).on("sleeps", w.Sleeps)
}

func (w *waking) any() bool { return w.Retries || w.Starts || w.Sleeps }

type wakeIn struct {
	runIn
	waking
}

func (t *tools) wake(ctx context.Context, who caller, in *wakeIn) (acted, error) {
	if !in.any() {
		return acted{}, errors.New("say what to end: retries, starts or sleeps; nothing was done")
	}
	return t.act(ctx, who, in.Run, in.add(commandLine("runs", "wake")).with(in.Run))
}

// sent is an event with its payload.
type sent struct {
	Event    string `json:"event,omitempty" jsonschema:"of a signal: name of the event"`
	Payload  any    `json:"payload,omitempty" jsonschema:"of a signal: JSON that its code takes; null unless told"`
	Delivery string `json:"deliveryId,omitempty" jsonschema:"of a signal: an ID of this delivery, so that it can be repeated and is delivered once"`
}

// add adds the payload, where nobody else on the machine can see it.
func (s *sent) add(l *line) (*line, error) {
	payload, err := json.Marshal(s.Payload)
	l.stdin = payload
	return l.flag("delivery-id", s.Delivery), err
}

type signalIn struct {
	runIn
	sent
}

func (in *signalIn) noted() []any { return append(in.runIn.noted(), "act", short(in.Event)) }

func (t *tools) signal(ctx context.Context, who caller, in *signalIn) (acted, error) {
	l, err := in.add(commandLine("runs", "signal").with(in.Run, in.Event, "-"))
	if err != nil {
		return acted{}, err
	}
	return t.act(ctx, who, in.Run, l)
}

type bulkIn struct {
	Act string `json:"act" jsonschema:"cancel, pause, resume, wake, retry, restart or signal"`
	filter
	All    bool   `json:"all,omitempty" jsonschema:"all runs, where no filter is given"`
	Reason string `json:"reason,omitempty" jsonschema:"of a cancel or a pause: why, for the log"`
	waking
	sent
	Expected *int `json:"expectedCount,omitempty" jsonschema:"how many runs the same call without it counted: give it back to act"`
}

func (in *bulkIn) noted() []any {
	args := []any{"act", short(in.Act), "workflow.name", short(in.Workflow), "status", short(strings.Join(in.Status, ",")), "since", short(in.Since), "until", short(in.Until),
		"parent", short(in.Parent), "searched", in.Search != "", "all", in.All, "dry_run", in.Expected == nil}
	if in.Expected != nil {
		args = append(args, "expected", *in.Expected)
	}
	return append(args, "reason", short(in.Reason))
}

type refused struct {
	Run   string `json:"run"`
	Code  string `json:"code"`
	Error string `json:"error"`
}

type bulkOut struct {
	Act       string    `json:"act"`
	DryRun    bool      `json:"dryRun" jsonschema:"nothing was done"`
	Count     int       `json:"count" jsonschema:"runs that the filter finds: the expectedCount of the call that acts"`
	Done      int       `json:"done"`
	Unchanged int       `json:"unchanged" jsonschema:"they were so already"`
	Refused   int       `json:"refused"`
	Runs      []string  `json:"runs,omitempty" jsonschema:"the first that it was done to"`
	Errors    []refused `json:"errors,omitempty" jsonschema:"of the first that were refused"`
}

func (t *tools) bulk(ctx context.Context, who caller, in *bulkIn) (out bulkOut, err error) {
	act := operate.Find(in.Act)
	switch {
	case act == nil:
		return out, fmt.Errorf("there is no act %s: want cancel, pause, resume, wake, retry, restart or signal", strconv.Quote(short(in.Act)))
	case in.Act == "signal" && in.Event == "":
		return out, errors.New("a signal needs the name of an event; nothing was done")
	case in.Act == "wake" && !in.any():
		return out, errors.New("say what to end: retries, starts or sleeps; nothing was done")
	}
	l := in.filter.add(commandLine("bulk", in.Act)).on("all", in.All).flag("reason", in.Reason)
	l = in.waking.add(l)
	if in.Act == "signal" {
		if l, err = in.sent.add(l.with(in.Event, "-")); err != nil {
			return out, err
		}
	}
	out.Act, l.time = in.Act, bulkTime
	if in.Expected == nil {
		counted, err := one[struct {
			Runs      int              `json:"runs"`
			Unchanged int              `json:"unchanged"`
			Refused   int              `json:"refused"`
			Refusals  operate.Refusals `json:"refusals"`
		}](ctx, t.commands, who, l.on("dry-run", true))
		out.DryRun, out.Count, out.Unchanged, out.Refused = true, counted.Runs, counted.Unchanged, counted.Refused
		for _, is := range counted.Refusals { // one of each reason
			out.Errors = append(out.Errors, refused{is.Run, is.Code, short(is.Error)})
		}
		return out, err
	}
	err = t.commands.call(ctx, who, l.flag("expect", strconv.Itoa(*in.Expected)), func(value json.RawMessage) error {
		var is operate.OfRun
		if err := json.Unmarshal(value, &is); err != nil {
			return err
		}
		out.add(&is)
		return nil
	})
	if failedWith(err, 7) { // some were refused: they are told
		err = nil
	}
	return out, err
}

// add counts what became of a run.
func (b *bulkOut) add(is *operate.OfRun) {
	b.Count++
	switch is.Result {
	case operate.Unchanged:
		b.Unchanged++
	case operate.Refused:
		if b.Refused++; len(b.Errors) < mostNamed {
			b.Errors = append(b.Errors, refused{is.Run, is.Code, short(is.Error)})
		}
	default:
		if b.Done++; len(b.Runs) < mostNamed {
			b.Runs = append(b.Runs, is.Run)
		}
	}
}
