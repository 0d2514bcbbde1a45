package kit

import "time"

// NewStartTTL makes an option of a workflow, a start and a child, for package flow. The root package sets it.
var NewStartTTL func(d time.Duration) any
