package engine

// This file holds what a session makes of its messages: a turn, and the commits that it becomes.

import (
	"slices"

	"github.com/stepwell/stepwell/world"
)

// turn is what a session is about to commit.
//
//   - Its events are numbered and folded already, without a gap: the last one is the last that the run's state knows
//     of.
//   - What goes with an event, as a task or a birth, is in the commit that holds the event, also where there are
//     several.
type turn struct {
	events  []world.Event
	tasks   []world.Task
	mail    []int64
	held    []world.TaskKey
	dropped []world.TaskKey
	out     abroad
	post    post
	// continued: a run_continued is among events, and those before it are of the segment that is over.
	continued   bool
	release     *world.Release
	later       []world.Event // among events: what the machine sees only when they are durable
	bytes       int           // of payloads, about
	streams     []world.StreamWrite
	streamBytes int // of bytes, those of streams
}

func (t *turn) empty() bool {
	return len(t.events)+len(t.mail)+len(t.held)+len(t.dropped) == 0 && !t.out.asksAny()
}

// conditional reports whether only the world knows what the machine goes on with: nothing further is delivered before
// that.
func (t *turn) conditional() bool { return len(t.later) > 0 || t.out.undecided() }

// abroad is what the turn does to other runs, or asks of the world.
func (t *turn) abroad() *abroad { return &t.out }

// open gives the turn its room, and room takes it back.
func (t *turn) open(events []world.Event) { t.events = events }

func (t *turn) room() []world.Event {
	events := t.events
	t.events = nil
	return events
}

// next empties a turn that is committed.
func (t *turn) next() {
	if cap(t.events) > spareEvents {
		t.events = nil
	}
	*t = turn{events: t.events[:0]}
}

// add adds an event that was numbered and folded.
func (t *turn) add(e *world.Event) {
	t.events = append(t.events, world.Event{})
	t.events[len(t.events)-1] = *e
	t.bytes += weight(e)
}

// all are the events, and last is a list of the last one.
func (t *turn) all() []world.Event  { return t.events }
func (t *turn) last() []world.Event { return t.events[len(t.events)-1:] }

// see keeps an event that was added from the machine until it is durable; unseen lists those.
func (t *turn) see(e world.Event)     { t.later = append(t.later, e) }
func (t *turn) unseen() []world.Event { return t.later }
func (t *turn) blinds() bool          { return len(t.later) > 0 }

// append says that an inbox row is appended with the turn; unappend takes the last one back.
func (t *turn) append(row int64) { t.mail = append(t.mail, row) }
func (t *turn) unappend()        { t.mail = t.mail[:len(t.mail)-1] }

// queue, end and drop are about tasks: a new one, one whose end is among the events, one that nobody waits for.
func (t *turn) queue(task world.Task)   { t.tasks = append(t.tasks, task) }
func (t *turn) end(task world.TaskKey)  { t.held = append(t.held, task) }
func (t *turn) drop(task world.TaskKey) { t.dropped = append(t.dropped, task) }

// goOn says that a run_continued was added, and what goes with it. leaveSegment drops what is of the segment before,
// and does not go with the events.
func (t *turn) goOn(goodbye []world.Delivery) { t.continued = true; t.out.leave(goodbye) }
func (t *turn) isContinued() bool             { return t.continued }
func (t *turn) leaveSegment()                 { t.tasks = nil; t.out.leaveSegment() }

// letGo releases the run with the turn.
func (t *turn) letGo(r *world.Release)   { t.release = r }
func (t *turn) released() *world.Release { return t.release }

// ends reports whether a task ends with the turn.
func (t *turn) ends(step string) bool {
	return slices.ContainsFunc(t.held, func(k world.TaskKey) bool { return k.Step == step })
}

// full reports whether the turn is to be committed before more is taken in; large, whether it is too large for one
// commit.
func (t *turn) full() bool  { return t.bytes+t.post.size() >= turnBytes }
func (t *turn) large() bool { return t.bytes+t.post.size() > world.MaxCommit*3/4 }

// posts are the messages and publications that go with the turn.
func (t *turn) posts() *post { return &t.post }

// fill puts what goes with the events into their commit.
func (t *turn) fill(c *world.Commit) {
	c.Mail, c.Held, c.Dropped, c.Tasks, c.Streams, c.Release = t.mail, t.held, t.dropped, t.tasks, t.streams, t.release
}

// splitLarge makes several commits of a turn that is too large for one.
func (t *turn) splitLarge(first int64, newCommit func(int64, []world.Event) *world.Commit) []*world.Commit {
	tasks := make(map[string]world.Task, len(t.tasks))
	for _, task := range t.tasks {
		tasks[task.Step] = task
	}
	var parts []*world.Commit
	for from, i, size := 0, 0, t.streamBytes; i <= len(t.events); i++ {
		if i < len(t.events) {
			size += weight(&t.events[i]) + t.post.weightOf(&t.events[i])
			if size <= world.MaxCommit*3/4 || i == from {
				continue
			}
		}
		c := newCommit(first+int64(from), t.events[from:i:i])
		for k := range c.Events {
			if task, ok := tasks[c.Events[k].ID]; ok && c.Events[k].Type == world.StepCreated {
				c.Tasks = append(c.Tasks, task)
			}
		}
		parts = append(parts, c)
		if from = i; i < len(t.events) {
			size = weight(&t.events[i])
		}
	}
	parts[0].Mail, parts[0].Held, parts[0].Dropped, parts[0].Streams = t.mail, t.held, t.dropped, t.streams
	parts[len(parts)-1].Release = t.release
	return parts
}

// weight is about how many bytes an event adds to a commit. The input of a task or a child, and what is sent, travels twice: with the
// event, and with the task or the
// birth.
func weight(e *world.Event) int {
	n := len(e.Payload) + len(e.Name) + len(e.Path) + len(e.Match) + errorWeight(e.Error) + 200
	if e.Next != nil && e.Next.Base != nil {
		n += len(e.Next.Base.Deliveries)/3*4 + 20*(len(e.Next.Unread)+len(e.Next.Base.Hooks)+len(e.Next.Base.Starts))
	}
	if e.Type == world.StepCreated && (e.Queued || e.Kind == world.KindChild || e.Kind == world.KindSend || e.Kind.Posts()) {
		n += len(e.Payload) + 400
	}
	return n
}

func errorWeight(e *world.Error) int {
	if e == nil {
		return 0
	}
	n := len(e.Message) + len(e.Stack) + len(e.Value) + len(e.Name) + 200
	for _, c := range e.Causes {
		n += errorWeight(c)
	}
	return n
}

// addStreams puts writes into the turn, a writer's behind what it wrote before.
func (t *turn) addStreams(writes ...world.StreamWrite) {
	for _, w := range writes {
		n := w.Bytes() + chunkWeight
		t.bytes += n
		t.streamBytes += n
		if last := len(t.streams) - 1; last >= 0 && w.Step == "" && t.streams[last].Step == "" && t.streams[last].Stream == w.Stream && t.streams[last].End == "" {
			t.streams[last].Chunks = append(t.streams[last].Chunks, w.Chunks...)
			t.streams[last].End = w.End
			continue
		}
		t.streams = append(t.streams, w)
	}
}
