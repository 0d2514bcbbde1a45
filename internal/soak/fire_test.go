//go:build unix

package soak

// This file sets the fire: which faults come when. The seed decides, chance decides what they hit.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepwell/stepwell/internal/pgtest"
)

// fire does harm to a crew, its server and its connections.
type fire struct {
	rnd    *rand.Rand
	crew   *crew
	server *pgtest.Cluster
	proxy  *pgtest.Proxy
	log    func(format string, args ...any)

	mu     sync.Mutex
	shots  []*shot                // those that have not hit yet, in order
	cuts   map[string][]time.Time // by the name of whose connection it was
	counts map[string]int
}

// shot is a fault that waits for a commit to hit.
type shot struct {
	action pgtest.Action
	skip   int           // commits that it lets pass first
	hold   time.Duration // for Hold and HoldEnd
}

// faults are drawn from a bag without putting them back, so that each comes in its share, whatever the seed.
var faults = []string{
	"kill", "kill", "kill two", "kill all",
	"stop", "stop", "stop", "stop two",
	"cut one", "cut one", "cut all",
	"cut before", "cut before", "cut after", "cut after", "cut after", "cut after", "cut after", "cut blind", "cut blind",
	"hold", "hold end", "refuse", "partition",
}

// burn does harm for a while, and a minute longer at most where each kind was not yet done. The server is restarted at each third of that time, or every half minute if that is sooner.
func (f *fire) burn(ctx context.Context, d time.Duration) error {
	f.proxy.Rule(f.rule)
	defer f.proxy.Rule(nil)
	every := min(d/3, 30*time.Second)
	end, restart := time.Now().Add(d), time.Now().Add(every)
	var bag []string
	for (time.Now().Before(end) || len(f.missing()) > 0 && time.Now().Before(end.Add(time.Minute))) && ctx.Err() == nil {
		for place := range f.crew.members {
			if err := f.crew.check(place); err != nil {
				return err
			}
		}
		var what string
		if time.Now().After(restart) {
			what = "restart"
		} else {
			if len(bag) == 0 {
				bag = slices.Clone(faults)
				f.rnd.Shuffle(len(bag), func(i, j int) { bag[i], bag[j] = bag[j], bag[i] })
			}
			what, bag = bag[0], bag[1:]
		}
		f.count(what)
		if err := f.do(what); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if what == "restart" { // where one takes long the other harm has its turn all the same
			restart = time.Now().Add(every)
		}
		_ = dawdle(ctx, 50+f.rnd.IntN(700))
	}
	return nil
}

// smoulder kills and stops processes for a while, and each kind of that at least once, and the first process, a server
// where there is one. It needs neither a proxy nor a database server.
func (f *fire) smoulder(ctx context.Context, d time.Duration) error {
	harm := []string{"kill", "stop", "kill two", "kill", "kill all", "stop two"}
	for end, n := time.Now().Add(d), 0; time.Now().Before(end) || n < len(harm); n++ {
		_ = dawdle(ctx, 200+f.rnd.IntN(800))
		f.count(harm[n%len(harm)])
		if err := f.do(harm[n%len(harm)]); err != nil {
			return err
		}
	}
	return f.kill([]int{0})
}

func (f *fire) count(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts[what]++
}

func (f *fire) do(what string) error {
	places := f.rnd.Perm(len(f.crew.members))
	switch what {
	case "kill":
		return f.kill(places[:1])
	case "kill two":
		return f.kill(places[:min(2, len(places))])
	case "kill all":
		return f.kill(places)
	case "stop":
		return f.stop(places[:1])
	case "stop two":
		return f.stop(places[:min(2, len(places))])
	case "cut one":
		f.cut(f.crew.at(places[0]).name)
	case "cut all":
		f.cut("")
	case "refuse":
		f.proxy.Refuse(true)
		f.cut("")
		<-time.After(time.Duration(f.rnd.IntN(400)) * time.Millisecond)
		f.proxy.Refuse(false)
	case "partition":
		f.partition(f.crew.at(places[0]).name)
	case "restart":
		f.log("restart -m immediate")
		return f.server.Restart(pgtest.Immediate)
	case "hold", "hold end":
		f.aim(&shot{action: pgtest.Action(what), hold: time.Duration(100+f.rnd.IntN(4000)) * time.Millisecond})
	default:
		f.aim(&shot{action: pgtest.Action(what)})
	}
	return nil
}

// kill ends processes, and puts others in their places, at once or somewhat later.
func (f *fire) kill(places []int) error {
	var err error
	for _, place := range places {
		f.log("kill -9 %s", f.crew.at(place).name)
		err = errors.Join(err, f.crew.kill(place))
	}
	if f.rnd.IntN(2) == 0 {
		<-time.After(time.Duration(f.rnd.IntN(2500)) * time.Millisecond)
	}
	for _, place := range places {
		err = errors.Join(err, f.crew.hire(place))
	}
	return err
}

// stop stops processes, some for longer than their leases. They go on by themselves.
func (f *fire) stop(places []int) error {
	var err error
	for _, place := range places {
		d := time.Duration(200+f.rnd.IntN(int(2*lease.Milliseconds()))) * time.Millisecond
		f.log("stop %s for %s", f.crew.at(place).name, d)
		err = errors.Join(err, f.crew.pause(place, d))
	}
	return err
}

// cut cuts the connections of one process, or all.
func (f *fire) cut(name string) {
	n := 0
	for _, l := range f.proxy.Links() {
		if who := l.Param("application_name"); name == "" || who == name {
			f.cutting(who)
			l.Cut()
			n++
		}
	}
	f.log("cut %d connections of %q", n, name)
}

// partition lets nothing pass between the server and one process, for longer than its lease. Nobody is told.
func (f *fire) partition(name string) {
	var held []*pgtest.Link
	for _, l := range f.proxy.Links() {
		if l.Param("application_name") == name {
			f.cutting(name)
			l.Hold()
			held = append(held, l)
		}
	}
	f.log("partition %q: %d connections", name, len(held))
	<-time.After(lease + time.Duration(f.rnd.IntN(int(lease.Milliseconds())))*time.Millisecond)
	for _, l := range held {
		f.cutting(name)
		l.Release()
	}
}

func (f *fire) cutting(who string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cuts[who] = append(f.cuts[who], time.Now())
}

// aim lets a fault wait for one of the next commits.
func (f *fire) aim(s *shot) {
	s.skip = f.rnd.IntN(20)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shots = append(f.shots, s)
}

// rule is the proxy's.
func (f *fire) rule(b *pgtest.Batch) pgtest.Action {
	if !b.Commits() {
		return pgtest.Forward
	}
	s := f.next()
	if s == nil {
		return pgtest.Forward
	}
	who := b.Link.Param("application_name")
	f.log("%s %s %s", s.action, who, verbs(b))
	switch s.action {
	case pgtest.Hold, pgtest.HoldEnd:
		time.AfterFunc(s.hold, b.Link.Release)
	default:
		f.cutting(who)
	}
	return s.action
}

// next is the fault that hits the commit that comes now, if any.
func (f *fire) next() *shot {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.shots) == 0 {
		return nil
	}
	s := f.shots[0]
	if s.skip--; s.skip >= 0 {
		return nil
	}
	f.shots = f.shots[1:]
	return s
}

// verbs tells what a batch does, short.
func verbs(b *pgtest.Batch) string {
	words := map[string]bool{}
	for _, sql := range b.SQL {
		fields := strings.Fields(sql)
		words[strings.Join(fields[:min(4, len(fields))], " ")] = true
	}
	all := slices.Sorted(maps.Keys(words))
	return fmt.Sprintf("(%d statements: %s)", len(b.SQL), strings.Join(all[:min(3, len(all))], "; "))
}
