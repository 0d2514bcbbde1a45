// Rates: no more begin than the rate says, in order, and nobody is left in line.

package worldtest

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
)

// paced has a run need to be let in by a rate: "limit/key".
func paced(name string, number int, per time.Duration, with ...func(*world.Place)) func(*world.Birth) {
	return func(b *world.Birth) {
		under(name + ":1")(b)
		for i := range b.Places {
			p := &b.Places[i]
			if p.Limit+"/"+p.Key == name || p.Key == "" && p.Limit == name {
				p.Number, p.Per = number, per
				for _, f := range with {
					f(p)
				}
			}
		}
		world.OrderPlaces(b.Places)
	}
}

func burst(n int) func(*world.Place) { return func(p *world.Place) { p.Burst = n } }
func refuses(p *world.Place)         { p.Refuse = true }

// began is a run that was claimed, and when at least, by the world's clock.
type began struct {
	*session
	at time.Time
}

// clock is the time of the world, before what follows.
func (k *worker) clock() time.Time { return k.claim(0, 0).Now }

// beginAll claims until so many runs are there.
func (l *limiting) beginAll(k *worker, n int) (all []began) {
	l.Helper()
	l.until(fmt.Sprintf("%d runs begin", n), func() bool {
		l.Helper()
		t := k.claim(1, 0)
		for _, c := range t.Runs {
			all = append(all, began{&session{worker: k, run: c.Run, claimed: c.Claim, seq: c.Seq}, k.clock()})
		}
		return len(all) >= n
	})
	return all
}

// paces ends the check unless runs began in their order, and each so long behind the beginning that it has its turn.
// The first few begin at once.
func (l *limiting) paces(since time.Time, all []began, runs []string, first int, gap time.Duration) {
	l.Helper()
	for i, b := range all {
		if b.run != runs[i] && !l.over { // there another server may give the one before it, a moment later
			l.Fatalf("begun as number %d: run %s, want %s", i+1, b.run, runs[i])
		}
		if turn := time.Duration(i-first+1) * gap; i >= first && b.at.Before(since.Add(turn)) {
			l.Fatalf("run %d began %s behind the beginning, want %s at least", i+1, b.at.Sub(since), turn)
		}
	}
}

var rates = []check{
	{"never more than the rate", "of a key each run begins a period's share behind the one before, in the order of their births", withLimits(func(l *limiting) {
		const gap = 60 * time.Millisecond
		runs := l.line(4, "greet", paced("bank", 1000, 1000*gap))
		k := l.worker("greet")
		since := k.clock()
		all := l.beginAll(k, len(runs))
		l.paces(since, all, runs, 1, gap)
		l.stands("bank", "", 0, 0)
		k.idle("all have begun")
	})},
	{"a burst", "so many begin at once, and those behind them one by one", withLimits(func(l *limiting) {
		const gap = 100 * time.Millisecond
		runs := l.line(5, "greet", paced("bank/a", 10, 10*gap, burst(3)))
		k := l.worker("greet")
		since := k.clock()
		l.paces(since, l.beginAll(k, len(runs)), runs, 3, gap)
	})},
	{"who looks is told when to come", "Next is not behind the turn of a run in line", withLimits(func(l *limiting) {
		l.line(2, "greet", paced("bank", 1, 20*time.Second))
		k := l.worker("greet")
		first := l.beginAll(k, 1)[0]
		var next time.Time
		l.until("the turn of the next", func() bool {
			c := k.claim(100, 0)
			next = c.Next
			return !next.IsZero() && !next.Before(first.at.Add(15*time.Second)) && !next.After(first.at.Add(21*time.Second))
		})
		in, err := l.l.ListLimitKeys(l.ctx, "bank", "", 10)
		l.must(err, "keys of a limit")
		if len(in) != 1 || in[0].Waiting != 1 || in[0].Next.Before(first.at.Add(15*time.Second)) || in[0].Next.After(first.at.Add(21*time.Second)) {
			l.Fatalf("keys are %+v, want one with a run in line and its turn 20 s behind %s", in, first.at)
		}
	})},
	{"a run in line has a turn", "it tells behind how many it stands, and when it is let in", withLimits(func(l *limiting) {
		runs := l.line(3, "greet", paced("bank/a", 1, time.Hour))
		k := l.worker("greet")
		l.beginAll(k, 1)
		l.stands("bank", "a", 0, 2)
		for i, run := range runs[1:] {
			in, err := l.l.InLine(l.ctx, run, "")
			l.must(err, "place in line")
			turn := world.Now().Add(time.Duration(i+1) * time.Hour)
			if in == nil || in.Before != i || in.Per != time.Hour || in.Number != 1 || in.At.Before(turn.Add(-time.Minute)) || in.At.After(turn.Add(time.Minute)) {
				l.Fatalf("run %d stands at %+v, want %d before it, and to come at %s", i+1, in, i, turn)
			}
		}
	})},
	{"a run pays once", "who has begun is claimed again at once: when it wakes, when its worker leaves, and when that dies", withLimits(func(l *limiting) {
		runs := l.line(2, "greet", paced("bank", 1, time.Hour))
		k := l.worker("greet")
		s := l.beginAll(k, 1)[0].begin()
		s.release(world.Release{Waiting: "a signal"})
		l.deliver(signal(runs[0], "", "go"))
		s = l.gets(k, "it wakes", runs[0])[0]
		s.read()
		l.must(l.w.Leave(l.ctx, k.id), "leave")
		dead := l.mortal(workingLease, "greet")
		l.gets(dead, "its worker has left", runs[0])
		l.orphaned(runs[0])
		k = l.worker("greet")
		l.gets(k, "its worker is dead", runs[0])[0].end()
		l.stands("bank", "", 0, 1)
		k.idle("the other has to wait")
	})},
	{"a key holds up no other", "each key has a rate and a line of its own", withLimits(func(l *limiting) {
		ann := l.line(3, "greet", paced("bank/ann", 1, time.Hour))
		bob := l.line(2, "greet", paced("bank/bob", 1, time.Hour))
		free := l.createRun("greet")
		k := l.worker("greet")
		l.gets(k, "the first of each key, and who has none", ann[0], bob[0], free)
		l.stands("bank", "ann", 0, 2)
		l.stands("bank", "bob", 0, 1)
	})},
	{"who leaves the line is passed", "a run in line that is cancelled, cancelled by force or paused holds up nobody", withLimits(func(l *limiting) {
		const gap = 100 * time.Millisecond
		runs := l.line(5, "greet", paced("bank", 10, 10*gap))
		k := l.worker("greet")
		l.beginAll(k, 1)
		l.deliver(cancel(runs[1], ""))
		l.deliver(act(runs[2], "", world.RunCancelled))
		l.deliver(act(runs[3], "", world.RunPaused))
		var got []string
		l.until("the last begins", func() bool {
			for _, c := range k.claim(100, 0).Runs {
				if got = append(got, c.Run); c.Run == runs[1] {
					(&session{worker: k, run: c.Run, claimed: c.Claim, seq: c.Seq}).append(world.Event{Type: world.RunCancelled})
				}
			}
			return len(got) == 2
		})
		l.same(l.sorted(got), l.sorted([]string{runs[1], runs[4]}), "runs that came")
		l.deliver(act(runs[3], "", world.RunResumed))
		l.gets(k, "it is resumed", runs[3])
	})},
	{"the number is changed", "more come sooner, 0 lets in nobody, and nil is what code said", withLimits(func(l *limiting) {
		runs := l.line(4, "greet", paced("bank", 1, time.Hour))
		k := l.worker("greet")
		l.beginAll(k, 1)
		set := func(n *int) {
			l.Helper()
			l.must(l.l.SetLimit(l.ctx, "bank", n), "set a limit")
		}
		number := func(n int) *int { return &n }
		set(number(0))
		k.idle("none may begin")
		since := k.clock()
		set(number(3_600)) // 1 s
		if b := l.beginAll(k, 1)[0]; b.run != runs[1] || b.at.Before(since.Add(950*time.Millisecond)) || b.at.After(since.Add(30*time.Second)) {
			l.Fatalf("run %s began %s behind the change, want %s after a second", b.run, b.at.Sub(since), runs[1])
		}
		set(nil)
		let := len(k.claim(100, 0).Runs) // where it was changed late
		k.idle("it is one an hour again")
		all, err := l.l.ListLimits(l.ctx)
		l.must(err, "limits")
		l.same(all, []world.Limit{{Name: "bank", Said: 1, Per: time.Hour, Runs: true}}, "limits")
		l.stands("bank", "", 0, len(runs)-2-let)
	})},
	{"who begins while the number is 0 pays", "one that was let in begins although the number was " +
		"set to 0, and the next has its turn behind it", withLimits(func(l *limiting) {
		runs := l.line(2, "greet", paced("bank", 1, time.Hour))
		other := l.worker("other")
		l.until("the first is let in", func() bool {
			other.idle("it has no such workflow")
			keys, err := l.l.ListLimitKeys(l.ctx, "bank", "", 1)
			l.must(err, "keys of a limit")
			return len(keys) == 1 && keys[0].Used == 1
		})
		none := 0
		l.must(l.l.SetLimit(l.ctx, "bank", &none), "set a limit")
		k := l.worker("greet")
		l.gets(k, "it was let in", runs[0])
		l.stands("bank", "", 0, 1)
		l.must(l.l.SetLimit(l.ctx, "bank", nil), "set a limit")
		k.idle("it is one an hour, and one has begun")
	})},
	{"a number that was 0 forgets nothing", "who has begun before counts when the number is another, " +
		"where nobody stood in line, and where who did has left", withLimits(func(l *limiting) {
		k := l.worker("greet")
		ann, bob := paced("bank/ann", 1, time.Hour), paced("bank/bob", 1, time.Hour)
		runs := append(l.line(1, "greet", ann), l.line(2, "greet", bob)...)
		for _, s := range l.gets(k, "the first of each key", runs[:2]...) {
			s.end()
		}
		l.stands("bank", "bob", 0, 1)
		none := 0
		l.must(l.l.SetLimit(l.ctx, "bank", &none), "set a limit")
		k.idle("none may begin")
		l.deliver(act(runs[2], "", world.RunCancelled))
		k.idle("nobody stands in line")
		l.must(l.l.SetLimit(l.ctx, "bank", nil), "set a limit")
		for what, with := range map[string]func(*world.Birth){"ann": ann, "bob": bob} {
			next := l.createRun("greet", with)
			l.until(what+" stands in line", func() bool {
				k.idle("it is one an hour, and one has begun")
				in, err := l.l.InLine(l.ctx, next, "")
				l.must(err, "place in line")
				return in != nil
			})
		}
	})},
	{"a rate behind a limit", "who lacks a place at work does not pay yet", withLimits(func(l *limiting) {
		const gap = 100 * time.Millisecond
		all := l.line(3, "greet", under("one:1"), paced("bank", 10, 10*gap))
		k := l.worker("greet")
		since := k.clock()
		first := l.beginAll(k, 1)[0]
		l.stands("one", "", 1, 2)
		first.end()
		second := l.beginAll(k, 1)[0]
		second.begin().release(world.Release{Waiting: "a signal"})
		third := l.beginAll(k, 1)[0]
		l.paces(since, []began{first, second, third}, all, 1, gap)
		l.deliver(signal(all[1], "", "go"))
		k.idle("its place is another's")
		third.end()
		l.gets(k, "it has paid, and needs a place alone", all[1])[0].end()
		l.stands("one", "", 0, 0)
		l.stands("bank", "", 0, 0)
	})},
	{"nobody saves up", "what is let in and not claimed is no more than a burst, however long nobody looks", withLimits(func(l *limiting) {
		l.line(6, "greet", paced("bank", 10, 4*time.Second))
		since := time.Now()
		l.until("time passes", func() bool { return time.Since(since) > 1500*time.Millisecond })
		if got := len(l.worker("greet").claim(100, 0).Runs); got > 1 {
			l.Fatalf("%d runs began at once, want one", got)
		}
	})},
	{"a run that is let in and not taken", "it pays when it begins: the next has its turn behind that", withLimits(func(l *limiting) {
		const gap = 600 * time.Millisecond
		l.line(2, "greet", paced("bank", 1000, 1000*gap))
		other := l.worker("other")
		since := time.Now()
		l.until("time passes", func() bool { other.claim(100, 0); return time.Since(since) > 2*gap })
		k := l.worker("greet")
		from := k.clock()
		if all := l.beginAll(k, 2); all[1].at.Before(from.Add(gap / 2)) {
			l.Fatalf("the second began %s behind the first, want %s", all[1].at.Sub(from), gap)
		}
	})},
	{"a rate that refuses", "a start that it does not let in is refused, says when to come again, and writes nothing; one that it lets in begins at once", withLimits(func(l *limiting) {
		const gap = time.Hour
		k := l.worker("greet")
		l.createRun("greet", paced("bank/a", 1, gap, refuses))
		l.createRun("greet", paced("bank/b", 1, gap, refuses))
		c := birth("greet", paced("bank/a", 1, gap, refuses))
		_, err := l.w.Commit(l.ctx, c)
		l.refused(err, world.ErrRateLimited, "the second of a key")
		var when *world.RateError
		if !errors.As(err, &when) || when.Limit != "bank" || when.Key != "a" || when.After <= 0 || when.After > gap {
			l.Fatalf("the error is %#v, want one that says to come within %s", when, gap)
		}
		l.absent(c.Run)
		l.createRun("greet", paced("quick", 10, time.Second, refuses))
		l.until("it is let in later", func() bool {
			_, err = l.w.Commit(l.ctx, birth("greet", paced("quick", 10, time.Second, refuses)))
			return err == nil
		})
		l.beginAll(k, 4)
	})},
	{"a rate that refuses is set to 0", "it refuses each start, also of a key that nobody has needed, until the number is another", withLimits(func(l *limiting) {
		const per = time.Second
		l.createRun("greet", paced("bank/a", 10, per, refuses))
		none := 0
		l.must(l.l.SetLimit(l.ctx, "bank", &none), "set a limit")
		for _, key := range []string{"bank/a", "bank/b"} {
			c := birth("greet", paced(key, 10, per, refuses))
			_, err := l.w.Commit(l.ctx, c)
			l.refused(err, world.ErrRateLimited, "a start with "+key)
			l.absent(c.Run)
		}
		l.must(l.l.SetLimit(l.ctx, "bank", nil), "set a limit")
		l.createRun("greet", paced("bank/b", 10, per, refuses))
	})},
	{"several rates that refuse", "a start that one of them refuses has paid none", withLimits(func(l *limiting) {
		const per = time.Hour
		both := func(a, b string) func(*world.Birth) {
			return func(x *world.Birth) {
				for _, text := range []string{a, b} {
					name, key, _ := strings.Cut(text, "/")
					x.Places = append(x.Places, world.Place{Limit: name, Key: key, Number: 1, Per: per, Refuse: true})
				}
				world.OrderPlaces(x.Places)
			}
		}
		l.createRun("greet", paced("bank/a", 1, per, refuses))
		l.createRun("greet", paced("desk/a", 1, per, refuses))
		for _, start := range [][2]string{{"bank/a", "desk/b"}, {"bank/b", "desk/a"}} {
			c := birth("greet", both(start[0], start[1]))
			_, err := l.w.Commit(l.ctx, c)
			l.refused(err, world.ErrRateLimited, fmt.Sprint("a start with ", start))
			l.absent(c.Run)
		}
		l.createRun("greet", both("bank/b", "desk/b"))
	})},
	{"a start that was made needs no turn", "the same start again is answered with the run that is there", withLimits(func(l *limiting) {
		c := birth("greet", paced("bank", 1, time.Hour, refuses), func(b *world.Birth) { b.Key = "once" })
		_, err := l.w.Commit(l.ctx, c)
		l.must(err, "a start")
		again := birth("greet", paced("bank", 1, time.Hour, refuses), func(b *world.Birth) { b.Key = "once" })
		done, err := l.w.Commit(l.ctx, again)
		l.must(err, "the same start again")
		l.same(done.Existing, c.Run, "the run that is there")
	})},
	{"the same start at once", "twelve that make it together pay once, and all are answered with the run that there is", withLimits(func(l *limiting) {
		once := func(b *world.Birth) { b.Key = "once" }
		type answer struct {
			run string
			err error
		}
		answers := make(chan answer)
		for range 12 {
			c := birth("greet", paced("bank", 2, time.Hour, burst(2), refuses), once)
			go func() {
				done, err := l.w.Commit(l.ctx, c)
				answers <- answer{cmp.Or(done.Existing, c.Run), err}
			}()
		}
		runs := make(map[string]bool)
		var failed error
		for range 12 {
			a := <-answers
			failed = errors.Join(failed, a.err)
			runs[a.run] = true
		}
		l.must(failed, "the same start")
		if len(runs) != 1 {
			l.Fatalf("they are answered with the runs %v, want one", runs)
		}
		l.createRun("greet", paced("bank", 2, time.Hour, burst(2), refuses))
	})},
	{"rates that no run has", "they are refused, and nothing is written", withLimits(func(l *limiting) {
		for what, with := range map[string]func(*world.Birth){
			"none in a period":       paced("a", 0, time.Second),
			"less than nothing":      paced("a", -1, time.Second),
			"a period too short":     paced("a", 1, time.Microsecond),
			"a period too long":      paced("a", 1, 367*24*time.Hour),
			"less than no time":      paced("a", 1, -time.Second),
			"faster than times go":   paced("a", 1_000_000, time.Millisecond),
			"a burst of more":        paced("a", 2, time.Second, burst(3)),
			"a burst without a rate": paced("a", 2, 0, burst(2)),
			"a refusal without one":  paced("a", 2, 0, refuses),
			"held until the end":     paced("a", 2, time.Second, func(p *world.Place) { p.UntilEnd = true }),
			"before a place at work": func(b *world.Birth) {
				b.Places = []world.Place{{Limit: "a", Number: 1, Per: time.Second}, {Limit: "b", Number: 1}}
			},
		} {
			c := birth("greet", with)
			_, err := l.w.Commit(l.ctx, c)
			l.refused(err, world.ErrInvalid, what)
			l.absent(c.Run)
		}
		l.createRun("greet", paced("bank", 2, time.Second))
		for what, with := range map[string]func(*world.Birth){
			"a limit of the name of a rate":    under("bank:2"),
			"a rate that refuses, of its name": paced("bank", 2, time.Second, refuses),
		} {
			c := birth("greet", with)
			_, err := l.w.Commit(l.ctx, c)
			l.refused(err, world.ErrInvalid, what)
			l.absent(c.Run)
		}
	})},
}
