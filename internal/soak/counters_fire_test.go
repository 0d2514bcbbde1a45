//go:build unix

package soak

// This file is the proof with counters: each number counts once, whatever is sent again, and each detached child is there.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world"
)

// TestCountersUnderFire runs counters with two numbers a segment while their workers are killed. Numbers are sent again, also much later, and between them come
// payloads that do not fit.
//
// Of the far ones the first process is a server, which is killed as the others are; they work through it, and encrypt.
func TestCountersUnderFire(t *testing.T) {
	for _, name := range slices.Concat(sample.One(t, "sqlite", "postgres"), sample.One(t, "postgres/far", "sqlite/far")) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			places := workers
			if name == "sqlite" {
				places = 1 // one worker process a file
			}
			store, where, _ := strings.Cut(name, "/")
			url := "sqlite:" + filepath.Join(t.TempDir(), "counters.db")
			if store == "postgres" {
				url = pgtest.New(t, pgtest.Config{}).URL(t)
			}
			burn := *soakTime / 4
			if where == "far" {
				burn /= 2
			}
			countUnderFire(t, url, places, burn, where == "far")
		})
	}
}

func countUnderFire(t *testing.T, url string, places int, burn time.Duration, far bool) {
	seed := *soakSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("again: go test ./internal/soak -run TestCountersUnderFire -soak.time=%s -soak.seed=%d", *soakTime, seed)
	ctx, stop := context.WithTimeout(t.Context(), burn+2*patience)
	defer stop()
	crew := newCrew(t, t.TempDir(), places, func(string) string { return url })
	crew.told.Count = true
	at := url // of the client
	if far {
		crew.told.Keys, crew.front = newKeys(t), freeAddress(t)
		at = "http://" + crew.front
	}
	for place := range places {
		if err := crew.hire(place); err != nil {
			t.Fatal(err)
		}
	}
	tally := &tally{producer: producer{app: counting(t, at, crew.told.Keys)}, want: map[string]int64{}}
	enough, produced := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(produced)
		tally.produce(ctx, rand.New(rand.NewPCG(seed, 3)), enough)
	}()
	kills, rnd := 0, rand.New(rand.NewPCG(seed, 4))
	for end := time.Now().Add(burn); time.Now().Before(end) || kills < 3; kills++ {
		_ = dawdle(ctx, 200+rnd.IntN(800))
		place := rnd.IntN(places)
		if err := errors.Join(crew.kill(place), crew.hire(place)); err != nil {
			t.Error(err)
			break
		}
	}
	close(enough)
	quiet, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-produced:
	case <-quiet.Done():
		t.Errorf("%s after the fire not all counters are over", patience)
		stop()
		<-produced
	}
	for _, err := range tally.faults {
		t.Error(err)
	}
	if err := crew.dismiss(); err != nil {
		t.Error(err)
	}
	if far {
		tally.app = counting(t, url, crew.told.Keys) // the server is gone
		tally.encrypted(t, url)
	}
	tally.examine(t)
	if len(tally.want) < 2 || kills < 3 {
		t.Errorf("%d runs and %d kills are not enough for a proof", len(tally.want), kills)
	}
	t.Logf("%d runs, %d kills, %d sends of which %d were repeated and %d did not fit", len(tally.want), kills, tally.sent, tally.again, tally.wrong)
}

// counting is a client.
func counting(t *testing.T, url, text string) *stepwell.App {
	t.Helper()
	w, err := openSoon(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	ring, err := keys(text)
	if err != nil {
		t.Fatal(err)
	}
	app, err := stepwell.New(w, stepwell.Config{Name: "counting", Encryption: ring})
	if err != nil {
		t.Fatal(err)
	}
	return app
}

// newKeys are the text of a key.
func newKeys(t *testing.T) string {
	t.Helper()
	key, err := keyring.NewKey("soak")
	if err != nil {
		t.Fatal(err)
	}
	return key.Text()
}

// freeAddress is where nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// encrypted holds that who has no key reads nothing.
func (ta *tally) encrypted(t *testing.T, url string) {
	t.Helper()
	for info, err := range counting(t, url, "").List(context.Background(), stepwell.ListFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if info.Encryption == "" {
			t.Errorf("run %s is not encrypted", info.ID)
		}
	}
}

// tally sends numbers and knows what they come to. Its oracle is addition.
type tally struct {
	producer
	want               map[string]int64 // the results of counters, and -1 for runs whose result is not a sum
	sent, again, wrong int
}

// produce carries some counters at a time, one after the other, until stop.
func (ta *tally) produce(ctx context.Context, rnd *rand.Rand, stop <-chan struct{}) {
	room := make(chan struct{}, 8)
	var carried sync.WaitGroup
	defer carried.Wait()
	for n := 0; ; n++ {
		seed := rnd.Uint64()
		select {
		case <-stop:
			return
		case <-ctx.Done():
			return
		case room <- struct{}{}:
		}
		carried.Go(func() {
			c := counter{Run: fmt.Sprintf("counter-%d", n), Hooked: n%2 == 1}
			if err := ta.carry(ctx, c, rand.New(rand.NewPCG(seed, 5))); err != nil {
				ta.note(func() { ta.faults = append(ta.faults, fmt.Errorf("%s: %w", c.Run, err)) })
			}
			<-room
		})
	}
}

func (ta *tally) note(what func()) {
	ta.mu.Lock()
	defer ta.mu.Unlock()
	what()
}

// carry takes one counter from its start to its result.
func (ta *tally) carry(ctx context.Context, c counter, rnd *rand.Rand) error {
	feeder := feed{To: c, Times: 1 + rnd.IntN(4)}
	if err := begin(ctx, ta, counterFlow, c.Run, c); err != nil {
		return err
	}
	if c.Hooked { // it has its hook with its first turn
		if err := ta.until(ctx, func() (bool, error) {
			rows, err := ta.app.Hooks(ctx, "", c.token())
			return len(rows) > 0, err
		}); err != nil {
			return err
		}
	}
	if err := begin(ctx, ta, feederFlow, c.Run+"-feeder", feeder); err != nil {
		return err
	}
	amounts := make([]int64, 4+rnd.IntN(12))
	total := int64(feeder.Times)
	send := func(i int, n number) error {
		ta.note(func() { ta.sent++ })
		return ta.insist(ctx, func(bool) error { return c.send(ctx, ta.app, n, fmt.Sprint("number-", i)) })
	}
	for i := range amounts {
		amounts[i] = rnd.Int64N(1000)
		total += amounts[i]
		if err := send(i, number{Amount: amounts[i]}); err != nil {
			return fmt.Errorf("number %d: %w", i, err)
		}
		for range rnd.IntN(4) {
			ta.note(func() { ta.again++ })
			if old := rnd.IntN(i + 1); rnd.IntN(2) == 0 {
				if err := send(old, number{Amount: amounts[old]}); err != nil {
					return fmt.Errorf("number %d again: %w", old, err)
				}
			} else if err := send(i, number{Amount: amounts[i]}); err != nil {
				return fmt.Errorf("number %d at once again: %w", i, err)
			}
		}
		if rnd.IntN(3) == 0 {
			ta.note(func() { ta.wrong++ })
			err := ta.insist(ctx, func(bool) error { return c.sendWrong(ctx, ta.app, fmt.Sprint("wrong-", i)) })
			if err != nil && !errors.Is(err, stepwell.ErrInvalid) {
				return fmt.Errorf("a wrong payload: %w", err)
			}
		}
		_ = dawdle(ctx, rnd.IntN(60))
	}
	if _, err := ta.result(ctx, c.Run+"-feeder"); err != nil {
		return fmt.Errorf("feeder: %w", err)
	}
	if err := send(len(amounts), number{Last: true}); err != nil {
		return fmt.Errorf("the last number: %w", err)
	}
	segments := (len(amounts) + feeder.Times + 1 + perSegment - 1) / perSegment
	ta.note(func() {
		ta.want[c.Run], ta.want[c.Run+"-feeder"] = total, -1
		for s := range segments {
			ta.want[c.echo(s)] = -1
		}
	})
	got, err := ta.result(ctx, c.Run)
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	if got != total {
		return fmt.Errorf("it came to %d, want %d: %d numbers, %d fed", got, total, len(amounts), feeder.Times)
	}
	beside := []string{c.Run + "-feeder"} // nobody waits for them: the last ones may be a dead worker's still
	for s := range segments {
		beside = append(beside, c.echo(s))
	}
	for _, run := range beside {
		if err := ta.until(ctx, func() (bool, error) {
			info, err := ta.app.Get(ctx, run)
			return info.Status.Terminal(), err
		}); err != nil {
			return fmt.Errorf("run %s beside it: %w", run, err)
		}
	}
	return send(0, number{Amount: amounts[0]}) // after the end: the same answer
}

// begin starts a run under an ID.
func begin[In any](ctx context.Context, ta *tally, w *stepwell.Workflow[In, int64], id string, in In) error {
	return ta.insist(ctx, func(again bool) error {
		_, err := w.Start(ctx, ta.app, in, stepwell.RunID(id))
		if again && errors.Is(err, stepwell.ErrRunExists) {
			return nil
		}
		return err
	})
}

// result waits for the result of a run.
func (ta *tally) result(ctx context.Context, run string) (total int64, err error) {
	err = ta.insist(ctx, func(bool) error {
		total, err = counterFlow.Get(ta.app, run).Result(ctx)
		return err
	})
	return total, err
}

// examine holds what is left against what was asked for: each run once, completed, with its result.
func (ta *tally) examine(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	got := map[string]string{}
	for info, err := range ta.app.List(ctx, stepwell.ListFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		got[info.ID] = string(info.Status)
		if info.Status == world.Completed {
			continue
		}
		why, err := ta.app.Why(ctx, info.ID)
		t.Logf("%s: %s, %v, %v", info.ID, info.Status, why, err)
	}
	want := map[string]string{}
	for run := range ta.want {
		want[run] = string(world.Completed)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runs that must be there -, runs that are +:\n%s", diff)
	}
	for _, run := range slices.Sorted(maps.Keys(ta.want)) {
		if ta.want[run] < 0 || got[run] != string(world.Completed) {
			continue
		}
		if got, err := ta.result(ctx, run); err != nil || got != ta.want[run] {
			t.Errorf("%s: %d, %v, want %d", run, got, err, ta.want[run])
		}
	}
}
