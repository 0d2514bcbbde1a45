package stepwell

// What a server in front of an App needs of it: the world below, and whose wish it carries out.

import (
	"context"

	"github.com/stepwell/stepwell/world"
)

// World is the world that the App was made on. What an App yields one by one is read there in pages, under cursors.
func (a *App) World() world.World { return a.world }

type actingKey struct{}

// ActingFor says on whose behalf an App acts with a context: the log names who paused, resumed and cancelled a run, and who forked it. Without it, and
// with an empty name, that is the App: see [Config].Name.
func ActingFor(ctx context.Context, who string) context.Context {
	return context.WithValue(ctx, actingKey{}, who)
}

// by is who acts.
func (a *App) by(ctx context.Context) string {
	if who, _ := ctx.Value(actingKey{}).(string); who != "" {
		return who
	}
	return a.cfg.Name
}
