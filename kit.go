package stepwell

// What tests, and the rooms beside this package, reach of it; see internal/kit.

import (
	"fmt"
	"os"

	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/keyring"
)

func init() {
	kit.Set = func(config any, r kit.Rig) { config.(*Config).rig = r }
	kit.Code = func(definition any) (func([]byte) replay.Body, error) {
		r := &registrar{cfg: new(Config)}
		if err := r.cfg.defaults(); err != nil {
			return nil, err
		}
		definition.(Definition).register(r)
		if len(r.workflows) != 1 {
			return nil, fmt.Errorf("want a workflow, got %d", len(r.workflows))
		}
		return r.workflows[0].Body, nil
	}
	kit.Checker = func(config any) (kit.Checking, error) {
		cfg := *config.(*Config)
		if cfg.Encryption == nil {
			var err error
			if cfg.Encryption, err = keyring.FromEnv(os.Getenv); err != nil {
				return kit.Checking{}, err
			}
		}
		app, err := newApp(nil, cfg, nil)
		if err != nil {
			return kit.Checking{}, err
		}
		return kit.Checking{Knows: app.engine.Knows, Replay: app.replay}, nil
	}
}
