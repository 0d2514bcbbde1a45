// Streams of runs that go on for ever: what was written in segments that are not wanted any more is deleted with them.

package worldtest

import (
	"fmt"

	"github.com/stepwell/stepwell/world"
)

var segmentStreams = []check{
	{"streams are trimmed with their segments", "what steps and code wrote in segments that are not wanted is deleted, no other; numbers go on, and a mark that closed a stream stands", func(r *rig) {
		l := r.worker("greet").live("greet") // 2
		told, log := l.streaming("told", "step_1", 1), l.streaming("log", "step_1", 1)
		told.put(told.add(10, 11, 12))
		log.put(log.add(20))
		closes := log.add()
		closes.End = world.ChunkError
		closes.Error = &world.Error{Message: "no more"}
		log.put(closes)
		l.write(l.withStream("told", "", 13))              // 3
		l.write(l.withStream("code", world.ChunkClose, 1)) // 4
		c := l.next(l.continued(0))                        // 5
		c.Streams = []world.StreamWrite{{Stream: "told", Chunks: values(14)}}
		l.write(c)
		told = l.streaming("told", "step_2", 1)
		told.put(told.add(15, 16))
		r.sweep(10)
		r.reads(l.run, "told", "0:10 step_1/1", "1:11 step_1/1", "2:12 step_1/1", "3:13 /0", "4:14 /0", "5:15 step_2/1", "6:16 step_2/1")

		l.append(l.continued(5)) // 6: what the commit of event 5 wrote is of the segment that it began
		told = l.streaming("told", "step_3", 1)
		told.put(told.add(17))
		first := l.streaming("first", "step_3", 1)
		first.put(first.add(30))
		r.sweep(10)
		l.holds(5, 1, 2, 5, 6)
		kept := []string{"4:14 /0", "5:15 step_2/1", "6:16 step_2/1", "7:17 step_3/1"}
		r.reads(l.run, "told", kept...)
		l.begins("told", 0, 4, 4)
		l.begins("told", 3, 4, 4)
		l.begins("told", 4, 0, 4)
		l.begins("told", 6, 0, 6)
		r.reads(l.run, "log", "1:error no more step_1/1")
		r.reads(l.run, "code", "1:close /0")
		l.begins("log", 0, 1, 1)
		closed := log.add(21)
		closed.Pos = 5
		_, err := r.w.Append(r.ctx, closed)
		r.refused(err, world.ErrStreamClosed, "append behind a mark that stands alone")

		l.append(l.continued(7)) // 7: all of them are gone
		r.sweep(10)
		r.reads(l.run, "told")
		l.begins("told", 0, 8, -1)
		l.begins("told", 8, 0, -1)
		r.reads(l.run, "first")
		r.same(l.streamsNow(), []string{"code 2 close", "first 1", "log 2 error", "told 8"}, "streams")
		told = l.streaming("told", "step_4", 1)
		a := told.add(18, 19)
		r.same(told.put(a), int64(8), "the number behind those that are gone")
		a.Again = true
		r.same(told.put(a), int64(8), "the same again")
		told = l.streaming("told", "step_4", 2)
		anew := told.add(20)
		anew.Reset, anew.From = true, 9
		told.put(anew)
		r.reads(l.run, "told", "8:18 step_4/1", "10:reset from 9 step_4/2", "11:20 step_4/2")
		l.begins("told", 0, 8, 8)

		l.append(l.continued(8)) // 8: twice
		told = l.streaming("told", "step_5", 1)
		r.same(told.put(told.add(21)), int64(12), "the number behind a reset that is gone")
		r.sweep(10)
		r.reads(l.run, "told", "12:21 step_5/1")
		l.begins("told", 0, 12, 12)
		l.begins("first", 0, 1, -1)
	}},
	{"answers to webhooks are trimmed with their streams", "of a stream of answers nothing is left; answers of segments that are kept stay", func(r *rig) {
		l := r.worker("greet").live("greet")
		answer := func(name string) {
			l.write(l.withStream(world.WebhookAnswers+name, "", 1))
		}
		answer("a")              // 3
		answer("b")              // 4
		l.append(l.continued(0)) // 5
		answer("c")              // 6
		l.append(l.continued(5)) // 7
		r.sweep(10)
		r.same(l.streamsNow(), []string{"webhook/c 1"}, "streams")
		r.reads(l.run, "webhook/a")
		r.reads(l.run, "webhook/c", "0:1 /0")
		l.begins("webhook/a", 0, 0, -1)
	}},
	{"many chunks are trimmed", "one sweep deletes all that is not wanted, however much that is; what other runs wrote stays", func(r *rig) {
		k := r.worker("greet")
		l, other := k.live("greet"), k.live("greet")
		const batches, names = 700, 60
		c := l.next(signalEvent("a"))
		for i := range batches {
			for _, name := range []string{"wide0", "wide1"} {
				c.Streams = append(c.Streams, world.StreamWrite{Stream: name, Chunks: values(i)})
			}
		}
		l.write(c)
		for i := range names {
			l.write(l.withStream(fmt.Sprint("name", i), "", i))
		}
		other.write(other.withStream("wide0", "", 1))
		other.append(other.continued(0))
		l.append(l.continued(l.state.Seq + 1))
		r.sweep(10)
		for _, name := range []string{"wide0", "wide1", "name7"} {
			r.reads(l.run, name)
		}
		l.begins("wide0", 0, batches, -1)
		r.same(len(l.streamsNow()), names+2, "streams that go on")
		r.reads(other.run, "wide0", "0:1 /0")
	}},
}

// begins holds what a page from a number on says of what is gone, and which chunk is its first; -1: there is none.
func (l *life) begins(stream string, from, first, chunk int64) {
	l.Helper()
	page, err := l.w.Chunks(l.ctx, l.run, stream, world.ChunkQuery{From: from})
	l.must(err, "chunks of stream "+stream)
	got := int64(-1)
	if len(page.Chunks) > 0 {
		got = page.Chunks[0].Index
	}
	l.same([]int64{page.First, got}, []int64{first, chunk}, fmt.Sprintf("first number left, and first chunk, of stream %s from %d", stream, from))
	if page.More || page.Next < max(from, first) {
		l.Fatalf("stream %s from %d: read on from %d, more %v", stream, from, page.Next, page.More)
	}
}

// streamsNow lists the streams of the run: name, next number, mark that closed it.
func (l *life) streamsNow() (all []string) {
	l.Helper()
	rows, err := l.w.StreamsOf(l.ctx, l.run)
	l.must(err, "streams")
	for _, s := range rows {
		text := fmt.Sprintf("%s %d", s.Name, s.Next)
		if s.Closed != "" {
			text += " " + string(s.Closed)
		}
		if all = append(all, text); s.At.IsZero() {
			l.Fatalf("stream %s has no time", s.Name)
		}
	}
	return all
}
