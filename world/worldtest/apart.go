// Values that are kept apart from logs: who holds them, and when they go.

package worldtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stepwell/stepwell/internal/apart"
	"github.com/stepwell/stepwell/world"
)

// keep keeps a value of some pieces under a run.
func (r *rig) keep(run string, pieces ...string) string {
	r.Helper()
	id := world.NewID(world.PrefixApart, world.Now())
	_, err := r.w.Run(r.ctx, run)
	for i, piece := range pieces {
		r.must(r.w.Values().KeepPiece(r.ctx, &world.Piece{Run: run, Value: id, Number: i, Data: []byte(piece), Birth: errors.Is(err, world.ErrNotFound)}), "keep a piece")
	}
	return id
}

// keepInput keeps the input of a birth as package apart writes values, and has the birth refer to
// it. A server reads the input of a start before it commits it.
func (r *rig) keepInput(c *world.Commit) string {
	r.Helper()
	w := apart.NewWriter(r.ctx, r.w.Values(), c.Run, world.MaxApart)
	w.ForBirth(true)
	_, err := w.Write(c.Events[0].Payload)
	r.must(err, "write an input")
	of, err := w.Finish()
	r.must(err, "finish an input")
	c.Events[0].Payload, c.Events[0].Apart = of.JSON(), of.ID
	return of.ID
}

// kept are the pieces that a run can read of a value.
func (r *rig) kept(run, value string) (pieces []string) {
	r.Helper()
	for i := 0; ; i++ {
		piece, err := r.w.Values().Piece(r.ctx, run, value, i)
		if errors.Is(err, world.ErrNotFound) {
			return pieces
		}
		r.must(err, "read a piece")
		pieces = append(pieces, string(piece))
	}
}

// refer is an event with a reference to a value in the place of its payload.
func refer(e world.Event, value string) world.Event {
	e.Payload = json.RawMessage((&world.Apart{ID: value, Size: 6, SHA256: strings.Repeat("0", 64)}).JSON())
	e.Apart = value
	return e
}

// lately is a retention that is over at once.
func lately() func(*world.Birth) { return withRetention(time.Millisecond) }

func (r *rig) sweptAll(n int) {
	r.Helper()
	for swept := 0; swept < n; {
		r.until("runs are swept", func() bool { got := r.sweep(10); swept += got; return got > 0 })
	}
}

var aparts = []check{
	{"a value is kept in pieces", "what was kept is read by the run that holds it, also before that is there, and by no other; what comes again changes nothing", func(r *rig) {
		c := birth("greet")
		large := strings.Repeat("x", world.ApartPiece)
		id := r.keep(c.Run, large, "two", "")
		r.same(r.kept(c.Run, id), []string{large, "two", ""}, "pieces")
		r.must(r.w.Values().KeepPiece(r.ctx, &world.Piece{Run: c.Run, Value: id, Number: 1, Data: []byte("two"), Birth: true}), "keep a piece again")
		other := birth("greet")
		r.same(r.kept(other.Run, id), []string(nil), "pieces for another run")
		r.same(r.kept(c.Run, world.NewID(world.PrefixApart, world.Now())), []string(nil), "pieces of a value that is not there")
		for what, err := range map[string]error{
			"no value": r.w.Values().KeepPiece(r.ctx, &world.Piece{Run: c.Run, Value: "x"}), "no run": r.w.Values().KeepPiece(r.ctx, &world.Piece{Value: id}),
			"a number": r.w.Values().KeepPiece(r.ctx, &world.Piece{Run: c.Run, Value: id, Number: -1}),
		} {
			r.refused(err, world.ErrInvalid, what)
		}
		err := r.w.Values().KeepPiece(r.ctx, &world.Piece{Run: c.Run, Value: id, Number: 3, Data: bytes.Repeat([]byte("x"), world.MaxPiece+1)})
		r.refused(err, world.ErrTooLarge, "a large piece")
	}},
	{"nobody writes to another's value", "a piece of a value that another run holds, or that nobody holds any more, is refused: ErrNotFound; one of a value that an event names changes nothing", func(r *rig) {
		k := r.worker("greet")
		s, other := k.create("greet", lately()), k.create("greet")
		id := r.keep(s.run, "one", "two")
		for n := range 3 {
			r.refused(r.w.Values().KeepPiece(r.ctx, &world.Piece{Run: other.run, Value: id, Number: n, Data: []byte("mine")}), world.ErrNotFound, "a piece of another's value")
		}
		r.refused(r.w.Values().KeepPiece(r.ctx, &world.Piece{Run: s.run, Value: world.NewID(world.PrefixApart, world.Now()), Number: 1, Data: []byte("two")}), world.ErrNotFound, "a piece before the first")
		s.append(refer(stepCreated("step_1", world.KindClosure), id))
		r.must(r.w.Values().KeepPiece(r.ctx, &world.Piece{Run: s.run, Value: id, Number: 1, Data: []byte("two")}), "a piece again")
		r.must(r.w.Values().KeepPiece(r.ctx, &world.Piece{Run: s.run, Value: id, Number: 2, Data: []byte("three")}), "a piece of what is named")
		r.same(r.kept(s.run, id), []string{"one", "two"}, "pieces")
		s.end()
		r.sweptAll(1)
		r.refused(r.w.Values().KeepPiece(r.ctx, &world.Piece{Run: s.run, Value: id, Number: 2, Data: []byte("late")}), world.ErrNotFound, "a piece for a run that was deleted")
		r.same(r.kept(s.run, id), []string(nil), "pieces")
	}},
	{"what a log names comes back", "the ID of a value stands in the event, in the log and in the run's row; a payload that looks like a reference is none", func(r *rig) {
		k := r.worker("greet")
		c := birth("greet")
		in := r.keepInput(c)
		r.commit(c)
		s, _ := k.get(c.Run)
		a, out := r.keep(s.run, "one"), r.keep(s.run, "out")
		looks := refer(stepCreated("step_2", world.KindClosure), a)
		looks.Apart = ""
		s.append(refer(stepCreated("step_1", world.KindClosure), a), looks)
		s.append(refer(world.Event{Type: world.RunCompleted}, out))
		var apart []string
		for _, e := range r.events(s.run) {
			apart = append(apart, e.Apart)
		}
		r.same(apart, []string{in, a, "", out}, "values of the events")
		row := r.run(s.run)
		r.same([]string{row.InputApart, row.OutputApart}, []string{in, out}, "values of the row")
		list := r.list(world.RunQuery{Workflow: "greet"})
		r.same(len(list), 1, "runs")

		plain := k.create("greet")
		end := refer(world.Event{Type: world.RunCompleted}, out)
		end.Apart = ""
		plain.append(end)
		row = r.run(plain.run)
		r.same([]string{row.InputApart, row.OutputApart}, []string{"", ""}, "values of a row that looks so")
	}},
	{"a run names what it holds", "an event with a value that its run does not hold is refused, whatever writes it: ErrInvalid, and nothing is written; so is one whose payload is no reference to it, or whose type has none", func(r *rig) {
		k := r.worker("greet")
		s, other := k.create("greet"), k.create("greet")
		id, mine := r.keep(other.run, "secret"), r.keep(s.run, "mine")
		other.append(refer(stepCreated("step_1", world.KindClosure), id))
		refuse := func(what string, events ...world.Event) {
			r.Helper()
			_, err := r.w.Commit(r.ctx, s.next(events...))
			r.refused(err, world.ErrInvalid, what)
			r.same(len(r.events(s.run)), 2, "events behind "+what)
		}
		step := stepCreated("step_1", world.KindClosure)
		refuse("another's value", refer(step, id))
		refuse("another's value as the output", refer(world.Event{Type: world.RunCompleted}, id))
		refuse("a value that is not there", refer(step, world.NewID(world.PrefixApart, world.Now())))
		refuse("a signal", refer(signalEvent("a"), mine))
		bare := step
		bare.Payload, bare.Apart = json.RawMessage(`7`), mine
		refuse("a payload that is no reference", bare)
		bare = refer(step, id)
		bare.Apart = mine
		refuse("a reference to another value", bare)
		c := s.childCommit("step_1")
		c.Births[0].Events[0] = refer(c.Births[0].Events[0], id)
		_, err := r.w.Commit(r.ctx, c)
		r.refused(err, world.ErrInvalid, "a child with another's value")
		r.absent(c.Births[0].Run)
		for what, with := range map[string]func(*world.Birth){"another's value": func(*world.Birth) {}, "another's value, forked from a third": withOrigin(s.run, 1)} {
			bad := birth("greet", with)
			bad.Events[0] = refer(bad.Events[0], id)
			_, err := r.w.Commit(r.ctx, bad)
			r.refused(err, world.ErrInvalid, "a birth with "+what)
			r.absent(bad.Run)
		}
		d := signal(s.run, "d1", "paid")
		d.Events[0] = refer(d.Events[0], mine)
		_, err = r.w.Deliver(r.ctx, d)
		r.refused(err, world.ErrInvalid, "mail with a value")
		r.same(r.kept(s.run, id), []string(nil), "pieces of another's value")
		s.append(refer(step, mine))
	}},
	{"a task ends with what its run holds", "the result of a task refers to a value of its run, and to no other's: ErrInvalid, and the task goes on", func(r *rig) {
		k := r.worker("greet")
		s, stranger := k.create("greet"), k.create("greet")
		s.queueTask("step_1")
		other := r.worker()
		other.steps = []string{"task"}
		t := other.getTask()
		id, mine := r.keep(stranger.run, "secret"), r.keep(s.run, "mine")
		d := other.taskEnd(t, nil)
		last := &d.Events[len(d.Events)-1]
		*last = refer(*last, id)
		_, err := r.w.Deliver(r.ctx, d)
		r.refused(err, world.ErrInvalid, "the end of a task with another's value")
		*last = refer(*last, mine)
		r.deliver(d)
		result := func() world.Event {
			mail := s.mail()
			if len(mail) != 1 {
				r.Fatalf("mail %+v", mail)
			}
			return mail[0].Events[len(mail[0].Events)-1]
		}()
		r.same(result.Apart, mine, "value of the result")
	}},
	{"values go with their run", "retention deletes what a run holds; what others hold stays", func(r *rig) {
		k := r.worker("greet")
		s, other := k.create("greet", lately()), k.create("greet")
		id, left, others := r.keep(s.run, "one", "two"), r.keep(s.run, "left by a crash"), r.keep(other.run, "three")
		s.append(refer(stepCreated("step_1", world.KindClosure), id))
		s.end()
		r.same(r.kept(s.run, id), []string{"one", "two"}, "pieces while the run is kept")
		r.sweptAll(1)
		r.same(r.kept(s.run, id), []string(nil), "pieces of a run that was swept")
		r.same(r.kept(s.run, left), []string(nil), "pieces that no event names")
		r.same(r.kept(other.run, others), []string{"three"}, "pieces of another run")
	}},
	{"a fork holds what its source held", "a run that is made of another, and created with references, holds the values, whoever is deleted; one that is not there is refused: ErrInvalid", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet", lately())
		id := r.keep(s.run, "one", "two")
		s.append(refer(stepCreated("step_1", world.KindClosure), id))
		c := birth("greet", withOrigin(s.run, 1))
		c.Events[0] = refer(c.Events[0], id)
		r.commit(c)
		s.end()
		r.sweptAll(1)
		r.same(r.kept(c.Run, id), []string{"one", "two"}, "pieces for the fork")
		bad := birth("greet", withOrigin(s.run, 1))
		bad.Events[0] = refer(bad.Events[0], id)
		_, err := r.w.Commit(r.ctx, bad)
		r.refused(err, world.ErrInvalid, "a fork of what is gone")
		r.absent(bad.Run)
		next, _ := k.get(c.Run)
		next.end()
	}},
	{"results are held by who waits", "the output of a child, and of a run that is awaited, before its end or after, stays as long as one of those that were told", func(r *rig) {
		k := r.worker("greet", "child")
		s, before, after := k.create("greet"), k.create("greet"), k.create("greet")
		c := s.childCommit("step_1", withRetention(300*time.Millisecond))
		s.write(c)
		child, _ := k.get(c.Births[0].Run)
		before.await("step_1", child.run)
		id := r.keep(child.run, "one", "two")
		child.append(refer(world.Event{Type: world.RunCompleted}, id))
		written := after.await("step_1", child.run)
		r.same(written[len(written)-1].Apart, id, "value of the result that was there")
		r.sweptAll(1)
		r.same(r.kept(child.run, id), []string(nil), "pieces for the child")
		for who, w := range map[string]*session{"the parent": s, "who waits": before} {
			result := w.result("step_1")
			r.same(result.Apart, id, fmt.Sprint("value of the result for ", who))
			r.same(r.kept(w.run, id), []string{"one", "two"}, "pieces for "+who)
			w.append(result)
		}
		r.same(r.kept(after.run, id), []string{"one", "two"}, "pieces for who waited later")
	}},
	{"what no event names is dropped", "a value that no event of the run names is deleted for that run at once; one that is named, or another's, stays, and it is no error; what is no ID is refused: ErrInvalid", func(r *rig) {
		k := r.worker("greet")
		s, other := k.create("greet"), k.create("greet")
		named, left, others := r.keep(s.run, "named"), r.keep(s.run, "left", "over"), r.keep(other.run, "another's")
		s.append(refer(stepCreated("step_1", world.KindClosure), named))
		values := r.w.Values()
		for range 2 {
			for _, id := range []string{named, left, others, world.NewID(world.PrefixApart, world.Now())} {
				r.must(values.DropValue(r.ctx, s.run, id), "drop a value")
			}
		}
		r.same(r.kept(s.run, named), []string{"named"}, "pieces that an event names")
		r.same(r.kept(s.run, left), []string(nil), "pieces that were dropped")
		r.same(r.kept(other.run, others), []string{"another's"}, "pieces of another run")
		_, err := r.w.Commit(r.ctx, s.next(refer(stepCreated("step_2", world.KindClosure), left)))
		r.refused(err, world.ErrInvalid, "an event with a value that was dropped")
		r.refused(values.DropValue(r.ctx, s.run, "x\x00"), world.ErrInvalid, "no value")
		r.refused(values.DropValue(r.ctx, "\x00", left), world.ErrInvalid, "no run")
	}},
	{"keys of values are known", "each key is told, with how many runs hold values under it: those that came to one of another's key, too", func(r *rig) {
		k := r.worker("greet")
		s, none := k.create("greet"), k.create("greet")
		id := r.keep(s.run, "one", "two")
		r.keep(s.run, "three")
		s.append(refer(stepCreated("step_1", world.KindClosure), id))
		c := birth("greet", withOrigin(s.run, 1))
		c.Events[0] = refer(c.Events[0], id)
		r.commit(c)
		keys := func() []world.ValueKey {
			got, err := r.w.Values().ValueKeys(r.ctx)
			r.must(err, "ask for keys of values")
			return got
		}
		want := keys()
		r.same(len(want), 1, "keys")
		r.same(want[0].Runs, int64(2), "runs")
		if want[0].Key == "" { // else all is under one key, which is not known here
			p := world.Piece{Run: none.run, Value: world.NewID(world.PrefixApart, world.Now()), Data: []byte("x"), Key: "k9"}
			r.must(r.w.Values().KeepPiece(r.ctx, &p), "keep a piece")
			r.same(keys(), append(want, world.ValueKey{Key: "k9", Runs: 1}), "keys")
		}
	}},
}
