package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/world"
)

// longWait is how long one request waits for the end of a run.
const longWait = 30 * time.Second

// FailedError is the end of a run that did not complete.
type FailedError struct{ Run api.Run }

func (e *FailedError) Error() string {
	text := fmt.Sprintf("run %s of workflow %s %s", e.Run.ID, e.Run.Workflow, e.Run.Status)
	if e.Run.Error != nil {
		text += ": " + e.Run.Error.Message
	}
	return text
}

// Result waits for the end of a run, or of the newest run that replaced it, and decodes its output.
// output may be nil. Error: [FailedError] for a run that failed or was cancelled.
func (c *Client) Result(ctx context.Context, run string, output any) error {
	for info, err := range c.Watch(ctx, run) {
		switch {
		case err != nil:
			return err
		case !info.Status.Terminal():
			continue
		case info.Status != world.Completed:
			return &FailedError{info}
		case info.Sealed:
			return fmt.Errorf("run %s: %w: the server lacks key %s", info.ID, world.ErrNoKey, info.Encryption)
		case output == nil || info.Output == nil:
			return nil
		}
		if err := json.Unmarshal(info.Output, output); err != nil {
			return fmt.Errorf("run %s: its output does not fit: %w", info.ID, err)
		}
		return nil
	}
	return context.Cause(ctx)
}

// Watch yields the state of a run now, and then whenever a wait of 30 s ends, until it is over. If
// another run replaced it, that one is watched. After an error it yields nothing more.
func (c *Client) Watch(ctx context.Context, run string) iter.Seq2[api.Run, error] {
	return func(yield func(api.Run, error) bool) {
		for in := (api.GetRun{Run: run, Newest: "true"}); ; in.Wait = api.Span(longWait) {
			info, err := c.GetRun(ctx, in)
			if !yield(info, err) || err != nil || info.Status.Terminal() {
				return
			}
			in.Run = info.ID
		}
	}
}

// Runs yields the runs that a filter selects, newest first, page by page.
func (c *Client) Runs(ctx context.Context, in api.ListRuns) iter.Seq2[api.ListedRun, error] {
	return func(yield func(api.ListedRun, error) bool) {
		for {
			page, err := c.ListRuns(ctx, in)
			if err != nil {
				yield(api.ListedRun{}, err)
				return
			}
			for _, run := range page.Runs {
				if !yield(run, nil) {
					return
				}
			}
			if in.Cursor = page.Cursor; in.Cursor == "" {
				return
			}
		}
	}
}
