// Onboarding signs users up: it creates an account, waits a little, sends a welcome mail, and waits a week for the user to verify
// the address. Who does not is reminded. The process may die anywhere in there: the next one goes on where it stopped.
//
//	go run ./examples/onboarding
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	_ "github.com/stepwell/stepwell/world/memory"
	_ "github.com/stepwell/stepwell/world/postgres"
	_ "github.com/stepwell/stepwell/world/remote"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

// Signup is what the workflow starts from.
type Signup struct {
	Email    string        `json:"email"`
	Patience time.Duration `json:"patience"` // how long to wait for the verification: a week, but not in a demonstration
}

// User is what creating one returns.
type User struct {
	ID string `json:"id"`
}

// Verified is the payload of the event that a user's click on the link sends.
type Verified struct {
	UserID string `json:"userId"`
}

// Verify is the event. It is typed: what is sent and what is awaited cannot differ.
var Verify = stepwell.Event[Verified]("verify")

// Onboard is the workflow: an ordinary function, whose steps happen once.
var Onboard = stepwell.Define("onboard-user", func(ctx stepwell.Context, in Signup) (string, error) {
	user, err := stepwell.Step(ctx, "create-user", func(ctx context.Context) (User, error) {
		return createUser(in.Email, stepwell.Info(ctx).IdempotencyKey) // the same key, should it have to run again
	})
	if err != nil {
		return "", err
	}
	if err := stepwell.Sleep(ctx, "welcome-delay", in.Patience/1000); err != nil {
		return "", err // only when the run is cancelled
	}
	if err := stepwell.Do(ctx, "send-welcome", func(ctx context.Context) error {
		if stepwell.Info(ctx).Attempt == 1 {
			return errors.New("mail: connection refused") // it is tried again, a little later
		}
		return mail(in.Email, "welcome")
	}, stepwell.Retry{Attempts: 5, Base: time.Millisecond}); err != nil {
		return "", err
	}
	_, ok, err := Verify.Wait(ctx, stepwell.Match{"userId": user.ID}, stepwell.Timeout(in.Patience))
	if err != nil {
		return "", err
	}
	if !ok { // nobody came: a value, not an error
		return user.ID + " was reminded", stepwell.Do(ctx, "remind", func(context.Context) error {
			return mail(in.Email, "please verify your address")
		})
	}
	return user.ID + " is verified", nil
})

func createUser(email, _ string) (User, error) {
	name, _, _ := strings.Cut(email, "@")
	return User{ID: "usr_" + name}, nil
}

func mail(to, text string) error {
	fmt.Printf("mail to %s: %s\n", to, text)
	return nil
}

var db = flag.String("db", "memory:", "where runs are kept: memory:, sqlite:PATH, postgres://..., or a server at http://...")

func main() {
	flag.Parse()
	stepwell.Main(stepwell.Config{Database: *db, Definitions: []stepwell.Definition{Onboard}}, func(ctx context.Context, app *stepwell.App) error {
		ada := start(ctx, app, Signup{Email: "ada@example.com", Patience: time.Minute})
		if err := Verify.Send(ctx, app, ada.ID(), Verified{UserID: "usr_ada"}); err != nil { // early: it is kept
			return err
		}
		fmt.Println(ada.Result(ctx))
		fmt.Println(start(ctx, app, Signup{Email: "bob@example.com", Patience: 50 * time.Millisecond}).Result(ctx))
		return nil
	})
}

func start(ctx context.Context, app *stepwell.App, in Signup) *stepwell.Run[string] {
	run, err := Onboard.Start(ctx, app, in, stepwell.Key(in.Email)) // a second start with the key gives the same run
	if err != nil {
		log.Fatal(err)
	}
	return run
}
