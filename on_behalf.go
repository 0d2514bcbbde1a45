package stepwell

// What a server in front of an App needs of it: the world below, and whose wish it carries out.

import (
	"cmp"
	"context"

	"github.com/stepwell/stepwell/acting"
	"github.com/stepwell/stepwell/world"
)

// World returns the store that the App was made on. Use it to read lists in pages, with cursors.
func (a *App) World() world.World { return a.world }

// by is who acts.
func (a *App) by(ctx context.Context) string { return cmp.Or(acting.Who(ctx), a.cfg.Name) }
