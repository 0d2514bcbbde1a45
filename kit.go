package stepwell

// What the test kit changes in an App; see internal/kit.

import "github.com/stepwell/stepwell/internal/kit"

func init() {
	kit.Set = func(config any, r kit.Rig) { config.(*Config).rig = r }
}
