package fixes

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"github.com/stepwell/stepwell"
)

type shop struct{ open time.Time }

func (s *shop) sell(ctx stepwell.Context, lines map[int]string) (id string, err error) {
	if time.Until(s.open) > 0 { // want `time.Until in workflow code`
		time.Sleep(time.Until(s.open)) // want `time.Sleep in workflow code` `time.Until in workflow code`
	}
	id = uuid.NewString()     // want `uuid.NewString in workflow code`
	id += uuid.New().String() // want `uuid.New in workflow code`
	rand.Shuffle(3, swap)     // want `rand.Shuffle in workflow code`
	if rand.Int32N(6) == 5 {  // want `rand.Int32N in workflow code`
		return id, nil
	}
	for n := range lines { // want `stepwell.Sleep in a range over a map`
		if err := stepwell.Sleep(ctx, "nap", time.Duration(n)); err != nil {
			return "", err
		}
	}
	stepwell.Go(ctx, func(part stepwell.Context) (int, error) {
		begun := time.Now() // want `time.Now in workflow code`
		return begun.Second(), stepwell.Sleep(part, "nap", 1)
	})
	return id, nil
}

func swap(i, j int) {}

// What has no plain repair is reported alone.
func plain(_ stepwell.Context, c chan int) (fmt.Stringer, uuid.UUID) {
	go func() { // want `a go statement in workflow code`
		if len(c) > 0 {
			return
		}
	}()
	time.Sleep(1)           // want `time.Sleep in workflow code`
	return time.Now(), id() // want `time.Now in workflow code` `fixes.id comes to uuid.New`
}

func id() uuid.UUID { return uuid.New() }

type stall struct {
	lines map[string]int
	sum   int
}

// What a loop only reads is repaired; so is what stands in a case or behind a label.
func (s *stall) read(ctx stepwell.Context, n int) error {
	for id := range s.lines { // want `stepwell.Sleep in a range over a map`
		s.sum += s.lines[id] + len(s.lines)
		if err := stepwell.Sleep(ctx, id, 1); err != nil {
			return err
		}
	}
	switch n {
	case 1:
		time.Sleep(1) // want `time.Sleep in workflow code`
	}
again:
	time.Sleep(2) // want `time.Sleep in workflow code`
	if n--; n > 0 {
		goto again
	}
	return nil
}

// One repair in another, a body on one line.
func nested(ctx stepwell.Context, s *shop) {
	slog.Info("sold", "at", time.Now(), "since", time.Since(s.open), "n", rand.IntN(int(time.Since(s.open)))) // want `slog.Info in workflow code` `time.Now in workflow code` `time.Since in workflow code` `rand.IntN in workflow code` `time.Since in workflow code`
	go func() { s.open = s.open.Add(1) }()                                                                    // want `a go statement in workflow code`
}
