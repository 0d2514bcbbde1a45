package operate

// This file says which lists are read a page at a time.

import "github.com/stepwell/stepwell"

// Dear reports whether a filter asks for what is in the runs: one page of such a list has looked at many, and whoever wants
// more asks for the next. Of others pages are read until there are as many runs as were asked for.
func Dear(f *stepwell.ListFilter) bool {
	return f.Input != nil || len(f.Attributes) > 0 || f.Patch != "" || f.Unpatched != "" || f.Cause != "" || !f.FailedSince.IsZero()
}
