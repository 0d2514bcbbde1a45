// Package wdk implements the World of Workflow DevKit (npm: workflow) over HTTP, with Stepwell as
// its store. docs/design/wdk.md maps its runs, steps, hooks, waits and events to ours.
//
//   - A run of the DevKit is a run of our log whose workflow's name begins with [Prefix]. The
//     DevKit runs its code and writes its events; the rules of the log are those of package world.
//   - All such runs belong to one worker, for which each server of a database acts. Writers use
//     optimistic concurrency on the next event number. So several servers can work at once, and any
//     of them may end.
//   - Cached data of a run is read again wherever it may be old.
package wdk
