// Weights: a key has so many times the places of others, and so as many times their share.

package worldtest

import (
	"maps"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

// weigh has a worker say what weights the keys of a limit have.
func (l *limiting) weigh(number int, weights map[string]int) *worker {
	l.Helper()
	k := l.worker("greet")
	_, err := l.w.Join(l.ctx, world.Worker{ID: world.NewID(world.PrefixWorker, time.Now()), Steps: []string{"task"}, Lease: longLease, StepLimits: []world.SaidLimit{
		{Name: "bank", Number: number, Path: "key", Weights: weights},
	}})
	l.must(err, "join")
	return k
}

var weights = []check{
	{"places by weight", "a key has so many times the places of others as its weight says, and is shown with it", withLimits(func(l *limiting) {
		k := l.weigh(2, map[string]int{"ann": 3})
		ann, bob := l.line(8, "greet", under("bank/ann:2")), l.line(3, "greet", under("bank/bob:2"))
		s := l.gets(k, "six of one, two of the other", slices.Concat(ann[:6], bob[:2])...)
		l.stands("bank", "ann", 6, 2)
		l.stands("bank", "bob", 2, 1)
		keys, err := l.l.ListLimitKeys(l.ctx, "bank", "", 10)
		l.must(err, "keys")
		l.same([]int{keys[0].Weight, keys[1].Weight}, []int{3, 0}, "weights that are shown")
		in, err := l.l.InLine(l.ctx, ann[6], "")
		l.must(err, "in line")
		l.same(in.Number, 6, "places of the key for which it stands in line")
		all, err := l.l.ListLimits(l.ctx)
		l.must(err, "limits")
		if len(all) != 1 || all[0].Said != 2 || !maps.Equal(all[0].Weights, map[string]int{"ann": 3}) {
			l.Fatalf("limits are %+v, want one of 2 places, of which ann has three times as many", all)
		}
		s[0].end()
		l.gets(k, "one of it is over", ann[6])
	})},
	{"a key's share", "while two keys have runs in line, one of weight 3 is given three for each of the other", withLimits(func(l *limiting) {
		k := l.weigh(1, map[string]int{"ann": 3})
		mine := map[string]bool{}
		for _, run := range l.line(40, "greet", under("bank/ann:1")) {
			mine[run] = true
		}
		l.line(40, "greet", under("bank/bob:1"))
		count := map[bool]int{}
		l.until("forty are over", func() bool { // one worker with one place
			for _, c := range k.claim(1, 0).Runs {
				count[mine[c.Run]]++
				(&session{worker: k, run: c.Run, claimed: c.Claim, seq: c.Seq}).end()
			}
			return count[true]+count[false] >= 40
		})
		if count[true] < 28 || count[true] > 32 {
			l.Errorf("of 40 runs %d were of the key of weight 3, want 30, and 2 more or less", count[true])
		}
	})},
	{"weights that change", "what was said last holds: more are let in at once, and of fewer nobody is stopped", withLimits(func(l *limiting) {
		k := l.weigh(1, nil)
		all := l.line(6, "greet", under("bank/ann:1"))
		s := l.gets(k, "one", all[0])
		l.weigh(1, map[string]int{"ann": 2, "bob": 5})
		s = append(s, l.gets(k, "twice as many", all[1])...)
		l.weigh(1, map[string]int{"ann": 4})
		s = append(s, l.gets(k, "four times", all[2:4]...)...)
		l.weigh(1, map[string]int{"bob": 5})
		for _, one := range s[:3] {
			one.end()
		}
		k.idle("one is at work still")
		l.stands("bank", "ann", 1, 2)
		none := 0
		l.weigh(1, map[string]int{"ann": 4})
		s = append(s[3:], l.gets(k, "four again", all[4:]...)...)
		l.must(l.l.SetLimit(l.ctx, "bank", &none), "set")
		more := l.createRun("greet", under("bank/ann:1"))
		for _, one := range s {
			one.end()
		}
		k.idle("four times nothing")
		l.must(l.l.SetLimit(l.ctx, "bank", nil), "set")
		l.gets(k, "as code says", more)
	})},
	{"weights of tasks", "attempts of a key are as many as its weight says", withLimits(func(l *limiting) {
		k := l.weigh(1, map[string]int{"ann": 2})
		l.queue(k.create("greet"), under("bank/ann:1"), "step_a", "step_b", "step_c")
		got := l.tasksOf(k, "two of one key", "step_a", "step_b")
		l.stands("bank", "ann", 2, 1)
		l.done(k, got[0])
		l.tasksOf(k, "one is over", "step_c")
	})},
	{"weights that no limit has", "they are refused, and nothing is noted", withLimits(func(l *limiting) {
		many := make(map[string]int)
		for range world.MaxWeights + 1 {
			many[world.NewID(world.PrefixRun, time.Now())] = 2
		}
		for what, said := range map[string]world.SaidLimit{
			"nothing":       {Number: 1, Path: "key", Weights: map[string]int{"ann": 0}},
			"too much":      {Number: 1, Path: "key", Weights: map[string]int{"ann": world.MaxWeight + 1}},
			"of no key":     {Number: 1, Weights: map[string]int{"ann": 2}},
			"of a rate":     {Number: 1, Path: "key", Per: time.Minute, Weights: map[string]int{"ann": 2}},
			"too many":      {Number: 1, Path: "key", Weights: many},
			"a broken name": {Number: 1, Path: "key", Weights: map[string]int{"a\nb": 2}},
		} {
			said.Name = "bank"
			_, err := l.w.Join(l.ctx, world.Worker{ID: world.NewID(world.PrefixWorker, time.Now()), Steps: []string{"task"}, Lease: longLease, StepLimits: []world.SaidLimit{said}})
			l.refused(err, world.ErrInvalid, what)
		}
		all, err := l.l.ListLimits(l.ctx)
		l.must(err, "limits")
		l.same(len(all), 0, "limits")
	})},
}
