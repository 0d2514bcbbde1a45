// What the world keeps of one run: its row, its log, its place in the queue, its inbox.

package memory

import (
	"encoding/json"
	"time"

	"github.com/stepwell/stepwell/world"
)

type run struct {
	id        string
	key       int64 // grows with each birth
	birth     *world.Birth
	status    world.Status
	version   int
	input     json.RawMessage // of run_created
	apart     string          // the value that the input refers to, which is kept apart; "": it is the value
	encrypted string          // the same
	err       *world.Error
	attrs     map[string]json.RawMessage
	created   time.Time
	end       *world.Event // the terminal event

	seq  int64
	time time.Time // of the last event

	segment int64 // number of the run_continued that began the newest segment; 0: the first
	trim    int64 // number of the one before which nothing is wanted any more; 0: none
	log     []record
	room    []byte // the rest of the block that rows are written to

	entry    entry // in the queue, or, when it is over, among those to be swept
	owner    *worker
	claim    int64
	claimed  int64    // number of the last event when the owner took it; 0: the owner created it
	strikes  int      // claims in a row whose worker died with no event committed
	released [16]byte // the commit that released it last
	wakeAt   time.Time
	paused   bool
	blocked  *world.Block
	full     bool
	waiting  string
	placed   *placed // what it has of the places that it needs; nil: it needs none

	inbox    []mail
	ids      map[string]struct{} // IDs of mail that has no key and waits
	payloads int                 // signals and hook payloads that wait
	unread   int                 // and those in the log, as its owner said
	cancels  int                 // cancel requests that wait

	delivered map[[16]byte]*accepted // by world.Delivery.Key
	order     [][16]byte             // their keys, oldest first
	late      []world.Late           // mail that the run's end left unread

	hooks    map[string]*hook // active, by ID
	closed   []*hook          // that are over
	tasks    map[string]*task // by step
	streams  []*stream
	awaiters []awaiter // steps of other runs that wait for this run's end
}

type hook struct {
	run     *run
	id      string
	token   string
	meta    json.RawMessage
	created time.Time
}

type awaiter struct {
	run     *run
	step    string
	segment int64 // in which it waits
}

// follow keeps the run's row in step with one event of its log, whose number is given.
func (w *World) follow(r *run, e *world.Event, seq int64) {
	if paused, says := e.Pauses(); says {
		r.paused = paused
	}
	switch e.Type {
	case world.RunStarted:
		r.status = world.Running
		if e.Version != 0 {
			r.version = e.Version
		}
	case world.RunContinued:
		w.continued(r, e, seq)
	case world.AttrSet:
		if r.attrs == nil {
			r.attrs = make(map[string]json.RawMessage)
		}
		r.attrs[e.Name] = json.RawMessage(e.Payload)
	case world.HookCreated:
		h := &hook{run: r, id: e.ID, token: e.Token, meta: e.Payload, created: e.Time}
		if r.hooks == nil {
			r.hooks = make(map[string]*hook)
		}
		r.hooks[e.ID] = h
		w.tokens[e.Token] = h
	case world.HookDisposed:
		w.dispose(r, e.ID)
	case world.RunCompleted, world.RunFailed, world.RunCancelled:
		end := *e
		r.end = &end
	}
}

func (w *World) dispose(r *run, id string) {
	if h := r.hooks[id]; h != nil {
		delete(r.hooks, id)
		delete(w.tokens, h.token)
		w.ends[h.token] = append(w.ends[h.token], h)
		r.closed = append(r.closed, h)
	}
}

// lastEnded is the last hook that had a token and is over, of the runs that are there; nil: none.
func (w *World) lastEnded(token string) *hook {
	if all := w.ends[token]; len(all) > 0 {
		return all[len(all)-1]
	}
	return nil
}
