// Package wdk is what the runtime of Workflow DevKit (npm: workflow) stands on where its runs are kept by
// Stepwell: its World, over HTTP. docs/design/wdk.md says how its runs, steps, hooks, waits and events are runs
// and events of ours.
//
//   - A run of the DevKit is a run of our log, whose workflow's name begins with [Prefix]. Its code is run by the
//     DevKit, which writes event by event; the rules of the log are those of package world.
//   - All such runs belong to one worker, for whom each server of a database speaks: who writes at the next number is
//     right, who comes later reads on and tries again. So neither the end of a server nor a second one stops
//     anything.
//   - What it keeps in memory of a run is read anew wherever it may be old.
package wdk
