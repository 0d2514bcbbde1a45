// Pipeline converts the pictures of many tenants, each tenant's at a rate of his own. It says how far it is,
// and tries those that failed once
// more when somebody has said how. The functions that it calls are in services.go.
//
//	go run ./examples/pipeline
package main

import (
	"time"

	"github.com/stepwell/stepwell"
	_ "github.com/stepwell/stepwell/world/postgres"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

// Again is sent when somebody has looked at the pictures that failed.
var Again = stepwell.Event[Hint]("again")

// Resize is the step of one picture: any worker may take it.
var Resize = stepwell.DefineStep("resize", resize, stepwell.Limit{Rate: 500, Per: time.Second, Burst: 50, By: "tenant"})

// Album is the workflow.
var Album = stepwell.Define("album", album)

func album(ctx stepwell.Context, name string) (Report, error) {
	pictures, err := stepwell.Call(ctx, "list", List, name)
	if err != nil {
		return Report{}, err
	}
	done, hint := 0, Hint{}
	one := func(ctx stepwell.Context, p Picture) (string, error) {
		p.Hint = hint
		url, err := Resize.Run(ctx, p)
		if err != nil {
			return "", err
		}
		done++
		return url, stepwell.SetAttribute(ctx, "done", done)
	}
	all, err := stepwell.MapSettled(ctx, pictures, 100, one)
	if err != nil {
		return Report{}, err
	}
	if failed := stepwell.Failed(all); len(failed) > 0 {
		if hint, _, err = Again.Wait(ctx); err != nil {
			return Report{}, err
		}
		if all, err = stepwell.MapSettled(ctx, failed, 100, one); err != nil {
			return Report{}, err
		}
	}
	return Report{Done: done, Failed: stepwell.Failed(all)}, nil
}

var definitions = []stepwell.Definition{Album, Resize}

func main() { stepwell.Main(stepwell.Config{Definitions: definitions}) }
