package engine

// This file has what engines can do after a crash. An engine that cannot tell any of it leaves the interface out.

import (
	"context"
	"time"
)

// RemoteSignaller is [Signaller] with a signal that comes over connections of another client's, as from another process.
type RemoteSignaller interface {
	SignalRemote(ctx context.Context) (sent, began time.Time, err error)
}

// Replayer wakes runs whose state has to be made again from what is recorded.
type Replayer interface {
	// Prepare runs so many runs at once, each of so many trivial steps, that wait for a signal then; it returns when all wait.
	Prepare(ctx context.Context, runs, steps int) (ids []string, err error)
	// Wake sends such a run its signal, in an engine that was opened after Prepare, and returns the time from the call until the body of the
	// run's next step began. The run waits again then.
	Wake(ctx context.Context, id string) (time.Duration, error)
}

// Forgetter makes the system forget the files of a store that nobody has open: they are read from the disk next time.
type Forgetter interface {
	Forget() error
}

// Ticker has runs that take a step every 100 ms.
type Ticker interface {
	// Tick starts n such runs and returns when each has begun a step here.
	Tick(ctx context.Context, n int) error
	// Ticked waits until n such runs of another process have begun a step here, and returns when each of them did first.
	Ticked(ctx context.Context, n int) ([]time.Time, error)
}
