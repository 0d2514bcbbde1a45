package stepwell

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

// StartOption is an option of a start: [RunID], [Key], [Delay], [Retention], [StartTTL], [Timeout],
// [Priority], [Version], [Tags], [Attributes], [In], [EventDef.AlsoSend], [AlsoSignal].
type StartOption interface{ startOption(*startOptions) }

// BirthOption is an option of a start and of a child run: [RunID], [Key], [Delay], [Priority].
type BirthOption interface {
	StartOption
	ChildOption
}

// RunOption is an option of a workflow, for all of its runs, and of a start or a child run, for
// that one: [Retention], [StartTTL], [Attributes], [Version].
type RunOption interface {
	WorkflowOption
	BirthOption
}

// startOptions says how a run starts. The zero value is a run that starts now, under a new ID.
type startOptions struct {
	ID         string
	Key        string
	Delay      time.Duration
	Retention  time.Duration // 0: as the workflow says
	Timeout    time.Duration // the same
	StartTTL   time.Duration // the same
	Priority   int           // 1 to 4; 0: 2
	Version    int           // 0: the one that it was started with in code, or the highest that a live worker has
	Context    map[string]string
	Attributes map[string]any
	In         world.Tx
	also       []alsoSend
	ack        string          // the receipt of a message that is acknowledged with the start
	schedule   *world.Schedule // that it is started by, as it is from then on

	retention time.Duration // the workflow's
	timeout   time.Duration // the same
	startTTL  time.Duration // the same
	settled   bool          // by what the world knows of its definition

	attributes map[string]json.RawMessage // the workflow's

	places  func(input []byte) ([]world.Place, error) // nil: it is started by its name
	gathers *gathers                                  // nil: it has a run of its own
}

type runIDOption string

// RunID chooses the ID of a run: 1 to 128 characters of [A-Za-z0-9_.:@~-]. Without it, or with "",
// the ID is new; the ID of a child is the same on replay.
//
// If the ID is taken, the start or child fails with [ErrRunExists]. But a start with both the ID
// and the [Key] of an existing run returns that run. If the ID and the key belong to two runs, the
// error names both.
func RunID(id string) BirthOption { return runIDOption(id) }

func (id runIDOption) startOption(o *startOptions) { o.ID = string(id) }

func (id runIDOption) childOption(o *childOptions) { o.ID = string(id) }

type keyOption string

// Key is an idempotency key, unique within the workflow for as long as the run is kept. A start
// with the key of an existing run returns that run.
//
// A start with the context of a step's body, and without a key and an ID, uses the step's
// idempotency key: the next attempt finds the run that this one started. A second such start of the
// same workflow in one body is refused with [ErrInvalid].
//
// A child whose key is used fails with [ErrRunExists]: a child never adopts an existing run.
func Key(key string) BirthOption { return keyOption(key) }

func (k keyOption) startOption(o *startOptions) { o.Key = string(k) }

func (k keyOption) childOption(o *childOptions) { o.Key = string(k) }

// scheduleOption starts a run together with a change of its schedule.
type scheduleOption struct{ is *world.Schedule }

func (s scheduleOption) startOption(o *startOptions) { o.schedule = s.is }

// ackOption is for package queue.
type ackOption string

func (receipt ackOption) startOption(o *startOptions) { o.ack = string(receipt) }

type delayOption time.Duration

// Delay is how long a run stays pending at least.
func Delay(d time.Duration) BirthOption { return delayOption(d) }

func (d delayOption) startOption(o *startOptions) { o.Delay = time.Duration(d) }

func (d delayOption) childOption(o *childOptions) { o.Delay = time.Duration(d) }

type priorityOption int

// Priority is 1 to 4; 4 is served first; 0 means the default, 2. A waiting run gains one level for
// each minute that it waits.
func Priority(n int) BirthOption { return priorityOption(n) }

func (n priorityOption) startOption(o *startOptions) { o.Priority = int(n) }

func (n priorityOption) childOption(o *childOptions) { o.Priority = int(n) }

type tagsOption map[string]string

// Tags are stored with a run as its context: a trace parent, tags of the caller.
func Tags(tags map[string]string) StartOption { return tagsOption(tags) }

func (t tagsOption) startOption(o *startOptions) { o.Context = t }

type attributesOption map[string]any

// Attributes sets attributes that a run starts with, as JSON: at most 64, of 8 KiB each and 16 KiB
// together. See [SetAttribute]. Those of a workflow apply to each of its runs, however it is
// started: workers tell the database when they join. Attributes of a start replace those of the
// workflow with the same name.
func Attributes(all map[string]any) RunOption { return attributesOption(all) }

func (a attributesOption) workflowOption(o *workflowOptions) {
	all, err := encodeAttributes(a)
	if err != nil {
		o.faults = append(o.faults, err)
	}
	o.attributes = all
}

func (a attributesOption) startOption(o *startOptions) { o.Attributes = a }

func (a attributesOption) childOption(o *childOptions) { o.Attributes = a }

func (d retentionOption) startOption(o *startOptions) { o.Retention = time.Duration(d) }

func (d retentionOption) childOption(o *childOptions) { o.Retention = time.Duration(d) }

// check refuses what makes no sense, before anything is written.
func (o *startOptions) check() error {
	switch {
	case o.Delay < 0:
		return fmt.Errorf("%w: delay %s: must not be negative", ErrInvalid, o.Delay)
	case o.Retention < 0 && o.Retention != Forever:
		return fmt.Errorf("%w: retention %s: must not be negative", ErrInvalid, o.Retention)
	case o.Timeout < 0 && o.Timeout != Forever:
		return fmt.Errorf("%w: timeout %s: must not be negative", ErrInvalid, o.Timeout)
	case o.StartTTL < 0 && o.StartTTL != Forever:
		return fmt.Errorf("%w: start TTL %s: must not be negative", ErrInvalid, o.StartTTL)
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
func (o *startOptions) birth(workflow string, limit time.Duration) world.Birth {
	b := world.Birth{Workflow: workflow, Version: o.Version, Key: o.Key, Priority: 1, Context: o.Context}
	if o.Priority > 0 {
		b.Priority = o.Priority - 1
	}
	if b.Timeout = o.Timeout; b.Timeout == 0 {
		b.Timeout = o.timeout
	}
	b.Timeout = max(b.Timeout, 0) // Forever
	b.StartTTL = max(cmp.Or(o.StartTTL, o.startTTL), 0)
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
	if limit > 0 && (d == 0 || d > limit) { // below 0: none
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
		log.Warn("kept for less time than was asked for: Config.MaxRetention of this or another program of this database is lower", "asked", retentionText(asked), "kept", retentionText(limit))
	}
}

func lowered(asked, limit time.Duration) bool {
	return limit > 0 && (asked == Forever || asked > limit)
}

func retentionText(d time.Duration) string {
	if d == Forever {
		return "forever"
	}
	return human.Span(d)
}

const (
	defaultRetention = 30 * 24 * time.Hour
	defaultLimit     = engine.DefaultLimit
)
