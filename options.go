package stepwell

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

// StartOption changes how a run starts: [Key], [Retention], or a whole [StartOptions].
type StartOption interface{ startOption(*StartOptions) }

// StartOptions says how a run starts. The zero value is a run that starts now, under a new ID. A field that
// is not set leaves what an option before it said.
type StartOptions struct {
	// ID is the run's ID, chosen by the caller: 1 to 128 characters of [A-Za-z0-9_.:@~-]. Used again: [ErrRunExists],
	// unless Key is there too, and that run's: then it is the same start again, and that run is returned. Where they are two runs', the error names both.
	ID string
	// Key is an idempotency key, unique per workflow for as long as the run is kept: used again, the existing run is returned. A start with the context of
	// a step's body, without a key and an ID, has the step's: the next attempt finds the run that this one started. A second such start of the same
	// workflow in one body is refused with [ErrInvalid].
	Key string
	// Delay is how long the run stays pending at least.
	Delay time.Duration
	// Retention is how long the run is kept after its end; 0: as the workflow says; [Forever]. [Config].MaxRetention may lower it: see [Run.Retention].
	Retention time.Duration
	// Timeout is how long the run may take from when it begins, over all its segments; 0: as the workflow says; [Forever]: no limit. Then it is cancelled,
	// and fails with code TIMEOUT when its code has cleaned up.
	Timeout time.Duration
	// Priority is from 1 to 4; 4 is served first; 0 means 2. Who has waited a minute counts one higher, and so on.
	Priority int
	// Version is the version of the workflow; 0: the one it was started with in code, or the highest that a worker knows.
	Version int
	// Context is kept with the run: a trace parent, the caller's tags.
	Context map[string]string
	// Attributes are what the run starts with, as JSON: at most 64, of 8 KiB each and 16 KiB together; see [SetAttribute].
	Attributes map[string]any
	// In is a transaction of the caller's, in the database of the App's world: the run is born when that commits, and was never there when it
	// is rolled back. See [In].
	In world.Tx

	retention time.Duration // the workflow's
	timeout   time.Duration // the same
}

func (o StartOptions) startOption(to *StartOptions) {
	o.retention, o.timeout = to.retention, to.timeout
	o.ID, o.Key, o.Delay = cmp.Or(o.ID, to.ID), cmp.Or(o.Key, to.Key), cmp.Or(o.Delay, to.Delay)
	o.Retention, o.Timeout = cmp.Or(o.Retention, to.Retention), cmp.Or(o.Timeout, to.Timeout)
	o.Priority, o.Version = cmp.Or(o.Priority, to.Priority), cmp.Or(o.Version, to.Version)
	if o.Context == nil {
		o.Context = to.Context
	}
	if o.Attributes == nil {
		o.Attributes = to.Attributes
	}
	if o.In == nil {
		o.In = to.In
	}
	*to = o
}

type keyOption string

// Key is the idempotency key of a start: see [StartOptions].
func Key(key string) StartOption { return keyOption(key) }

func (k keyOption) startOption(o *StartOptions) { o.Key = string(k) }

func (d RetentionOption) startOption(o *StartOptions) { o.Retention = time.Duration(d) }

// check refuses what makes no sense, before anything is written.
func (o *StartOptions) check() error {
	switch {
	case o.Delay < 0:
		return fmt.Errorf("%w: delay %s: must not be negative", ErrInvalid, o.Delay)
	case o.Retention < 0 && o.Retention != Forever:
		return fmt.Errorf("%w: retention %s: must not be negative", ErrInvalid, o.Retention)
	case o.Timeout < 0 && o.Timeout != Forever:
		return fmt.Errorf("%w: timeout %s: must not be negative", ErrInvalid, o.Timeout)
	case o.Priority < 0 || o.Priority > 4:
		return fmt.Errorf("%w: priority %d: want 1 to 4, or 0 for the default", ErrInvalid, o.Priority)
	}
	if err := world.CheckVersion(o.Version); err != nil {
		return err
	}
	if o.ID != "" {
		if err := world.CheckRunID(o.ID); err != nil {
			return err
		}
	}
	if o.Key != "" {
		return world.CheckKey("idempotency key", o.Key)
	}
	return nil
}

// birth is what the log keeps of the options.
func (o *StartOptions) birth(workflow string, limit time.Duration) world.Birth {
	b := world.Birth{Workflow: workflow, Version: o.Version, Key: o.Key, Priority: 1, Context: o.Context}
	if o.Priority > 0 {
		b.Priority = o.Priority - 1
	}
	if b.Timeout = o.Timeout; b.Timeout == 0 {
		b.Timeout = o.timeout
	}
	b.Timeout = max(b.Timeout, 0) // Forever
	b.Retention = o.Retention
	if b.Retention == 0 {
		b.Retention = o.retention
	}
	if b.Retention == 0 {
		b.Retention = defaultRetention
	}
	if b.Retention == Forever {
		b.Retention = 0 // the log's word for it
	}
	b.Retention = clampRetention(b.Retention, limit)
	return b
}

// clampRetention keeps to the operator's limit, as the log has it: 0 is for ever.
func clampRetention(d, limit time.Duration) time.Duration {
	if limit > 0 && (d == 0 || d > limit) {
		return limit
	}
	return d
}

// fromLog is a retention of the log as callers know it.
func fromLog(d time.Duration) time.Duration {
	if d == 0 {
		return Forever
	}
	return d
}

// tellLowered says that a retention that was asked for is above the operator's limit; 0: nothing was asked for.
func tellLowered(log *slog.Logger, asked, limit time.Duration) {
	if lowered(asked, limit) {
		log.Warn("kept for less than was asked for: Config.MaxRetention is lower", "asked", retentionText(asked), "kept", retentionText(limit))
	}
}

func lowered(asked, limit time.Duration) bool {
	return limit != Forever && (asked == Forever || asked > limit)
}

func retentionText(d time.Duration) string {
	if d == Forever {
		return "forever"
	}
	return human.Span(d)
}

const (
	defaultRetention = 30 * 24 * time.Hour
	maxRetention     = 365 * 24 * time.Hour
)
