// Notices: a world that tells of news does so after each change that others may wait for. Correctness never rests on it.

package worldtest

import (
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

// news collects what a world tells.
type news struct {
	mu   sync.Mutex
	seen map[world.Notice]bool
}

func (n *news) add(x world.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seen[x] = true
}

// told reports whether there was a notice of a kind about the run, or about no run in particular.
func (n *news) told(kind world.NoticeKind, run string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.seen[world.Notice{Kind: kind, Run: run}] || n.seen[world.Notice{Kind: kind}]
}

func (n *news) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.seen)
}

// listen calls f with the news of the world, which tells some.
func (r *rig) listen(f func(n *news)) {
	n := &news{seen: make(map[world.Notice]bool)}
	stop := r.w.Notify(n.add)
	defer stop()
	f(n)
}

var notices = []check{
	{"news of work, mail, ends and logs are told", "Notify calls back after each change that others may wait for", func(r *rig) {
		k := r.worker("greet")
		r.listen(func(n *news) {
			expect := func(kind world.NoticeKind, run, after string) {
				r.Helper()
				r.until(string(kind)+" is told after "+after, func() bool { return n.told(kind, run) })
				n.forget()
			}
			id := r.createRun("greet")
			expect(world.NoticeWork, id, "a birth")
			s, _ := k.get(id)
			s.append(world.Event{Type: world.RunStarted})
			expect(world.NoticeLog, id, "a commit")
			r.deliver(signal(id, "", "a"))
			expect(world.NoticeMail, id, "a signal to an owned run")
			s.queueTask("step_1")
			expect(world.NoticeWork, id, "a task")
			mail := s.mail()
			c := s.next(signalEvent("a"))
			c.Mail, c.Release = rows(mail), &world.Release{WakeAt: world.Now().Add(time.Hour)}
			s.write(c)
			expect(world.NoticeWork, id, "a release with a time")
			r.deliver(signal(id, "", "b"))
			expect(world.NoticeWork, id, "a signal to a sleeping run")
			r.deliver(act(id, "", world.RunCancelled))
			expect(world.NoticeEnded, id, "the end")
		})
	}},
	{"who stopped listening hears nothing", "after stop the function is not called", func(r *rig) {
		var stopped *news
		r.listen(func(n *news) { stopped = n })
		r.listen(func(n *news) {
			stopped.forget()
			id := r.createRun("greet")
			r.until("work is told", func() bool { return n.told(world.NoticeWork, id) })
			if stopped.told(world.NoticeWork, id) {
				r.Fatalf("a listener that stopped was told of run %s", id)
			}
		})
	}},
}
