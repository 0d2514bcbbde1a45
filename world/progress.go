package world

// This file says where what a step's body tells of its progress is kept: in a stream of the step's own, whose last chunk counts.

import (
	"context"
	"encoding/json"
	"strings"
	"time"
)

// MaxProgress is how many bytes a body may say of its progress, as JSON.
const MaxProgress = 4 << 10

// progressStreams begins the names of streams that hold the progress of a step; the step's ID follows.
const progressStreams = "progress/"

// ProgressStream is the name of the stream that holds the progress of a step.
func ProgressStream(step string) string { return progressStreams + step }

// ProgressOf tells of which step a stream holds the progress; "": it is another stream.
func ProgressOf(stream string) string {
	if step, ok := strings.CutPrefix(stream, progressStreams); ok && strings.HasPrefix(step, PrefixStep+"_") {
		return step
	}
	return ""
}

// Progress is what the body of a step said last of how far it is.
type Progress struct {
	Value   json.RawMessage `json:"value"`
	Attempt int             `json:"attempt"` // that said it
	At      time.Time       `json:"at"`      // when it was written, some seconds after it was said at most
}

// LastProgress reads what the attempts of a step said last; nil: nothing.
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

// ReadProgress reads the last chunk of a stream that holds the progress of a step; nil: there is none.
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
