// Values that are kept apart from logs: who holds them, and when they go.

package worldtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
)

// keep keeps a value of some pieces under a run.
func (r *rig) keep(run string, pieces ...string) string {
	r.Helper()
	id := world.NewID(world.PrefixApart, world.Now())
	for i, piece := range pieces {
		r.must(r.able.ApartKeeper.KeepPiece(r.ctx, run, id, i, []byte(piece)), "keep a piece")
	}
	return id
}

// kept are the pieces that a run can read of a value.
func (r *rig) kept(run, value string) (pieces []string) {
	r.Helper()
	for i := 0; ; i++ {
		piece, err := r.able.ApartKeeper.Piece(r.ctx, run, value, i)
		if errors.Is(err, world.ErrNotFound) {
			return pieces
		}
		r.must(err, "read a piece")
		pieces = append(pieces, string(piece))
	}
}

// refer is an event with a reference to a value in the place of its payload.
func refer(e world.Event, run, value string) world.Event {
	e.Payload = json.RawMessage((&world.Apart{ID: value, Of: run, Size: 6, SHA256: strings.Repeat("0", 64)}).JSON())
	e.Apart = []string{value}
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
	{"a value is kept in pieces", "what was kept is read by the run that holds it, also before that is there, and by no other; what comes again changes nothing", needs("ApartKeeper", func(r *rig) {
		c := birth("greet")
		large := strings.Repeat("x", world.ApartPiece)
		id := r.keep(c.Run, large, "two", "")
		r.same(r.kept(c.Run, id), []string{large, "two", ""}, "pieces")
		r.must(r.able.ApartKeeper.KeepPiece(r.ctx, c.Run, id, 1, []byte("two")), "keep a piece again")
		other := birth("greet")
		r.must(r.able.ApartKeeper.KeepPiece(r.ctx, other.Run, id, 0, []byte("mine")), "keep a piece of another's value")
		r.same(r.kept(other.Run, id), []string(nil), "pieces for another run")
		r.same(r.kept(c.Run, id), []string{large, "two", ""}, "pieces")
		r.same(r.kept(c.Run, world.NewID(world.PrefixApart, world.Now())), []string(nil), "pieces of a value that is not there")
		for what, err := range map[string]error{
			"no value": r.able.ApartKeeper.KeepPiece(r.ctx, c.Run, "x", 0, nil), "no run": r.able.ApartKeeper.KeepPiece(r.ctx, "", id, 0, nil),
			"a number": r.able.ApartKeeper.KeepPiece(r.ctx, c.Run, id, -1, nil),
		} {
			r.refused(err, world.ErrInvalid, what)
		}
		err := r.able.ApartKeeper.KeepPiece(r.ctx, c.Run, id, 3, bytes.Repeat([]byte("x"), world.MaxPiece+1))
		r.refused(err, world.ErrTooLarge, "a large piece")
	})},
	{"what a log names comes back", "the IDs of values stand in the event, in the log and in the inbox", needs("ApartKeeper", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		a, b := r.keep(s.run, "one"), r.keep(s.run, "two")
		e := refer(stepCreated("step_1", world.KindClosure), s.run, a)
		e.Apart = append(e.Apart, b)
		s.append(e)
		events := r.events(s.run)
		r.same(events[len(events)-1].Apart, []string{a, b}, "values of the event")
	})},
	{"values go with their run", "retention deletes what a run holds; what others hold stays", needs("ApartKeeper", func(r *rig) {
		k := r.worker("greet")
		s, other := k.create("greet", lately()), k.create("greet")
		id, left, others := r.keep(s.run, "one", "two"), r.keep(s.run, "left by a crash"), r.keep(other.run, "three")
		s.append(refer(stepCreated("step_1", world.KindClosure), s.run, id))
		s.end()
		r.same(r.kept(s.run, id), []string{"one", "two"}, "pieces while the run is kept")
		r.sweptAll(1)
		r.same(r.kept(s.run, id), []string(nil), "pieces of a run that was swept")
		r.same(r.kept(s.run, left), []string(nil), "pieces that no event names")
		r.same(r.kept(other.run, others), []string{"three"}, "pieces of another run")
	})},
	{"a fork holds what its source held", "a run that is created with references holds the values, whoever is deleted; one that is not there is refused: ErrInvalid", needs("ApartKeeper", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet", lately())
		id := r.keep(s.run, "one", "two")
		s.append(refer(stepCreated("step_1", world.KindClosure), s.run, id))
		c := birth("greet")
		c.Events[0] = refer(c.Events[0], s.run, id)
		r.commit(c)
		s.end()
		r.sweptAll(1)
		r.same(r.kept(c.Run, id), []string{"one", "two"}, "pieces for the fork")
		bad := birth("greet")
		bad.Events[0] = refer(bad.Events[0], s.run, world.NewID(world.PrefixApart, world.Now()))
		_, err := r.w.Commit(r.ctx, bad)
		r.refused(err, world.ErrInvalid, "a birth with a value that is not there")
		r.absent(bad.Run)
		next, _ := k.get(c.Run)
		next.end()
	})},
	{"results are held by who waits", "the output of a child, and of a run that is awaited, before its end or after, stays as long as one of those that were told", needs("ApartKeeper", func(r *rig) {
		k := r.worker("greet", "child")
		s, before, after := k.create("greet"), k.create("greet"), k.create("greet")
		c := s.childCommit("step_1", withRetention(300*time.Millisecond))
		s.write(c)
		child, _ := k.get(c.Births[0].Run)
		before.await("step_1", child.run)
		id := r.keep(child.run, "one", "two")
		child.append(refer(world.Event{Type: world.RunCompleted}, child.run, id))
		written := after.await("step_1", child.run)
		r.same(written[len(written)-1].Apart, []string{id}, "values of the result that was there")
		r.sweptAll(1)
		r.same(r.kept(child.run, id), []string(nil), "pieces for the child")
		for who, w := range map[string]*session{"the parent": s, "who waits": before} {
			result := w.result("step_1")
			r.same(result.Apart, []string{id}, fmt.Sprint("values of the result for ", who))
			r.same(r.kept(w.run, id), []string{"one", "two"}, "pieces for "+who)
		}
		r.same(r.kept(after.run, id), []string{"one", "two"}, "pieces for who waited later")
	})},
	{"mail holds what it names", "what is sent to a run is there when it reads it, whatever became of who sent it", needs("ApartKeeper", func(r *rig) {
		k := r.worker("greet")
		from, to, in := k.create("greet", lately()), k.create("greet"), k.create("greet")
		id := r.keep(from.run, "one")
		d := signal(to.run, "d1", "paid")
		d.Events[0] = refer(d.Events[0], from.run, id)
		r.deliver(d)
		c := from.sendCommit(in.run)
		c.Send[0].Events[0] = refer(c.Send[0].Events[0], from.run, id)
		c.Events[0] = refer(c.Events[0], from.run, id)
		from.write(c)
		from.end()
		r.sweptAll(1)
		r.same(r.kept(to.run, id), []string{"one"}, "pieces for who was sent to")
		r.same(r.kept(in.run, id), []string{"one"}, "pieces for who was sent to in a commit")
	})},
}
