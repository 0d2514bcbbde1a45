package ops

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/world"
)

// RunOf returns a run as the API shows it.
func RunOf(r *stepwell.RunInfo) api.Run {
	return api.Run{
		ID: r.ID, Workflow: r.Workflow, Version: r.Version, Status: r.Status, IdempotencyKey: r.Key, FirstKey: r.FirstKey, Priority: r.Priority,
		Input: r.Input, Output: r.Output, InputApart: r.InputApart, OutputApart: r.OutputApart, Error: r.Error, Parent: r.Parent, Origin: r.Origin,
		Newest: r.Newest, CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, EndedAt: r.EndedAt, Retention: api.Lasting(r.Retention),
		StartTTL: api.Lasting(r.StartTTL), Gather: r.Gather, Timeout: api.Lasting(r.Timeout), Attributes: r.Attributes, Claims: r.Claims,
		Encryption: r.Encryption, Sealed: r.Sealed, Queue: r.Queue, Merged: r.Merged, Late: r.Late, Damage: r.Damage,
	}
}

// Bounds of a start.
const (
	mostSignals       = 100
	mostRetentionDays = 36525 // a hundred years: more does not fit into a duration
)

// StartRun starts a run.
func (o *Ops) StartRun(ctx context.Context, in api.StartRun) (out api.StartedRun, err error) {
	key, err := twoKeys(in.Key, in.IdempotencyKey)
	switch {
	case err != nil:
		return out, err
	case in.RetentionDays < 0 || in.RetentionDays > mostRetentionDays:
		return out, invalid("retentionDays is %d: want 1 to %d", in.RetentionDays, mostRetentionDays)
	case len(in.Signals) > mostSignals:
		return out, invalid("%d signals, more than %d", len(in.Signals), mostSignals)
	}
	attributes := make(map[string]any, len(in.Attributes))
	for name, v := range in.Attributes {
		attributes[name] = v
	}
	opts := []stepwell.StartOption{
		stepwell.RunID(in.ID), stepwell.Key(key), stepwell.Version(in.Version), stepwell.Priority(in.Priority), stepwell.Delay(time.Duration(in.Delay)),
		stepwell.Retention(time.Duration(in.RetentionDays) * 24 * time.Hour), stepwell.Tags(in.Context), stepwell.Attributes(attributes),
	}
	if in.Timeout != 0 { // 0: as the workflow says
		opts = append(opts, stepwell.Timeout(time.Duration(in.Timeout)))
	}
	if in.StartTTL != 0 {
		opts = append(opts, stepwell.StartTTL(time.Duration(in.StartTTL)))
	}
	for _, s := range in.Signals {
		opts = append(opts, stepwell.AlsoSignal(s.Event, orNull(s.Payload), delivery(s.DeliveryID)...))
	}
	return o.started(ctx)(o.app.Start(ctx, in.Workflow, orNull(in.Input), opts...))
}

// orNull returns JSON, or null if there is none.
func orNull(b json.RawMessage) json.RawMessage {
	if b == nil {
		return json.RawMessage("null")
	}
	return b
}

func delivery(id string) []stepwell.SendOption {
	if id == "" {
		return nil
	}
	return []stepwell.SendOption{stepwell.DeliveryID(id)}
}

// started returns what answers with a new run.
func (o *Ops) started(ctx context.Context) func(*stepwell.Run[json.RawMessage], error) (api.StartedRun, error) {
	return func(run *stepwell.Run[json.RawMessage], err error) (out api.StartedRun, _ error) {
		if err != nil {
			return out, err
		}
		info, err := o.app.Get(ctx, run.ID())
		info.Merged = run.Merged()
		return api.StartedRun{Run: RunOf(&info), Existed: run.Existed()}, err
	}
}

// find checks that a run exists, and is of a workflow if that is named.
func (o *Ops) find(ctx context.Context, run, workflow string) error {
	missing := fmt.Errorf("run %.130q: %w", run, world.ErrNotFound)
	if workflow != "" {
		missing = fmt.Errorf("run %.130q of workflow %.130q: %w", run, workflow, world.ErrNotFound)
	}
	if world.CheckRunID(run) != nil {
		return missing
	}
	row, err := o.app.Get(ctx, run)
	if err == nil && workflow != "" && row.Workflow != workflow {
		err = missing
	}
	return err
}

// runAfter does an act on a run, and returns the run.
func (o *Ops) runAfter(ctx context.Context, run, workflow string, act func() error) (out api.Run, err error) {
	if err = o.find(ctx, run, workflow); err == nil {
		err = act()
	}
	if err != nil {
		return out, err
	}
	info, err := o.app.Get(ctx, run)
	return RunOf(&info), err
}

// CancelRun asks a run to end, or ends it at once. The caller has checked who may force.
func (o *Ops) CancelRun(ctx context.Context, in api.CancelRun) (api.Run, error) {
	cancel := o.app.Cancel
	if in.Force {
		cancel = o.app.ForceCancel
	}
	return o.runAfter(ctx, in.Run, in.Workflow, func() error { return cancel(ctx, in.Run, in.Reason) })
}

// SignalRun sends an event to a run.
func (o *Ops) SignalRun(ctx context.Context, in api.SignalRun) (api.Accepted, error) {
	err := o.find(ctx, in.Run, in.Workflow)
	if err == nil {
		err = o.app.Signal(ctx, in.Run, in.Event, orNull(in.Payload), delivery(in.Key)...)
	}
	return api.Accepted{Accepted: err == nil}, err
}

// PauseRun stops a run.
func (o *Ops) PauseRun(ctx context.Context, in api.PauseRun) (api.Run, error) {
	return o.runAfter(ctx, in.Run, in.Workflow, func() error { return o.app.Pause(ctx, in.Run, in.Reason) })
}

// ResumeRun lets a paused run continue.
func (o *Ops) ResumeRun(ctx context.Context, in api.ResumeRun) (api.Run, error) {
	return o.runAfter(ctx, in.Run, in.Workflow, func() error { return o.app.Resume(ctx, in.Run) })
}

// WakeRun ends delays of a run.
func (o *Ops) WakeRun(ctx context.Context, in api.WakeRun) (out api.Woken, err error) {
	if err := o.find(ctx, in.Run, in.Workflow); err != nil {
		return out, err
	}
	n, err := o.app.Wake(ctx, in.Run, operate.Waking(in.Retries, in.Starts, in.Sleeps)...)
	return api.Woken{Woken: n.Total(), Retries: n.Retries, Starts: n.Starts, Sleeps: n.Sleeps}, err
}

// checkVersion refuses a version that cannot be.
func checkVersion(v int) error {
	if v < 0 {
		return invalid("version is %d: must not be negative", v)
	}
	return nil
}

// RestartRun starts a new run with the input of another.
func (o *Ops) RestartRun(ctx context.Context, in api.RestartRun) (out api.StartedRun, err error) {
	if err := cmp.Or(checkVersion(in.Version), o.find(ctx, in.Run, in.Workflow)); err != nil {
		return out, err
	}
	return o.started(ctx)(o.app.Restart(ctx, in.Run, stepwell.RestartOptions{ID: in.ID, Version: in.Version, Input: in.Input, InPlace: in.InPlace}))
}

// ForkRun starts a new run from an event of another.
func (o *Ops) ForkRun(ctx context.Context, in api.ForkRun) (out api.StartedRun, err error) {
	if err := cmp.Or(checkVersion(in.Version), o.find(ctx, in.Run, in.Workflow)); err != nil {
		return out, err
	}
	at := int64(0)
	if in.At != "" {
		if at, err = world.ParseEvent(in.Run, string(in.At)); err != nil {
			return out, fmt.Errorf("at: %w", err)
		}
	}
	return o.started(ctx)(o.app.Fork(ctx, in.Run, stepwell.ForkOptions{At: at, ID: in.ID, Version: in.Version, Input: in.Input, Results: in.Results}))
}

// RetryRun continues a failed run from the step that failed, in a new run.
func (o *Ops) RetryRun(ctx context.Context, in api.RetryRun) (out api.StartedRun, err error) {
	if err := o.find(ctx, in.Run, in.Workflow); err != nil {
		return out, err
	}
	return o.started(ctx)(o.app.Retry(ctx, in.Run))
}
