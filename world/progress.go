package world

// This file says where what a step's body tells of its progress is kept: in a stream of the step's own, whose last chunk counts.

import (
	"context"
	"encoding/json"
	"strings"
	"time"
)

// MaxProgress is the largest size in bytes of a step's progress, as JSON.
const MaxProgress = 4 << 10

// progressStreams begins the names of streams that hold the progress of a step; the step's ID follows.
const progressStreams = "progress/"

// ProgressStream returns the name of the stream with the progress of a step.
func ProgressStream(step string) string { return progressStreams + step }

// ProgressOf returns the step whose progress a stream has; "": it is another stream.
func ProgressOf(stream string) string {
	if step, ok := strings.CutPrefix(stream, progressStreams); ok && strings.HasPrefix(step, PrefixStep+"_") {
		return step
	}
	return ""
}

// Progress is the last reported progress of a step.
type Progress struct {
	Value   json.RawMessage `json:"value"`
	Attempt int             `json:"attempt"` // attempt that reported it
	// At: when it was written, at most some seconds after the report.
	At time.Time `json:"at"`
}

// LastProgress reads the last reported progress of a step; nil: none.
func LastProgress(ctx context.Context, w Streams, run, step string) (*Progress, error) {
	rows, err := w.StreamsOf(ctx, run)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		if rows[i].Name == ProgressStream(step) {
			return ReadProgress(ctx, w, run, &rows[i])
		}
	}
	return nil, nil
}

// ReadProgress reads the last chunk of a stream with the progress of a step; nil: none.
func ReadProgress(ctx context.Context, w Streams, run string, row *StreamRow) (last *Progress, err error) {
	page, err := w.Chunks(ctx, run, row.Name, ChunkQuery{From: row.Next - 1})
	if err != nil {
		return nil, err
	}
	for i := range page.Chunks {
		if c := &page.Chunks[i]; c.Kind == ChunkData {
			last = &Progress{Value: c.Value, Attempt: c.Attempt, At: c.Time}
		}
	}
	return last, nil
}
