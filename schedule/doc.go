// Package schedule has runs of workflows start by themselves: every night at three, every six hours, once.
//
//	var Nightly = schedule.New("nightly-report", Report, Input{Kind: "all"},
//		schedule.Times("0 3 * * *"), schedule.Zone("Europe/Berlin"))
//
//	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{
//		Report, schedule.Set("reports", 1, Nightly),
//	}})
//
// Each time gives one run, whatever dies, and however many programs work on the database: the run's ID is made of the
// schedule and the time. [Of] tells the run which time that is. Schedules that are in no program's code are made with
// [Put], over REST, on the command line and in the web UI: see docs/schedules.md.
package schedule
