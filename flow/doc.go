// Package flow says what becomes of starts before their runs begin.
//
// An operator holds a workflow, and its starts wait until it is released:
//
//	err := flow.Hold(ctx, app, "charge", "the bank is down")
//
// A run that does not begin in time is cancelled:
//
//	var SendCode = stepwell.Define("send-code", sendCode, flow.StartTTL(5*time.Minute))
//
// Of the runs of a workflow and key one is live: a start returns it, or takes its place:
//
//	var Sync = stepwell.Define("sync", sync,
//		flow.Singleton(flow.Replace, limit.Key(func(in Shop) string { return in.ID })))
package flow
