package globals

import (
	"math/rand"
	"os"
	"time"

	"github.com/stepwell/stepwell"
)

// What each process sets anew as it starts, and what it is given with its release.
var (
	began   = time.Now()
	salt    = rand.Int()
	host, _ = os.Hostname()
	region  = os.Getenv("REGION")
	epoch   = time.Unix(0, 0)
	dice    = rand.New(rand.NewSource(1))
)

func sinceStart(t time.Time) time.Duration { return t.Sub(began) }

func wrongStart(ctx stepwell.Context, n int) (int, error) {
	if ctx.Now().Sub(began) > time.Hour { // want `workflow code reads began, which each process sets to another time.Now \(globals/start.go:\d+\)`
		return 0, nil
	}
	if sinceStart(ctx.Now()) > time.Hour { // want `globals.sinceStart comes to a read of began, which each process sets to another time.Now`
		return 0, nil
	}
	if host == "a" { // want `workflow code reads host, which each process sets to another os.Hostname`
		return dice.Intn(6), nil // want `dice.Intn, of a generator that all runs draw from, in workflow code`
	}
	return n + salt, nil // want `workflow code reads salt, which each process sets to another rand.Int`
}

type table struct{ chance *rand.Rand }

func newTable() *table { return &table{rand.New(rand.NewSource(time.Now().UnixNano()))} }

func (t *table) flow(ctx stepwell.Context, n int) (int, error) {
	return t.chance.Intn(n), nil // want `chance.Intn, of a generator that all runs draw from, in workflow code`
}

func rightStart(ctx stepwell.Context, n int) (int, error) {
	if region == "eu" && ctx.Now().After(epoch) { // near: globals
		return 0, nil
	}
	own := rand.New(rand.NewSource(3)) // near: random
	return own.Intn(n) + ctx.Rand().IntN(n), nil
}
