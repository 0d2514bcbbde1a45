// Streams: what steps and workflow code write while a run goes on, and who may.

package worldtest

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

// streaming is one attempt of a step that writes to one stream, under the session's ownership.
type streaming struct {
	*session
	stream, step string
	attempt      int
	pos          int64
	task         *world.TaskKey
}

func (s *session) streaming(stream, step string, attempt int) *streaming {
	return &streaming{session: s, stream: stream, step: step, attempt: attempt}
}

// add is the next append of the attempt, with chunks that are numbers.
func (p *streaming) add(chunks ...int) *world.Append {
	a := &world.Append{Run: p.run, Worker: p.id, Claim: p.claimed, Task: p.task}
	a.StreamWrite = world.StreamWrite{Stream: p.stream, Step: p.step, Attempt: p.attempt, Pos: p.pos, Chunks: values(chunks...)}
	return a
}

func values(chunks ...int) (list []json.RawMessage) {
	for _, c := range chunks {
		list = append(list, fmt.Append(nil, c))
	}
	return list
}

// put appends what must be accepted, and returns its first number.
func (p *streaming) put(a *world.Append) int64 {
	p.Helper()
	done, err := p.w.Append(p.ctx, a)
	p.must(err, "append to stream "+p.stream)
	p.pos += a.Len()
	return done.First
}

// chunks reads a stream to its present end, in pages of a size.
func (r *rig) chunks(run, stream string, from int64, limit int) (all []world.Chunk) {
	r.Helper()
	for {
		page, err := r.w.Chunks(r.ctx, run, stream, world.ChunkQuery{From: from, Limit: limit})
		r.must(err, "chunks of stream "+stream)
		if limit > 0 && len(page.Chunks) > limit {
			r.Fatalf("a page of %d chunks, want at most %d", len(page.Chunks), limit)
		}
		all = append(all, page.Chunks...)
		if !page.More {
			if want := from + int64(len(page.Chunks)); page.Next < want {
				r.Fatalf("read on from %d, want %d at least", page.Next, want)
			}
			return all
		}
		if page.Next <= from {
			r.Fatalf("more from %d, but no way on", from)
		}
		from = page.Next
	}
}

// story tells a stream in short: numbers and values, marks by name.
func story(chunks []world.Chunk) (all []string) {
	for _, c := range chunks {
		s := fmt.Sprintf("%d:%s", c.Index, c.Value)
		switch {
		case c.Kind == world.ChunkReset:
			s = fmt.Sprintf("%d:reset from %d", c.Index, *c.From)
		case c.Kind == world.ChunkError:
			s = fmt.Sprintf("%d:error %s", c.Index, c.Error.Message)
		case c.Kind != world.ChunkData:
			s = fmt.Sprintf("%d:%s", c.Index, c.Kind)
		}
		all = append(all, fmt.Sprintf("%s %s/%d", s, c.Step, c.Attempt))
	}
	return all
}

// reads ends the check unless the stream is as told.
func (r *rig) reads(run, stream string, want ...string) {
	r.Helper()
	for _, limit := range []int{0, 1, 3} {
		r.same(story(r.chunks(run, stream, 0, limit)), want, fmt.Sprintf("stream %s in pages of %d", stream, limit))
	}
}

// withStream is the next commit, with a signal and chunks of workflow code.
func (s *session) withStream(stream string, end world.ChunkKind, chunks ...int) *world.Commit {
	c := s.next(signalEvent("a"))
	c.Streams = []world.StreamWrite{{Stream: stream, End: end, Chunks: values(chunks...)}}
	return c
}

var streams = []check{
	{"chunks are numbered in each stream, and read from any number", "who has read up to a number misses nothing before it", func(r *rig) {
		s := r.worker("greet").create("greet")
		a, b := s.streaming("a", "step_1", 1), s.streaming("b", "step_2", 1)
		r.same(a.put(a.add(10, 11)), int64(0), "first number")
		r.same(b.put(b.add(20)), int64(0), "first number of another stream")
		r.same(a.put(a.add(12, 13, 14)), int64(2), "first number of the next batch")
		r.reads(s.run, "a", "0:10 step_1/1", "1:11 step_1/1", "2:12 step_1/1", "3:13 step_1/1", "4:14 step_1/1")
		r.same(story(r.chunks(s.run, "a", 3, 1)), []string{"3:13 step_1/1", "4:14 step_1/1"}, "chunks from 3")
		for _, from := range []int64{5, 99} {
			page, err := r.w.Chunks(r.ctx, s.run, "a", world.ChunkQuery{From: from})
			r.must(err, "chunks")
			r.same(page, world.ChunkPage{Next: from}, "page behind the end")
		}
		page, err := r.w.Chunks(r.ctx, s.run, "none", world.ChunkQuery{From: -1})
		r.must(err, "chunks of a stream that nobody has written to")
		r.same(page, world.ChunkPage{}, "its page")
		_, err = r.w.Chunks(r.ctx, newRun(), "a", world.ChunkQuery{})
		r.refused(err, world.ErrNotFound, "chunks of an unknown run")
		rows, err := r.w.StreamsOf(r.ctx, s.run)
		r.must(err, "streams")
		if len(rows) != 2 || rows[0].Name != "a" || rows[0].Next != 5 || rows[1].Name != "b" || rows[1].Next != 1 || rows[1].Closed != "" || rows[1].At.IsZero() {
			r.Fatalf("streams: got %+v, want a with 5 chunks and b with 1", rows)
		}
	}},
	{"a page ends behind 256 KiB", "a page is bounded in bytes as well", func(r *rig) {
		s := r.worker("greet").create("greet")
		p := s.streaming("a", "step_1", 1)
		large := make(json.RawMessage, 150<<10) // two are more than a page, encrypted or not
		for i := range large {
			large[i] = '1'
		}
		for range 3 {
			a := p.add()
			a.Chunks = []json.RawMessage{large}
			p.put(a)
		}
		page, err := r.w.Chunks(r.ctx, s.run, "a", world.ChunkQuery{})
		r.must(err, "chunks")
		if len(page.Chunks) != 2 || !page.More || page.Next != 2 {
			r.Fatalf("got %d chunks, more %t, next %d; want 2 of 3", len(page.Chunks), page.More, page.Next)
		}
		r.same(len(r.chunks(s.run, "a", 0, 0)), 3, "chunks")
	}},
	{"only the owner of the run writes", "a stale writer writes nothing", func(r *rig) {
		k, other := r.worker("greet"), r.worker("greet")
		s := k.create("greet")
		p := s.streaming("a", "step_1", 1)
		p.put(p.add(1))
		refused := func(why string, change func(a *world.Append)) {
			r.Helper()
			a := p.add(2)
			change(a)
			_, err := r.w.Append(r.ctx, a)
			r.refused(err, world.ErrLeaseLost, why)
			a.Again, a.Reset, a.Attempt = true, true, 2
			_, err = r.w.Append(r.ctx, a)
			r.refused(err, world.ErrLeaseLost, why+", with a reset, again")
		}
		refused("another worker", func(a *world.Append) { a.Worker = other.id })
		refused("a worker that never joined", func(a *world.Append) { a.Worker = world.NewID(world.PrefixWorker, world.Now()) })
		refused("another claim", func(a *world.Append) { a.Claim++ })
		refused("another run", func(a *world.Append) { a.Run = newRun() })
		s.release(world.Release{WakeAt: world.Now()})
		refused("after the release", func(*world.Append) {})
		next, _ := k.get(s.run)
		refused("the claim before", func(*world.Append) {})
		q := next.streaming("a", "step_1", 2) // what an owner before began is over
		r.same(q.put(q.add(3)), int64(1), "first number of the next owner's")
		r.must(r.w.Leave(r.ctx, k.id), "leave")
		refused("after its worker left", func(a *world.Append) { a.Claim = next.claimed })
		last, _ := other.get(s.run)
		last.end()
		refused("after the end", func(a *world.Append) { a.Worker, a.Claim = other.id, last.claimed })
		r.reads(s.run, "a", "0:1 step_1/1", "1:3 step_1/2")
	}},
	{"only the holder of a task writes for it", "a stale attempt writes nothing", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		s.queueTask("step_1")
		holder := r.worker()
		t := holder.getTask()
		p := (&session{worker: holder, run: s.run}).streaming("a", "step_1", t.Attempt)
		p.task = &world.TaskKey{Run: s.run, Step: "step_1", Attempt: t.Attempt}
		p.put(p.add(1))
		refused := func(why string, change func(a *world.Append)) {
			r.Helper()
			a := p.add(2)
			key := *a.Task
			a.Task = &key
			change(a)
			_, err := r.w.Append(r.ctx, a)
			r.refused(err, world.ErrLeaseLost, why)
		}
		refused("the next attempt", func(a *world.Append) { a.Task.Attempt++; a.Attempt++ })
		refused("another task", func(a *world.Append) { a.Task.Step, a.Step = "step_2", "step_2" })
		refused("another worker", func(a *world.Append) { a.Worker = k.id })
		r.deliver(holder.taskEnd(t, jsonText(`1`)))
		refused("after its end", func(*world.Append) {})
		r.reads(s.run, "a", "0:1 step_1/1")
	}},
	{"a commit's chunks are part of it", "all or nothing", func(r *rig) {
		s := r.worker("greet").create("greet")
		p := s.streaming("a", "step_1", 1)
		p.put(p.add(1))
		late := s.withStream("a", "", 9)
		s.write(s.withStream("a", "", 2, 3))
		_, err := r.w.Commit(r.ctx, late)
		r.refused(err, world.ErrLeaseLost, "a commit at a number that is taken")
		r.same(p.put(p.add(4)), int64(3), "first number behind the commit's")
		c := s.next(world.Event{Type: world.RunCompleted, Payload: jsonText(`1`)})
		c.Streams = []world.StreamWrite{{Stream: "a", Step: "step_1", Attempt: 1, Pos: p.pos, Chunks: values(5)}, {Stream: "b", Chunks: values(6)}}
		s.write(c)
		r.reads(s.run, "a", "0:1 step_1/1", "1:2 /0", "2:3 /0", "3:4 step_1/1", "4:5 step_1/1")
		r.reads(s.run, "b", "0:6 /0")
		page, err := r.w.Chunks(r.ctx, s.run, "a", world.ChunkQuery{From: 4})
		r.must(err, "chunks")
		if !page.Over || page.More {
			r.Fatalf("over %t, more %t; want the end of a run that is over", page.Over, page.More)
		}
	}},
	{"a birth brings chunks", "every change is one commit", func(r *rig) {
		k := r.worker("greet")
		c := birth("greet")
		c.Worker, c.Claim = k.id, 1
		c.Streams = []world.StreamWrite{{Stream: "a", Chunks: values(1), End: world.ChunkClose}}
		r.commit(c)
		r.reads(c.Run, "a", "0:1 /0", "1:close /0")
	}},
	{"behind a mark nothing is written", "a stream that was closed is closed; a commit is not refused for it", func(r *rig) {
		s := r.worker("greet").create("greet")
		p := s.streaming("a", "step_1", 1)
		a := p.add(1)
		a.End, a.Error = world.ChunkError, &world.Error{Message: "no more", Code: "GONE"}
		p.put(a)
		for _, again := range []func(a *world.Append){func(*world.Append) {}, func(a *world.Append) { a.Step, a.Attempt, a.Reset = "step_2", 2, true }} {
			a := p.add(2)
			again(a)
			_, err := r.w.Append(r.ctx, a)
			r.refused(err, world.ErrStreamClosed, "append to a closed stream")
		}
		s.write(s.withStream("a", "", 3))
		r.reads(s.run, "a", "0:1 step_1/1", "1:error no more step_1/1")
		code := s.streaming("b", "", 0)
		s.write(s.withStream("b", world.ChunkClose, 1))
		_, err := r.w.Append(r.ctx, code.add(2)) // code counts nothing: it is at position 0 again
		r.refused(err, world.ErrStreamClosed, "append by code to a closed stream")
		r.reads(s.run, "b", "0:1 /0", "1:close /0")
		rows, err := r.w.StreamsOf(r.ctx, s.run)
		r.must(err, "streams")
		if len(rows) != 2 || rows[0].Closed != world.ChunkError || rows[0].Next != 2 {
			r.Fatalf("streams: got %+v, want two, the first closed with an error", rows)
		}
		r.same(r.chunks(s.run, "a", 1, 0)[0].Error, &world.Error{Message: "no more", Code: "GONE"}, "its error")
	}},
	{"a later attempt makes void what earlier ones wrote", "readers see a reset; numbers are never used twice", func(r *rig) {
		s := r.worker("greet").create("greet")
		one, other := s.streaming("a", "step_1", 1), s.streaming("a", "step_2", 1)
		one.put(one.add(10, 11))
		other.put(other.add(20))
		one.put(one.add(12, 13, 14))
		a := one.add()
		a.End = world.ChunkClose
		one.put(a)
		two := s.streaming("a", "step_1", 2)
		a = two.add(15)
		a.Reset, a.From = true, 4
		r.same(two.put(a), int64(8), "first number behind the reset")
		r.reads(s.run, "a", "0:10 step_1/1", "1:11 step_1/1", "2:20 step_2/1", "3:12 step_1/1", "7:reset from 4 step_1/2", "8:15 step_1/2")
		a = two.add(16)
		a.Reset, a.From = true, 4
		r.same(two.put(a), int64(9), "first number where nothing more is void")
		three := s.streaming("a", "step_1", 3)
		a = three.add(17)
		a.Reset = true
		r.same(three.put(a), int64(11), "first number behind the second reset")
		r.reads(s.run, "a", "2:20 step_2/1", "7:reset from 4 step_1/2", "10:reset from 0 step_1/3", "11:17 step_1/3")
		r.same(story(r.chunks(s.run, "a", 5, 0)), []string{"7:reset from 4 step_1/2", "10:reset from 0 step_1/3", "11:17 step_1/3"}, "chunks from 5")
	}},
	{"an append that is repeated is written once", "after an unknown outcome the same write is sent again", func(r *rig) {
		s := r.worker("greet").create("greet")
		one := s.streaming("a", "step_1", 1)
		one.put(one.add(1, 2))
		p := s.streaming("a", "step_1", 2)
		a := p.add(3, 4)
		a.Reset, a.From = true, 1
		r.same(p.put(a), int64(3), "first number")
		other := s.streaming("a", "step_2", 1)
		other.put(other.add(9))
		again := *a
		again.Again = true
		done, err := r.w.Append(r.ctx, &again)
		r.must(err, "the same append again")
		r.same(done.First, int64(3), "its first number")
		b := p.add(5)
		b.Again = true
		r.same(p.put(b), int64(6), "first number of one that was not written")
		c := p.add()
		c.End = world.ChunkClose
		p.put(c)
		c.Again = true
		_, err = r.w.Append(r.ctx, c)
		r.must(err, "the same mark again")
		r.reads(s.run, "a", "0:1 step_1/1", "2:reset from 1 step_1/2", "3:3 step_1/2", "4:4 step_1/2", "5:9 step_2/1", "6:5 step_1/2", "7:close step_1/2")
	}},
	{"an append that comes twice is written once", "networks send twice, and nobody says so: the position is looked at always", func(r *rig) {
		s := r.worker("greet").create("greet")
		p := s.streaming("a", "step_1", 1)
		twice := func(a *world.Append) {
			r.Helper()
			first, err := r.w.Append(r.ctx, a)
			r.must(err, "append")
			copied := *a
			again, err := r.w.Append(r.ctx, &copied)
			r.must(err, "the same append")
			r.same(again, first, "where it begins")
			p.pos += a.Len()
		}
		twice(p.add(1))
		twice(p.add(2, 3))
		other := s.streaming("a", "step_2", 1)
		other.put(other.add(9))
		twice(p.add(4))
		s.write(s.withStream("a", "", 5))
		s.write(s.withStream("a", "", 6)) // workflow code counts nothing
		closing := p.add(7)
		closing.End = world.ChunkClose
		twice(closing)
		var wg sync.WaitGroup
		b := s.streaming("b", "step_1", 1)
		for range 4 { // also in one transaction
			wg.Go(func() {
				if _, err := r.w.Append(r.ctx, b.add(1)); err != nil {
					r.Errorf("one of four copies: %v", err)
				}
			})
		}
		wg.Wait()
		r.reads(s.run, "a", "0:1 step_1/1", "1:2 step_1/1", "2:3 step_1/1", "3:9 step_2/1", "4:4 step_1/1", "5:5 /0", "6:6 /0", "7:7 step_1/1", "8:close step_1/1")
		r.reads(s.run, "b", "0:1 step_1/1")
	}},
	{"a reset may have nothing behind it", "an attempt that writes nothing makes void what failed", func(r *rig) {
		s := r.worker("greet").create("greet")
		p := s.streaming("a", "step_1", 1)
		p.put(p.add(1, 2))
		p.attempt, p.pos = 2, 0
		a := p.add()
		a.Reset = true
		p.put(a)
		a.Again = true
		_, err := r.w.Append(r.ctx, a)
		r.must(err, "the same reset again")
		r.reads(s.run, "a", "2:reset from 0 step_1/2")
		r.same(p.put(p.add(3)), int64(3), "the next number")
		b := s.streaming("b", "step_1", 2).add()
		b.Reset = true
		_, err = r.w.Append(r.ctx, b)
		r.must(err, "a reset of a stream that nobody has written to")
		r.reads(s.run, "b")
	}},
	{"readers see every chunk once, in order, while others write", "a number becomes visible only behind all before it", func(r *rig) {
		const writers, batches, readers = 4, 12, 3
		s := r.worker("greet").create("greet")
		var wg sync.WaitGroup
		for i := range writers {
			p := s.streaming("a", fmt.Sprintf("step_%d", i), 1)
			wg.Go(func() {
				for n := range batches {
					a := p.add(1000*i+2*n, 1000*i+2*n+1)
					if _, err := r.w.Append(r.ctx, a); err != nil {
						r.Errorf("writer %d: %v", i, err)
						return
					}
					p.pos += 2
				}
			})
		}
		for range readers {
			wg.Go(func() {
				last, next := map[string]string{}, int64(0)
				for end := time.Now().Add(patience); next < 2*writers*batches; {
					page, err := r.w.Chunks(r.ctx, s.run, "a", world.ChunkQuery{From: next, Limit: 5})
					if err != nil || time.Now().After(end) {
						r.Errorf("reader at %d: %v", next, err)
						return
					}
					for _, c := range page.Chunks {
						if value := string(c.Value); c.Index != next || len(value) < len(last[c.Step]) || len(value) == len(last[c.Step]) && value <= last[c.Step] {
							r.Errorf("got chunk %d with %s of %s, want %d, and a value behind %q", c.Index, value, c.Step, next, last[c.Step])
							return
						}
						last[c.Step] = string(c.Value)
						next = c.Index + 1
					}
				}
			})
		}
		wg.Wait()
		r.same(len(r.chunks(s.run, "a", 0, 0)), 2*writers*batches, "chunks")
	}},
	{"growth is told", "a live tail need not poll", func(r *rig) {
		s := r.worker("greet").create("greet")
		p := s.streaming("a", "step_1", 1)
		r.listen(func(n *news) {
			p.put(p.add(1))
			r.until("an append is told", func() bool { return n.told(world.NoticeStream, s.run) })
			n.forget()
			s.write(s.withStream("a", "", 2))
			r.until("a commit is told", func() bool { return n.told(world.NoticeStream, s.run) })
		})
		stats, err := r.w.Stats(r.ctx)
		r.must(err, "stats")
		r.same(stats.Counters.Appends, int64(1), "appends that were counted")
	}},
	{"streams go with their run", "a swept run leaves nothing", func(r *rig) {
		s := r.worker("greet").create("greet", withRetention(time.Millisecond))
		p := s.streaming("a", "step_1", 1)
		p.put(p.add(1))
		s.end()
		r.until("the run is swept", func() bool { return r.sweep(10) == 1 })
		_, err := r.w.Chunks(r.ctx, s.run, "a", world.ChunkQuery{})
		r.refused(err, world.ErrNotFound, "chunks of a swept run")
		rows, err := r.w.StreamsOf(r.ctx, s.run)
		r.must(err, "streams")
		r.same(len(rows), 0, "streams of a swept run")
	}},
	{"what can never be accepted is refused", "bad input gets a clear error and changes nothing", func(r *rig) {
		s := r.worker("greet").create("greet")
		p := s.streaming("a", "step_1", 1)
		for _, c := range []struct {
			what   string
			want   error
			change func(a *world.Append)
		}{
			{"no name", world.ErrInvalid, func(a *world.Append) { a.Stream = "" }},
			{"a name that cannot be printed", world.ErrInvalid, func(a *world.Append) { a.Stream = "a\x00" }},
			{"nothing", world.ErrInvalid, func(a *world.Append) { a.Chunks = nil }},
			{"an unknown mark", world.ErrInvalid, func(a *world.Append) { a.End = "stop" }},
			{"an error without its mark", world.ErrInvalid, func(a *world.Append) { a.Error = &world.Error{Message: "x"} }},
			{"a task of another step", world.ErrInvalid, func(a *world.Append) { a.Task = &world.TaskKey{Run: a.Run, Step: "step_2", Attempt: 1} }},
			{"a chunk that is too large", world.ErrTooLarge, func(a *world.Append) { a.Chunks[0] = make(json.RawMessage, world.MaxChunk+1) }},
			{"too much at once", world.ErrTooLarge, func(a *world.Append) {
				for range 5 {
					a.Chunks = append(a.Chunks, make(json.RawMessage, world.MaxChunk))
				}
			}},
		} {
			a := p.add(1)
			c.change(a)
			_, err := r.w.Append(r.ctx, a)
			r.refused(err, c.want, c.what)
		}
		c := s.withStream("a", "", 1)
		c.Streams[0].Reset = true
		_, err := r.w.Commit(r.ctx, c)
		r.refused(err, world.ErrInvalid, "a commit with a reset")
		r.same(len(r.chunks(s.run, "a", 0, 0)), 0, "chunks")
	}},
}
