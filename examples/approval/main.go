// Approval waits for people: an expense report opens a hook, a point that whoever knows its token can send to, and waits for the
// decision of a manager. Nobody has to: after a while the report goes to the next one.
//
//	go run ./examples/approval
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"time"

	"github.com/stepwell/stepwell"
	_ "github.com/stepwell/stepwell/world/memory"
	_ "github.com/stepwell/stepwell/world/postgres"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

// Expense is a report, and who may approve it, in turn.
type Expense struct {
	ID       string        `json:"id"`
	Euros    int           `json:"euros"`
	Managers []string      `json:"managers"`
	Patience time.Duration `json:"patience"` // with each of them
}

// Decision is what a manager sends to the hook.
type Decision struct {
	By       string `json:"by"`
	Approved bool   `json:"approved"`
	Note     string `json:"note"`
}

// Approve is the workflow.
var Approve = stepwell.Define("approve-expense", func(ctx stepwell.Context, e Expense) (string, error) {
	// A token that is left out is unguessable. This one is chosen, so that a form can know it. Metadata is for those who look it up.
	hook, err := stepwell.NewHook[Decision](ctx, stepwell.Token("expense-"+e.ID), stepwell.Metadata(e))
	if err != nil {
		return "", err // also where another run holds the token
	}
	decision := hook.Start(ctx) // a future: one decision, whoever makes it
	for _, manager := range e.Managers {
		if err := stepwell.Do(ctx, "ask", func(context.Context) error { return ask(manager, e) }); err != nil {
			return "", err
		}
		first, err := stepwell.Select(ctx, decision, stepwell.Timer(ctx, "patience", e.Patience))
		if err != nil {
			return "", err
		}
		if first != 0 {
			continue // the next one
		}
		r, err := decision.Get(ctx)
		d := r.Payload
		switch {
		case err != nil:
			return "", err
		case d.Approved:
			return "approved by " + d.By, nil
		default:
			return fmt.Sprintf("refused by %s: %s", d.By, d.Note), nil
		}
	}
	return "nobody decided", nil
})

func ask(manager string, e Expense) error {
	fmt.Printf("to %s: please decide about %d euros\n", manager, e.Euros)
	asked <- "expense-" + e.ID
	return nil
}

// asked is the managers' mail: the tokens that they were sent.
var asked = make(chan string, 10)

var db = flag.String("db", "memory:", "where runs are kept: memory:, sqlite:PATH or postgres://...")

func main() {
	flag.Parse()
	stepwell.Main(stepwell.Config{Database: *db, Definitions: []stepwell.Definition{Approve}}, func(ctx context.Context, app *stepwell.App) error {
		lunch := start(ctx, app, Expense{ID: "7", Euros: 30, Managers: []string{"Grace"}, Patience: time.Hour})
		decide(ctx, app, <-asked, Decision{By: "Grace", Approved: true})
		fmt.Println(lunch.Result(ctx))

		yacht := start(ctx, app, Expense{ID: "8", Euros: 900_000, Managers: []string{"Grace", "Barbara"}, Patience: 20 * time.Millisecond})
		fmt.Println(yacht.Result(ctx))
		return nil
	})
}

func start(ctx context.Context, app *stepwell.App, e Expense) *stepwell.Run[string] {
	run, err := Approve.Start(ctx, app, e)
	if err != nil {
		log.Fatal(err)
	}
	return run
}

// decide is what the form does: it has nothing but the token.
func decide(ctx context.Context, app *stepwell.App, token string, d Decision) {
	payload, err := json.Marshal(d)
	if err != nil {
		log.Fatal(err)
	}
	if err := app.SendHook(ctx, token, payload); err != nil {
		log.Fatal(err)
	}
}
