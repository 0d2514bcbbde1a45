package sqlite

import (
	"context"

	"github.com/stepwell/stepwell/world"
)

func (w *World) Run(ctx context.Context, id string) (world.Run, error) { return world.Run{}, nil }
func (w *World) Runs(ctx context.Context, q world.RunQuery) (world.RunPage, error) { return world.RunPage{}, nil }
func (w *World) Hooks(ctx context.Context, q world.HookQuery) ([]world.HookRow, error) { return nil, nil }
func (w *World) Stats(ctx context.Context) (world.Stats, error) { return world.Stats{}, nil }
func (w *World) Sweep(ctx context.Context, limit int) (int, error) { return 0, nil }
