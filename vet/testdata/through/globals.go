package through

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"

	"example.com/vet/through/desk"
	"github.com/stepwell/stepwell"
)

var (
	limits  desk.Limits
	loaded  desk.Limits
	pointed desk.Limits
	list    = []int{1, 2}
	fixed   = desk.Limits{Max: 3}
	seen    = map[string]bool{}
	logger  = slog.New(slog.NewTextHandler(os.Stderr, nil))
	std     = log.New(os.Stderr, "", 0)
)

func change(n int) {
	limits.Set(n)
	desk.Load(&loaded)
	p := &pointed
	p.Max = n
	list[0] = n
	desk.Fixed.Max = n
}

func mark(id string) { seen[id] = true }

func wasSeen(id string) bool { return seen[id] }

func globalsThrough(ctx stepwell.Context, id string) error {
	if limits.Max > 3 { // want `workflow code reads limits, which is changed elsewhere \(through/globals.go:\d+\)`
		return nil
	}
	if loaded.Max > 3 { // want `workflow code reads loaded`
		return nil
	}
	if pointed.Max > 3 { // want `workflow code reads pointed`
		return nil
	}
	if list[0] > 3 { // want `workflow code reads list`
		return nil
	}
	if desk.Fixed.Max > 3 { // want `workflow code reads Fixed`
		return nil
	}
	if desk.Shared.Max > 3 { // want `workflow code reads Shared`
		return nil
	}
	if wasSeen(id) { // want `through.wasSeen comes to a read of seen, which is changed elsewhere \(through/globals.go:\d+\)`
		return nil
	}
	if desk.Rate() > 3 { // want `desk.Rate comes to a read of rate, which is changed elsewhere`
		return nil
	}
	return ship(ctx, id)
}

func pointedAt(ctx stepwell.Context) error {
	p := &limits // want `workflow code reads limits`
	return ship(ctx, fmt.Sprint(p.Max))
}

func nearGlobals(ctx stepwell.Context, id string) error {
	if desk.Opened() || fixed.Max > 3 || list2()[0] > 3 {
		return nil
	}
	mark(id)
	own := fixed
	own.Set(3)
	return stepwell.Do(ctx, "x", func(context.Context) error {
		_ = wasSeen(id) || limits.Max > 3 || desk.Rate() > 3
		return nil
	})
}

func list2() []int { return []int{1} }

type shouter struct {
	log *slog.Logger
	out func(string, ...any)
}

func newShouter() *shouter { return &shouter{log: slog.Default(), out: log.Printf} }

func (s *shouter) say(text string) { s.log.Info(text) }

func (s *shouter) shout(text string) { s.out(text) }

func say(text string) { fmt.Fprintln(os.Stdout, text) }

func loud(text string) { say(text) }

func printed[T any](v T) T {
	log.Print(v)
	return v
}

func logsThrough(ctx stepwell.Context, s *shouter, w io.Writer) {
	desk.Say("x")                // want `desk.Say comes to fmt.Println`
	loud("x")                    // want `through.loud comes to fmt.Fprintln of os.Stdout`
	_ = printed(3)               // want `through.printed comes to log.Print`
	s.shout("x")                 // want `shouter.shout comes to log.Printf, which out is set to`
	s.say("x")                   // want `shouter.say comes to Logger.Info of log`
	logger.Info("x")             // want `Logger.Info of logger in workflow code`
	std.Print("x")               // want `Logger.Print in workflow code`
	fmt.Fprintln(os.Stderr, "x") // want `fmt.Fprintln of os.Stderr in workflow code`
	println("x")                 // want `println in workflow code`
	ctx.Logger().Info("x")
	mine := ctx.Logger().With("a", 1)
	mine.Info("x")
	fmt.Fprintln(w, "x") // near: logging
}
