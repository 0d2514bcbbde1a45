package wire

// This file has what processes have counted.

import "github.com/stepwell/stepwell/world"

// ProcessMetrics is what a process has counted: see [world.MetricsKeeper].
type ProcessMetrics world.ProcessMetrics

// AllMetrics is what all processes have counted.
type AllMetrics struct {
	Answer
	Processes []world.ProcessMetrics `json:"processes,omitempty"`
}
