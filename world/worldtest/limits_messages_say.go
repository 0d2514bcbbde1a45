// What a limit of a queue says of itself, and the weights of its keys.

package worldtest

import "github.com/stepwell/stepwell/world"

// weighed is a limit of one place, of which ann has so many times as many.
func weighed(ann int) world.SaidLimit {
	l := byTo("bank", 1)
	l.Weights = map[string]int{"ann": ann}
	return l
}

var saidOfMessages = []check{
	{"weights of keys of messages", "a key has as many times the places as its weight says; a new weight holds for what waits", withHeld([]world.SaidLimit{weighed(3)}, func(h *holding) {
		h.mail("ann", 1, 2, 3, 4, 5, 6, 7)
		h.mail("bob", 8, 9)
		got := h.comes("ann 1", "ann 2", "ann 3", "bob 8")
		h.comes()
		h.limit(weighed(4))
		got = append(got, h.comes("ann 4")...)
		h.limit(weighed(1))
		h.ends(world.Ack, 0, true, got[0], got[1], got[2])
		h.comes()
		h.ends(world.Ack, 0, true, got[4])
		ann := h.comes("ann 5")
		h.ends(world.Ack, 0, true, got[3])
		got = append(ann, h.comes("bob 9")...)
		h.limit(weighed(2))
		got = append(got, h.comes("ann 6")...)
		h.must(h.l.SetLimit(h.ctx, "bank", new(0)), "set")
		h.ends(world.Ack, 0, true, got...)
		h.comes()
		h.must(h.l.SetLimit(h.ctx, "bank", nil), "set")
		h.comes("ann 7")
		all, err := h.l.ListLimits(h.ctx)
		h.must(err, "limits")
		h.same(all[0].Weights, map[string]int{"ann": 2}, "weights of the limit")
		stats, err := h.k.Queues(h.ctx, "q")
		h.must(err, "queues")
		h.same(stats[0].Limits, []world.SaidLimit{weighed(2)}, "limits of the queue")
	})},
	{"a limit of a queue counts messages", "and runs as well, once a workflow says it", withHeld([]world.SaidLimit{byTo("bank", 1)}, func(h *holding) {
		counts := func(runs, messages bool) {
			h.Helper()
			all, err := h.l.ListLimits(h.ctx)
			h.must(err, "limits")
			h.same(len(all), 1, "limits")
			h.same([]bool{all[0].Runs, all[0].Steps, all[0].Messages}, []bool{runs, false, messages}, "whether it counts runs, steps, messages")
		}
		counts(false, true)
		h.mail("ann", 1)
		h.comes("ann 1")
		counts(false, true)
		h.limit(byTo("bank", 2))
		counts(false, true)
		class := world.Class{Workflow: "greet", Version: 1}
		_, err := h.w.Join(h.ctx, world.Worker{
			ID: world.NewID(world.PrefixWorker, world.Now()), Lease: longLease, Classes: []world.Class{class},
			Definitions: []world.Definition{{Class: class, Said: world.Said{Limits: []world.SaidLimit{byTo("bank", 2)}}}},
		})
		h.must(err, "join")
		counts(true, true)
		h.limit(byTo("bank", 3))
		counts(true, true)
	})},
}
