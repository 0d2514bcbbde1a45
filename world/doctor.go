package world

import "context"

// Doctor is a [World] that examines its storage, for people.
type Doctor interface {
	// Examine looks for what makes runs slow or stand still, and changes nothing. It may take seconds on a large database. A check that
	// cannot be made, for want of rights say, is a finding too.
	Examine(ctx context.Context) ([]Finding, error)
}

// Finding is the result of one check.
type Finding struct {
	Check  string `json:"check"`            // what was looked at, in a few words; the same each time
	Health Health `json:"health"`           //
	Found  string `json:"found"`            // with figures
	Advice string `json:"advice,omitempty"` // what to do; "" where all is well
}

// Health says how bad a finding is.
type Health string

// How bad a [Finding] can be.
const (
	HealthGood    Health = "good"
	HealthWarning Health = "warning" // look at it by day
	HealthBad     Health = "bad"     // runs stand still, or soon will
)
