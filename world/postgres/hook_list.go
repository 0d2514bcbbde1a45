package postgres

// Active hooks as people see them: by token, of a run, or all.

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	showEndedHook = load("show_ended_hook")
	showHook      = load("show_hook")
	listRunHooks  = load("list_run_hooks")
	listHooks     = load("list_hooks")
)

// Hooks lists active hooks, oldest first; see [world.Admin].
func (rd *reader) Hooks(ctx context.Context, q world.HookQuery) (out []world.HookRow, err error) {
	ended, bytes := false, 0
	each := func(row pgx.Rows) error {
		if bytes >= world.PageBytes {
			return nil
		}
		h := world.HookRow{Ended: ended}
		var metadata []byte
		if err := row.Scan(&h.ID, &h.Run, &h.Token, &metadata, &h.CreatedAt); err != nil {
			return err
		}
		if h.Metadata, h.CreatedAt = metadata, world.Within(h.CreatedAt.UTC()); q.Run == "" || h.Run == q.Run {
			h.CheckMetadata()
			out = append(out, h)
			bytes += len(metadata)
		}
		return nil
	}
	switch limit := rules.ListLimit(q.Limit); {
	case q.Token != "":
		if err = rd.read(ctx, showHook, each, q.Token); err == nil && q.Ended && len(out) == 0 {
			ended = true
			err = rd.read(ctx, showEndedHook, each, q.Token)
		}
	case q.Run != "":
		err = rd.read(ctx, listRunHooks, each, q.Run, limit)
	default:
		err = rd.read(ctx, listHooks, each, limit)
	}
	world.SortHooks(out)
	return out, err
}
