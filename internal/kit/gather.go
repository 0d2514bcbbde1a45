package kit

// Gathers reports whether starts of a *stepwell.Workflow are merged. The root package sets it.
var Gathers func(workflow any) bool
