// Package limit says how many runs of a workflow may be at work at once, or begin in a period, over all processes.
//
//	var Import = stepwell.Define("import", importFile,
//		limit.Concurrency(10, limit.Key(func(in File) string { return in.Tenant })),
//		limit.Concurrency(100, limit.Name("all-imports")))
//
// At most ten imports of one tenant are at work, and at most a hundred of all. The others stand in line: of each
// tenant in the order in which they were started, by priority; between tenants in turn.
//
// What counts is work: a run that waits, for time, an event or another run, gives its place back, and stands in
// line again when it wakes, before those that were started after it. With [UntilEnd] it holds its place from its
// first to its last, sleeps included.
//
//	limit.Rate(100, time.Minute, limit.Key(func(in File) string { return in.Tenant }))
//
// Of each tenant a hundred begin in a minute, evenly, and the others wait in order; with [Refuse] they are refused.
package limit
