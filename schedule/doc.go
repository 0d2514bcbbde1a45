// Package schedule starts runs of workflows by time: every night at three, every six hours, once.
//
//	var Nightly = schedule.New("nightly-report", Report, Input{Kind: "all"},
//		schedule.Times("0 3 * * *"), schedule.Zone("Europe/Berlin"))
//
//	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{
//		Report, schedule.Set("reports", 1, Nightly),
//	}})
//
// Each scheduled time starts exactly one run, whatever crashes and however many programs use the
// database: the run's ID contains the schedule's name and the time. [Of] tells the run its time.
// Schedules outside a program's code are made with [Put], over REST, on the command line and in the
// web UI: see docs/schedules.md.
package schedule
