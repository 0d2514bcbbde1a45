package ui

// This file says how to begin, where there is nothing to show yet: code to paste, and what starts a run.

import (
	_ "embed"

	"github.com/stepwell/stepwell/world"
)

// beginCode is the program of docs/dev.md, which a test of the docs compiles.
//
//go:embed begin/main.go.txt
var beginCode string

// begin is what a page says where no run is kept.
type begin struct {
	Code     string // "": a worker is there already
	Workflow string
	Start    string // the form that starts a run
	Curl     string
}

// beginOf says how to begin beside the workers that there are.
func (v *visit) beginOf(stats *world.Stats) *begin {
	b := &begin{Code: beginCode, Workflow: "hello"}
	for i := range stats.Workers {
		for _, c := range stats.Workers[i].Classes {
			if c.Version > 0 && (b.Code != "" || c.Workflow < b.Workflow) && stats.Workers[i].Until.After(stats.Now) {
				b.Code, b.Workflow = "", c.Workflow
			}
		}
	}
	if v.may(Operator) {
		b.Start = Base + "workflows/" + b.Workflow + "/start"
	}
	scheme, key := "http", ""
	if secure(v.Request) {
		scheme = "https"
	}
	if v.u.host.Locked() {
		key = ` -H "Authorization: Bearer $STEPWELL_API_KEY"`
	}
	b.Curl = "curl" + key + ` -d '{"input": "ada"}' ` + scheme + "://" + visible(v.Host) + "/v1/workflows/" + b.Workflow + "/runs"
	return b
}
