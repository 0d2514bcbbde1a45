package demo

// This file holds the file that the demo's steps append to: what really ran, whatever the database says.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// What a body does.
const (
	bodyStarts = "starts"
	bodyFails  = "fails"
	bodyEnds   = "ends"
)

// bodyLine is one line of the file.
type bodyLine struct {
	At      time.Time `json:"at"`
	PID     int       `json:"pid"`
	Run     string    `json:"run"`
	Step    string    `json:"step"` // correlation ID
	Name    string    `json:"name"`
	Attempt int       `json:"attempt"`
	Key     string    `json:"key"` // idempotency key
	What    string    `json:"what"`
	Error   string    `json:"error,omitempty"`
}

// bodies appends to the file. Lines are short and appended at once, so that a killed process leaves no half ones.
type bodies struct{ f *os.File }

// work is the body of a step: it takes some time, and comes to err.
func (b *bodies) work(ctx context.Context, lasts time.Duration, err error) error {
	if err := b.note(ctx, bodyStarts, nil); err != nil {
		return err
	}
	select {
	case <-time.After(lasts):
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		return errors.Join(err, b.note(ctx, bodyFails, err))
	}
	return b.note(ctx, bodyEnds, nil)
}

func (b *bodies) note(ctx context.Context, what string, err error) error {
	info := stepwell.Info(ctx)
	l := bodyLine{
		At: world.Now(), PID: os.Getpid(), Run: info.Run, Step: info.Step, Name: info.Name, Attempt: info.Attempt, Key: info.IdempotencyKey, What: what,
	}
	if err != nil {
		l.Error = err.Error()
	}
	line, err := json.Marshal(l)
	if err != nil {
		return err
	}
	_, err = b.f.Write(append(line, '\n'))
	return err
}

// bodyReader reads the file while it grows.
type bodyReader struct {
	path string
	at   int64
	all  []bodyLine
}

// next returns the lines that came since the last call.
func (r *bodyReader) next() ([]bodyLine, error) {
	f, err := os.Open(r.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(r.at, io.SeekStart); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	from := len(r.all)
	for {
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		if !whole {
			return r.all[from:], nil
		}
		var l bodyLine
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, fmt.Errorf("%s: %w", r.path, err)
		}
		r.all = append(r.all, l)
		r.at += int64(len(line)) + 1
		b = rest
	}
}
