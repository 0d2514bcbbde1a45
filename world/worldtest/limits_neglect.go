// Limits of runs whose workflow and version no worker has.

package worldtest

import "github.com/stepwell/stepwell/world"

// settles has the world look for what nobody can take, until something that a worker is given says that it was found.
// It returns what that worker is given.
func (l *limiting) settles(k *worker, why string, want ...string) (got []*session) {
	l.Helper()
	starts := l.w.Starts()
	l.until(why, func() bool {
		_, err := starts.Settle(l.ctx)
		l.must(err, "settle")
		for _, c := range k.claim(100, 0).Runs {
			got = append(got, &session{worker: k, run: c.Run, claimed: c.Claim, seq: c.Seq})
		}
		return len(got) >= len(want)
	})
	var runs []string
	for _, s := range got {
		runs = append(runs, s.run)
	}
	if l.sorted(runs) != l.sorted(want) {
		l.Fatalf("%s: got runs %s, want %s", why, l.sorted(runs), l.sorted(want))
	}
	return got
}

// neglected is a check of a world that looks for what nobody can take.
func neglected(f func(l *limiting)) func(r *rig) {
	return withLimits(func(l *limiting) {
		if l.over {
			l.Log("another world looks after that")
			return
		}
		f(l)
	})
}

var limitsOfNeglected = []check{
	{"a run that no worker has keeps no place",
		"it gives back what it holds after a while, and leaves its line; who has it later has it stand in line again", neglected(func(l *limiting) {
			k := l.worker("greet")
			first := l.createRun("lost", under("bank:1"))
			l.until("who has no worker is let in", func() bool {
				k.idle("nobody has it")
				in, err := l.l.InLine(l.ctx, first, "")
				l.must(err, "place in line")
				return in == nil
			})
			second := l.createRun("lost", under("customer/ann:1", "bank:1"))
			third := l.createRun("greet", under("bank:1"))
			l.until("it holds one place, and stands in line for the other", func() bool {
				k.idle("nobody has it")
				in, err := l.l.InLine(l.ctx, second, "")
				l.must(err, "place in line")
				return in != nil && in.Limit == "bank"
			})
			next, err := l.w.Starts().Settle(l.ctx)
			l.must(err, "settle")
			if next <= 0 || next > world.NeglectAfter {
				l.Fatalf("it is looked at again in %s, want within %s", next, world.NeglectAfter)
			}
			k.idle("a worker may come back")
			l.stands("bank", "", 1, 2)
			s := l.settles(k, "the place is given back", third)[0]
			l.stands("bank", "", 1, 0)
			l.stands("customer", "ann", 0, 0)
			back := l.worker("lost")
			l.until("they stand in line again", func() bool {
				back.idle("another has the place")
				in, err := l.l.InLine(l.ctx, second, "")
				l.must(err, "place in line")
				return in != nil && in.Limit == "bank"
			})
			l.stands("bank", "", 1, 2)
			l.stands("customer", "ann", 1, 0)
			s.end()
			l.gets(back, "it was created first", first)[0].end()
			l.gets(back, "the last", second)[0].end()
			l.stands("bank", "", 0, 0)
			l.stands("customer", "ann", 0, 0)
		})},
	{"what a run without a worker keeps",
		"one that has begun keeps what it holds until its end, and gives back what it holds at work; one that has not gives back all", neglected(func(l *limiting) {
			old := l.worker("lost")
			begun := l.createRun("lost", under("order/ann:1!", "bank:1"))
			l.gets(old, "it begins", begun)[0].begin()
			l.must(l.w.Leave(l.ctx, old.id), "leave")
			k := l.worker("greet")
			ready := l.createRun("lost", under("order/bob:1!"))
			l.until("who has no worker is let in", func() bool {
				k.idle("nobody has it")
				in, err := l.l.InLine(l.ctx, ready, "")
				l.must(err, "place in line")
				return in == nil
			})
			order := l.createRun("greet", under("order/ann:1!"))
			bank := l.createRun("greet", under("bank:1"))
			free := l.createRun("greet", under("order/bob:1!"))
			l.stands("bank", "", 1, 1)
			for _, s := range l.settles(k, "these come", bank, free) {
				s.end()
			}
			k.idle("the order of ann goes on")
			l.stands("order", "ann", 1, 1)
			l.stands("bank", "", 0, 0)
			l.deliver(act(begun, "", world.RunCancelled))
			l.gets(k, "it is over", order)[0].end()
			back := l.worker("lost")
			l.gets(back, "it needs no line", ready)[0].end()
			l.stands("order", "bob", 0, 0)
		})},
}
