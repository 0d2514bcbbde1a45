// Limits: never too many at once, nobody passed by for ever.

package worldtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

// limiting is what the checks use of a world's limits.
type limiting struct {
	*rig
	l world.Limiter
}

// withLimits is a check of a world that keeps limits.
func withLimits(f func(l *limiting)) func(r *rig) {
	return func(r *rig) {
		l := &limiting{r, r.w.Limits()}
		if _, err := l.l.ListLimits(r.ctx); errors.Is(err, world.ErrNotFound) {
			r.Log("the world behind this one keeps no limits")
			return
		}
		f(l)
	}
}

// under has a run need a place of each: "limit/key:2", with "!" at the end where it is held until the end.
func under(places ...string) func(*world.Birth) {
	return func(b *world.Birth) {
		for _, text := range places {
			var p world.Place
			text, p.UntilEnd = strings.CutSuffix(text, "!")
			name, number, _ := strings.Cut(text, ":")
			fmt.Sscan(number, &p.Number)
			p.Limit, p.Key, _ = strings.Cut(name, "/")
			b.Places = append(b.Places, p)
		}
		world.OrderPlaces(b.Places)
	}
}

// line creates so many runs.
func (l *limiting) line(n int, workflow string, with ...func(*world.Birth)) (runs []string) {
	l.Helper()
	for range n {
		runs = append(runs, l.createRun(workflow, with...))
	}
	return runs
}

// gets ends the check unless the worker is given these runs, in whatever order, and no other. Those that it had
// are its still.
func (l *limiting) gets(k *worker, why string, want ...string) (all []*session) {
	l.Helper()
	var got []string
	look := func() {
		l.Helper()
		for _, c := range k.claim(100, 0).Runs {
			got = append(got, c.Run)
			all = append(all, &session{worker: k, run: c.Run, claimed: c.Claim, seq: c.Seq})
		}
	}
	l.until(why, func() bool { look(); return len(got) >= len(want) })
	look()
	if l.sorted(got) != l.sorted(want) {
		l.Fatalf("%s: got runs %s, want %s", why, l.sorted(got), l.sorted(want))
	}
	slices.SortFunc(all, func(a, b *session) int { return slices.Index(want, a.run) - slices.Index(want, b.run) })
	return all
}

func (l *limiting) sorted(runs []string) string {
	return strings.Join(slices.Sorted(slices.Values(runs)), " ")
}

// later waits until a time of the world's clock.
func (k *worker) later(at time.Time) {
	k.Helper()
	k.until("it is "+at.String(), func() bool { return k.claim(0, 0).Now.After(at) })
}

// begin begins the run.
func (s *session) begin() *session {
	s.Helper()
	s.append(world.Event{Type: world.RunStarted})
	return s
}

// stands ends the check unless a key has so many places in use, each of a holder, and runs in line.
func (l *limiting) stands(limit, key string, used, waiting int) {
	l.Helper()
	l.until(fmt.Sprintf("limit %s: key %q has %d in use and %d in line", limit, key, used, waiting), func() bool {
		l.Helper()
		keys, err := l.l.ListLimitKeys(l.ctx, limit, "", 100)
		l.must(err, "keys of a limit")
		i := slices.IndexFunc(keys, func(k world.LimitKey) bool { return k.Key == key })
		if i < 0 {
			return used == 0 && waiting == 0
		}
		if oldest := keys[i].Oldest; oldest.IsZero() != (keys[i].Waiting == 0) || time.Since(oldest).Abs() > time.Hour && !oldest.IsZero() {
			l.Fatalf("limit %s: %d runs stand in line, the first of them since %s", limit, keys[i].Waiting, oldest)
		}
		return keys[i].Used == used && keys[i].Waiting == waiting
	})
	if held := l.holders(limit, key); len(held) != used {
		l.Fatalf("limit %s, key %q: %d places in use, and holders %+v", limit, key, used, held)
	}
}

func (l *limiting) holders(limit, key string) []world.LimitHolder {
	l.Helper()
	held, err := l.l.ListHolders(l.ctx, limit, key, 100)
	l.must(err, "holders of a key")
	return held
}

var limits = []check{
	{"never more than the limit", "so many runs of a key are at work as it has places, and the next comes when one ends", withLimits(func(l *limiting) {
		k := l.worker("greet")
		all := l.line(5, "greet", under("bank:2"))
		first := l.gets(k, "two at once", all[:2]...)
		l.stands("bank", "", 2, 3)
		first[0].end()
		third := l.gets(k, "one ended", all[2])
		first[1].end()
		third[0].end()
		for _, s := range l.gets(k, "two ended", all[3:]...) {
			s.end()
		}
		l.stands("bank", "", 0, 0)
		k.idle("all are over")
	})},
	{"keys of a limit are its own", "what a limit lists is of no other whose name begins alike, and a page goes on behind the one before", withLimits(func(l *limiting) {
		k := l.worker("greet")
		all := []string{"import/", "import/a", "import/a!", "import/b", "import.eu/c", "import-x/c", "import0/c", "import_/c"}
		for _, place := range all {
			l.gets(k, "a place", l.createRun("greet", under(place+":1")))
		}
		for behind, want := range map[string]string{"": ",a,a!,b", "a": "a!,b", "a!": "b", "b": ""} {
			keys, err := l.l.ListLimitKeys(l.ctx, "import", behind, 100)
			l.must(err, "keys of a limit")
			var got []string
			for _, k := range keys {
				got = append(got, k.Key)
			}
			l.same(strings.Join(got, ","), want, fmt.Sprintf("keys of limit import behind %q", behind))
		}
	})},
	{"first come, first served within a priority", "a line is ordered by priority, and then by birth", withLimits(func(l *limiting) {
		k := l.worker("greet")
		var want []string
		holder := l.createRun("greet", under("bank:1"))
		s := l.gets(k, "one place", holder)[0]
		for _, p := range []int{0, 1, 3} {
			want = append(want, l.createRun("greet", under("bank:1"), withPriority(p)), l.createRun("greet", under("bank:1"), withPriority(p)))
		}
		for _, i := range []int{4, 5, 2, 3, 0, 1} {
			in, err := l.l.InLine(l.ctx, want[i], "")
			l.must(err, "place in line")
			if in == nil || in.Before != 0 || in.Limit != "bank" || in.Number != 1 {
				l.Fatalf("run %d stands at %+v, want nobody before it, and limit bank of 1", i, in)
			}
			limited := l.list(world.RunQuery{Status: []world.Status{world.StandsLimited}})
			if q := l.run(want[i]).Queue; !slices.Contains(limited, want[i]) || slices.Contains(limited, s.run) || q.Limit != "bank" || q.LimitKey != "" {
				l.Fatalf("run %d is not in line by its row, %+v, or by a list, %q", i, q, limited)
			}
			if i == 4 { // its beginning is no part of its birth
				began := s.begin().run
				s.end()
				l.same(l.run(began).StartedAt.IsZero(), false, "when a run began that is over")
			} else {
				s.end()
			}
			s = l.gets(k, "in order", want[i])[0]
		}
	})},
	{"a key holds up no other", "each key has places and a line of its own", withLimits(func(l *limiting) {
		k := l.worker("greet")
		ann := l.line(20, "greet", under("customer/ann:1"))
		bob := l.line(2, "greet", under("customer/bob:1"))
		free := l.line(2, "greet")
		s := l.gets(k, "the first of each key, and who has none", append([]string{ann[0], bob[0]}, free...)...)
		l.stands("customer", "ann", 1, 19)
		s[1].end()
		l.gets(k, "the next of the key that ended", bob[1])
	})},
	{"who waits gives its place back", "a run that is released holds no place, and stands in line before those created later when it wakes", withLimits(func(l *limiting) {
		k := l.worker("greet")
		all := l.line(3, "greet", under("bank:1"))
		s := l.gets(k, "one place", all[0])[0].begin()
		s.release(world.Release{Waiting: "a signal"})
		second := l.gets(k, "the first waits", all[1])[0]
		l.deliver(signal(all[0], "", "go"))
		k.idle("its place is another's")
		second.end()
		woken := l.gets(k, "who was created first", all[0])[0]
		woken.read()
		at := world.Now().Add(time.Second) // some stores admit with the next claim only
		woken.release(world.Release{WakeAt: at})
		third := l.gets(k, "the first sleeps", all[2])[0]
		k.later(at)
		k.idle("its place is another's, again")
		third.end()
		l.gets(k, "awake, and first in line", all[0])[0].end()
		l.stands("bank", "", 0, 0)
	})},
	{"until the end", "a place that is held until the end is held while the run waits, and needs no line when it wakes", withLimits(func(l *limiting) {
		k := l.worker("greet")
		all := l.line(2, "greet", under("order/7:1!"))
		s := l.gets(k, "one place", all[0])[0].begin()
		s.release(world.Release{})
		k.idle("the first waits, and holds its place")
		l.stands("order", "7", 1, 1)
		l.deliver(signal(all[0], "", "go"))
		l.gets(k, "it wakes", all[0])[0].end()
		l.gets(k, "the first is over", all[1])
	})},
	{"a place is given back however a run stops", "at its end, a cancel, a forced cancel, a block, a pause", withLimits(func(l *limiting) {
		k := l.worker("greet")
		for what, stop := range map[string]func(s *session){
			"failed":    func(s *session) { s.append(world.Event{Type: world.RunFailed, Error: &world.Error{Message: "no"}}) },
			"cancelled": func(s *session) { s.append(world.Event{Type: world.RunCancelled}) },
			"by force":  func(s *session) { l.deliver(act(s.run, "", world.RunCancelled)) },
			"blocked": func(s *session) {
				s.release(world.Release{WakeAt: world.Now().Add(time.Hour), Blocked: &world.Block{Code: world.CodePanic, Since: world.Now()}})
			},
			"paused": func(s *session) {
				c := s.next(world.Event{Type: world.RunPaused, By: "ann"})
				c.Release = &world.Release{}
				s.write(c)
			},
		} {
			all := l.line(2, "greet", under("bank/"+what+":1"))
			s := l.gets(k, what+": one place", all[0])[0].begin()
			stop(s)
			l.gets(k, what, all[1])[0].end()
		}
	})},
	{"who stops in line leaves it", "a run in line that is cancelled, cancelled by force or paused is passed; resumed it stands where it stood", withLimits(func(l *limiting) {
		k := l.worker("greet")
		all := l.line(6, "greet", under("bank:1"))
		s := l.gets(k, "one place", all[0])[0]
		l.deliver(cancel(all[1], ""))
		l.gets(k, "it has not begun: no code runs for it", all[1])[0].append(world.Event{Type: world.RunCancelled})
		l.deliver(act(all[2], "", world.RunCancelled))
		l.deliver(act(all[3], "", world.RunPaused))
		l.stands("bank", "", 1, 2)
		l.deliver(act(all[3], "", world.RunResumed))
		k.idle("there is no place")
		s.end()
		l.gets(k, "it stands where it stood", all[3])[0].end()
		l.gets(k, "the next", all[4])[0].end()
		l.gets(k, "the last", all[5])
	})},
	{"who is ready and paused gives its place back", "an admitted run that nobody has claimed is paused as another", withLimits(func(l *limiting) {
		all := l.line(2, "greet", under("bank:1"))
		l.deliver(act(all[0], "", world.RunPaused))
		l.gets(l.worker("greet"), "the first is paused", all[1])
	})},
	{"a place outlives its worker", "a run whose worker died keeps its place, and the next worker goes on with it", withLimits(func(l *limiting) {
		dead := l.mortal(workingLease, "greet")
		all := l.line(2, "greet", under("bank:1"))
		l.gets(dead, "one place", all[0])[0].begin()
		l.orphaned(all[0])
		k := l.worker("greet")
		s := l.gets(k, "the run of the dead, and no other", all[0])[0]
		s.end()
		l.gets(k, "its place is free", all[1])
		l.must(l.w.Leave(l.ctx, k.id), "leave")
		l.gets(l.worker("greet"), "who leaves gives back what he has, with its place", all[1])[0].end()
	})},
	{"the number is changed", "lowered nobody loses a place, raised those in line come, 0 holds all, and nil is what code said", withLimits(func(l *limiting) {
		k := l.worker("greet")
		all := l.line(6, "greet", under("bank/a:2"))
		set := func(n *int) {
			l.Helper()
			l.must(l.l.SetLimit(l.ctx, "bank", n), "set a limit")
		}
		number := func(n int) *int { return &n }
		s := l.gets(k, "two", all[:2]...)
		set(number(1))
		s[0].end()
		k.idle("one is at work")
		set(number(0))
		s[1].end()
		k.idle("none may be")
		set(number(3))
		s = l.gets(k, "three", all[2:5]...)
		all2, err := l.l.ListLimits(l.ctx)
		l.must(err, "limits")
		l.same(all2, []world.Limit{{Name: "bank", Said: 2, Set: number(3), Runs: true}}, "limits")
		set(nil)
		s[0].end()
		k.idle("two are at work")
		s[1].end()
		l.gets(k, "one of two", all[5])
		l.refused(l.l.SetLimit(l.ctx, "nobody", nil), world.ErrNotFound, "a limit that is not there")
		l.refused(l.l.SetLimit(l.ctx, "bank", number(-1)), world.ErrInvalid, "less than nothing")
	})},
	{"several places", "they are taken in order; who waits for one holds those before it, and is next there", withLimits(func(l *limiting) {
		k := l.worker("greet")
		wide := l.createRun("greet", under("all:1"))
		ann := l.line(3, "greet", under("customer/ann:1", "all:1"))
		bob := l.createRun("greet", under("customer/bob:1", "all:1"))
		s := l.gets(k, "the wide one", wide)[0]
		l.stands("customer", "ann", 1, 2)
		l.stands("all", "", 1, 2)
		s.end()
		s = l.gets(k, "who came to the wide line first", ann[0])[0]
		s.end()
		s = l.gets(k, "fair: one of a customer stands in the wide line", bob)[0]
		s.end()
		s = l.gets(k, "the next", ann[1])[0]
		s.end()
		l.gets(k, "the last", ann[2])[0].end()
		l.stands("all", "", 0, 0)
		l.stands("customer", "ann", 0, 0)
	})},
	{"children and delayed starts stand in line", "every birth does, when it is due", withLimits(func(l *limiting) {
		k := l.worker("greet")
		s := k.create("greet")
		step := stepCreated("step_1", world.KindChild)
		holder := l.createRun("greet", under("bank:1"))
		child := birth("greet", under("bank:1"))
		child.Events[0].Birth.Parent = &world.Parent{Run: s.run, Step: "step_1"}
		step.Peer = child.Run
		c := s.next(step)
		c.Births, c.Conditions = []*world.Commit{child}, []world.Condition{{Event: 0, Birth: 0}}
		s.write(c)
		first := l.gets(k, "one place", holder)[0]
		at := world.Now().Add(30 * time.Millisecond)
		delayed := l.createRun("greet", under("bank:1"), func(b *world.Birth) { b.NotBefore = at })
		first.end()
		last := l.gets(k, "the child", child.Run)[0]
		k.later(at)
		k.idle("the child has the place")
		last.end()
		l.gets(k, "the delayed one", delayed)
	})},
	{"places that no run has", "they are refused, and nothing is written", withLimits(func(l *limiting) {
		for what, with := range map[string]func(*world.Birth){
			"a name with a space": under("a b:1"),
			"no name":             under(":1"),
			"less than nothing":   under("a:-1"),
			"a long key":          under("a/" + strings.Repeat("k", world.MaxLimitKey+1) + ":1"),
			"a key with a line":   under("a/x\ny:1"),
			"one twice":           under("a/k:1", "a/k:2"),
			"too many":            under("a:1", "b:1", "c:1", "d:1", "e:1", "f:1", "g:1", "h:1", "i:1"),
			"out of order": func(b *world.Birth) {
				b.Places = []world.Place{{Limit: "a", Number: 1}, {Limit: "b", Key: "k", Number: 1}}
			},
		} {
			c := birth("greet", with)
			_, err := l.w.Commit(l.ctx, c)
			l.refused(err, world.ErrInvalid, what)
			l.absent(c.Run)
		}
		k := l.worker("greet")
		c := birth("greet", under("a:1"))
		c.Worker, c.Claim = k.id, 1
		_, err := l.w.Commit(l.ctx, c)
		l.refused(err, world.ErrInvalid, "a birth by a worker")
		l.absent(c.Run)
		all, err := l.l.ListLimits(l.ctx)
		l.must(err, "limits")
		l.same(len(all), 0, "limits that were made")
	})},
	{"one scope of a name", "a limit holds places until the end, or not: who says otherwise is refused, and nothing is written", withLimits(func(l *limiting) {
		l.createRun("greet", under("bank:2!"))
		c := birth("greet", under("bank:2"))
		_, err := l.w.Commit(l.ctx, c)
		l.refused(err, world.ErrInvalid, "a birth of another scope")
		l.absent(c.Run)
		says := func(limits ...world.SaidLimit) []world.Definition {
			return []world.Definition{{Class: world.Class{Workflow: "hello", Version: 1}, Said: world.Said{Limits: limits}}}
		}
		other := says(world.SaidLimit{Name: "fresh", Number: 1}, world.SaidLimit{Name: "bank", Number: 3})
		l.refused(l.w.Define(l.ctx, other), world.ErrInvalid, "a definition of another scope")
		two := says(world.SaidLimit{Name: "two", Number: 1}, world.SaidLimit{Name: "two", Number: 1, UntilEnd: true})
		l.refused(l.w.Define(l.ctx, two), world.ErrInvalid, "two scopes at once")
		_, err = l.w.Join(l.ctx, world.Worker{ID: world.NewID(world.PrefixWorker, world.Now()), Classes: []world.Class{{Workflow: "hello", Version: 1}}, Definitions: other})
		l.refused(err, world.ErrInvalid, "a worker that defines it so")
		all, err := l.l.ListLimits(l.ctx)
		l.must(err, "limits")
		l.same(all, []world.Limit{{Name: "bank", Said: 2, UntilEnd: true, Runs: true}}, "limits")
	})},
	{"many workers at once", "workers that claim, release and end concurrently are never given too many of a key, and all runs end", withLimits(func(l *limiting) {
		const runs, number = 60, 3
		for i := range runs {
			l.createRun("greet", under(fmt.Sprintf("customer/%d:%d", i%2, number), "all:5"))
		}
		var mu sync.Mutex
		held, ended := make(map[string]int), 0
		var wg sync.WaitGroup
		for range 4 {
			k := l.worker("greet")
			wg.Go(func() {
				for try := 0; ; try++ {
					t, err := l.w.Claim(l.ctx, world.ClaimQuery{Worker: k.id, Classes: k.classes, Runs: 2})
					if err != nil {
						l.Errorf("claim: %v", err)
						return
					}
					for _, c := range t.Runs {
						places := c.Log
						if places == nil {
							places = l.events(c.Run)
						}
						key := places[0].Birth.Places[0].Key
						mu.Lock()
						for which, most := range map[string]int{key: number, "all": 5} {
							if held[which]++; held[which] > most {
								l.Errorf("%d of %s at once, want at most %d", held[which], which, most)
							}
						}
						mu.Unlock()
						s := &session{worker: k, run: c.Run, claimed: c.Claim, seq: c.Seq}
						again := c.Claim == 1 && c.Run[len(c.Run)-1]%2 == 0
						mu.Lock()
						held[key]--
						held["all"]--
						if !again {
							ended++
						}
						mu.Unlock()
						if again {
							s.begin().release(world.Release{WakeAt: world.Now()})
						} else {
							s.end()
						}
					}
					mu.Lock()
					all := ended == runs
					mu.Unlock()
					if all || try > 10_000 {
						return
					}
				}
			})
		}
		wg.Wait()
		l.same(ended, runs, "runs that ended")
		l.stands("all", "", 0, 0)
	})},
}
