package stepwell

// What tests reach of an App and of a workflow; see internal/kit.

import (
	"fmt"

	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/replay"
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
}
