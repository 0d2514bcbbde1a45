package wdk

// Health checks by queue: an app answers one on a stream of a run that there never is. Its chunks are pieces of a
// value that is kept apart for that run, on whichever server they come; the world deletes such values after a day.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
)

// healthRun begins the IDs of the runs that health checks are answered under.
const healthRun = "wrun_hc_"

// healthLook is how often who waits for an answer looks, as nobody tells of one.
const healthLook = 100 * time.Millisecond

// mostHealth is how many chunks an answer may have; the DevKit writes one.
const mostHealth = 16

// isHealth reports whether a stream is one on which a health check is answered.
func isHealth(run string) bool { return strings.HasPrefix(run, healthRun) }

// healthPiece is a chunk of the answer, or its end.
type healthPiece struct {
	Data json.RawMessage `json:"data,omitempty"`
	Over bool            `json:"over,omitempty"`
}

// health reads the answer, from a chunk on.
func (b beside) health(ctx context.Context, run, name string, from int64) (out readOut, err error) {
	out = readOut{Chunks: []chunkOut{}, Next: from}
	if b.values == nil {
		return out, noRun(run, world.ErrNotFound)
	}
	if err := world.CheckRunID(run); err != nil {
		return out, err
	}
	for ; out.Next < mostHealth && !out.Done; out.Next++ {
		data, err := b.values.Piece(ctx, run, valueID(run, name), int(out.Next))
		if errors.Is(err, world.ErrNotFound) {
			return out, nil
		}
		var p healthPiece
		if err == nil {
			err = json.Unmarshal(data, &p)
		}
		if err != nil {
			return out, err
		}
		if out.Done = p.Over; !p.Over {
			out.Chunks = append(out.Chunks, chunkOut{out.Next, p.Data})
		}
	}
	return out, nil
}

// answer writes the answer. A call that comes again writes nothing more.
func (b beside) answer(ctx context.Context, in *writeIn) (any, error) {
	have, err := b.health(ctx, in.RunID, in.Name, 0)
	if err != nil || have.Done {
		return struct{}{}, err
	}
	all := make([]healthPiece, len(in.Chunks), len(in.Chunks)+1)
	for i := range in.Chunks {
		all[i].Data = in.Chunks[i]
	}
	if in.Close {
		all = append(all, healthPiece{Over: true})
	}
	if in.Again && have.Next > 0 && len(in.Chunks) > 0 { // they are there: the DevKit writes an answer by one call
		return struct{}{}, nil
	}
	if have.Next+int64(len(all)) > mostHealth {
		return nil, fmt.Errorf("%w: the answer to a health check has more than %d chunks", world.ErrTooLarge, mostHealth)
	}
	for i := range all {
		if err := b.keep(ctx, in, int(have.Next)+i, &all[i]); err != nil {
			return nil, err
		}
	}
	return struct{}{}, nil
}

func (b beside) keep(ctx context.Context, in *writeIn, number int, p *healthPiece) error {
	data, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("%w: %w", world.ErrInvalid, err)
	}
	if len(data) > world.ApartPiece {
		return fmt.Errorf("%w: a chunk of the answer to a health check has %d bytes", world.ErrTooLarge, len(data))
	}
	return b.values.KeepPiece(ctx, &world.Piece{
		Run: in.RunID, Value: valueID(in.RunID, in.Name), Number: number, Data: data, Birth: true,
	})
}
