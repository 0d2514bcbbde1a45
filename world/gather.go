package world

// This file has what gathers the inputs of several starts into one run.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Gather says that a run takes the inputs of further starts, of the same workflow and key, before
// it begins. A debounce has a Quiet, and begins with the last input. A batch has none, and begins
// with all inputs, each of which is a list.
type Gather struct {
	Key string `json:"key,omitempty"`
	// it begins after this time without input; 0: a batch
	Quiet time.Duration `json:"quiet,omitempty"`
	// Most: it begins at latest this long after its first input.
	Most   time.Duration `json:"most"`
	Number int           `json:"number,omitempty"` // of a batch: it begins with this many inputs
}

// Limits of what one run gathers.
const (
	MaxGathered       = 1_000    // inputs of a batch
	MaxBatchBytes     = 1 << 20  // bytes of these
	MaxDebounced      = 10_000   // inputs of a debounce, which stay in its log
	MaxDebouncedBytes = 16 << 20 // bytes of these
)

// Check returns [ErrInvalid] for invalid values.
func (g *Gather) Check() error {
	switch {
	case g.Quiet < 0 || g.Quiet > 0 && g.Most < g.Quiet:
		return fmt.Errorf("%w: debounce: quiet time %s, longest wait %s: both must be above zero, and the longest wait no shorter than the quiet time", ErrInvalid, g.Quiet, g.Most)
	case g.Quiet > 0 && g.Number != 0:
		return fmt.Errorf("%w: a debounce has no size", ErrInvalid)
	case g.Most <= 0:
		return fmt.Errorf("%w: batch: the longest wait is %s: must be above zero", ErrInvalid, g.Most)
	case g.Quiet == 0 && (g.Number < 2 || g.Number > MaxGathered):
		return fmt.Errorf("%w: batch of %d inputs: want 2 to %d", ErrInvalid, g.Number, MaxGathered)
	case g.Key != "":
		return CheckKey("key of a debounce or a batch", g.Key)
	}
	return nil
}

// SaidGather is a [Gather] in a definition, for starters without the workflow's code.
type SaidGather struct {
	Quiet  time.Duration `json:"quiet,omitempty"`
	Most   time.Duration `json:"most"`
	Number int           `json:"number,omitempty"`
	// of the key in an input's JSON; "": there is no key
	Path     string `json:"path,omitempty"`
	Computed bool   `json:"computed,omitempty"` // only the workflow's code can compute the key
}

// Gather returns the Gather of a birth with a key.
func (g *SaidGather) Gather(key string) Gather {
	return Gather{Key: key, Quiet: g.Quiet, Most: g.Most, Number: g.Number}
}

// Check returns [ErrInvalid] for invalid values.
func (g *SaidGather) Check() error {
	said := g.Gather("")
	if err := said.Check(); err != nil {
		return err
	}
	return checkPath(g.Path)
}

// checkPath refuses what is no path of a key.
func checkPath(path string) error {
	if path == "" {
		return nil
	}
	for name := range strings.SplitSeq(path, ".") {
		if name == "" || len(path) > MaxTemplate {
			return fmt.Errorf("%w: path %.80q: want names with dots between, of %d bytes at most", ErrInvalid, path, MaxTemplate)
		}
	}
	return nil
}

// Key returns the key of an input. The error is [ErrInvalid] if only the workflow's code can
// compute it.
func (g *SaidGather) Key(input []byte) (string, error) {
	switch {
	case g.Path != "":
		return KeyAt(input, g.Path)
	case g.Computed:
		return "", fmt.Errorf("%w: the key is computed by code: start the run in a program that has the workflow's definition, or let the definition say where the key stands, with By", ErrInvalid)
	}
	return "", nil
}

// Gathering is the state of a run that gathers, as stores keep it.
type Gathering struct {
	Quiet  time.Duration
	Number int
	Until  time.Time // the latest begin
	Items  int       // number of inputs so far
	Bytes  int       // bytes of these
}

// Opens returns the Gathering of a birth with this many items and bytes.
func (g *Gather) Opens(now time.Time, items, bytes int) Gathering {
	return Gathering{Quiet: g.Quiet, Number: g.Number, Until: After(now, g.Most), Items: items, Bytes: bytes}
}

// Begins returns when the run begins, after a birth or an input at now.
func (b *Gathering) Begins(now time.Time) time.Time {
	switch {
	case b.full():
		return now
	case b.Quiet == 0:
		return b.Until
	}
	if at := After(now, b.Quiet); at.Before(b.Until) {
		return at
	}
	return b.Until
}

func (b *Gathering) full() bool {
	return b.Quiet == 0 && (b.Items >= b.Number || b.Bytes >= MaxBatchBytes) || b.Items >= MaxDebounced || b.Bytes >= MaxDebouncedBytes
}

// Open reports whether it takes more inputs.
func (b *Gathering) Open() bool { return !b.full() }

// Fits reports whether it can take this many more items and bytes.
func (b *Gathering) Fits(items, bytes int) bool {
	if b.full() {
		return false
	}
	if b.Quiet > 0 {
		return true
	}
	return b.Items+items <= b.Number && b.Bytes+bytes <= MaxBatchBytes
}

// Add adds items and bytes.
func (b *Gathering) Add(items, bytes int) { b.Items, b.Bytes = b.Items+items, b.Bytes+bytes }

// InputBytes returns the size of an input, as if it were not encrypted.
func (e *Event) InputBytes() int { return encryptedBytes(len(e.Payload), e.Encrypted) }

// Closed returns the error for an input to a run that no longer gathers. The caller starts again
// with a [Commit] with Items.
func Closed(run string) error {
	return fmt.Errorf("run %s no longer gathers inputs: %w", run, ErrConflict)
}

// JoinInput returns the input of a run after a further input.
func (g *Gather) JoinInput(all, next json.RawMessage) json.RawMessage {
	if g.Quiet > 0 {
		return next
	}
	a, b := listed(all), listed(next)
	if a == nil || b == nil { // encrypted
		return all
	}
	out := make([]byte, 0, len(a)+len(b)+3)
	out = append(append(out, '['), a...)
	if len(a) > 0 && len(b) > 0 {
		out = append(out, ',')
	}
	return append(append(out, b...), ']')
}

// listed is what stands in a JSON list; nil: it is none.
func listed(list []byte) []byte {
	list = bytes.TrimSpace(list)
	if len(list) < 2 || list[0] != '[' {
		return nil
	}
	return bytes.TrimSpace(list[1 : len(list)-1])
}

// Items splits a list of inputs.
func Items(list []byte) (items []json.RawMessage, err error) {
	if err := json.Unmarshal(list, &items); err != nil {
		return nil, fmt.Errorf("%w: want a list of inputs: %w", ErrInvalid, err)
	}
	return items, nil
}

// MergedStarts returns the merged starts with an idempotency key in the log of a run that is
// created with its log, by an import. A store then knows their keys. A run that is made from
// another one has none.
func MergedStarts(c *Commit) (all []*Delivery) {
	if !c.Birth() || c.Events[0].Birth.Gather == nil || c.Events[0].Birth.Origin != nil {
		return nil
	}
	seen := make(map[string]bool)
	for _, e := range c.Events[1:] {
		if e.Type == InputReceived && e.Name != "" && !seen[e.Name] {
			seen[e.Name] = true
			all = append(all, &Delivery{Run: c.Run, ID: e.Name, Act: true, Events: []Event{e}})
		}
	}
	return all
}

// checkGathering refuses what is no start that may be merged into another.
func checkGathering(c *Commit, b *Birth) error {
	for _, d := range MergedStarts(c) {
		if err := CheckKey("idempotency key", d.ID); err != nil {
			return fmt.Errorf("run %s: %w", c.Run, err)
		}
	}
	switch {
	case c.Items < 0 || c.Items > MaxGathered:
		return fmt.Errorf("%w: run %s: %d inputs at once: want %d at most", ErrInvalid, c.Run, c.Items, MaxGathered)
	case c.Items == 0:
		return nil
	case b.Gather == nil || c.Worker != "" || b.Parent != nil || b.Origin != nil || !b.NotBefore.IsZero() || c.Events[0].Apart != "":
		return fmt.Errorf("%w: run %s: a start that may be merged is by a client, of no child or fork, undelayed, and has its input with it", ErrInvalid, c.Run)
	case slices.ContainsFunc(b.Places, func(p Place) bool { return p.Single != "" }):
		return fmt.Errorf("%w: run %s: a start that may be merged is of no singleton", ErrInvalid, c.Run)
	}
	return nil
}
