package server

// This file has the doors of queues of messages: what a queue is, and what operators do to one.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/stepwell/stepwell/acting"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/world"
)

const queuePath = "/v1/queues/{queue}"

func queueRoutes() []route {
	act := func(name, summary, body, schema, about string, handle func(*Server, http.ResponseWriter, *request) error) route {
		return route{method: "POST", path: queuePath + "/" + name, scope: Operator, audit: true, handle: handle, op: operation{
			id: name + "Queue", summary: summary, body: body, optional: true, responses: []response{{200, schema, "", about}},
		}}
	}
	one := []response{{200, "MessageQueue", "", "The queue as it is now."}}
	return []route{
		{method: "GET", path: "/v1/queues", scope: Viewer, handle: listQueues, op: operation{
			id: "listQueues", summary: "List the queues, and how many messages each has", responses: []response{{200, "MessageQueues", "", "The queues, by name."}},
		}},
		{method: "GET", path: queuePath, scope: Viewer, handle: getQueue, op: operation{id: "getQueue", summary: "Show a queue, and how many messages it has", responses: one}},
		{method: "PUT", path: queuePath, scope: Operator, audit: true, handle: declareQueue, op: operation{
			id: "declareQueue", summary: "Create a queue, or change its settings", body: "DeclareQueue", optional: true, responses: one,
		}},
		{method: "DELETE", path: queuePath, scope: Operator, audit: true, handle: dropQueue, op: operation{
			id: "dropQueue", summary: "Delete a queue that has no messages", responses: []response{{204, "", "", "It is deleted."}},
		}},
		act("pause", "Stop receives from a queue until you resume it", "Reason", "MessageQueue", "The queue as it is now.", pauseQueue),
		act("resume", "Allow receives from a paused queue again", "Empty", "MessageQueue", "The queue as it is now.", resumeQueue),
		act("purge", "Delete the messages of a queue, those that are out too, or its dead letters alone", "Purge", "QueueChanged", "How many there were.", purgeQueue),
		act("redrive", "Turn dead letters back into messages, all or some", "Redrive", "QueueChanged", "How many there were.", redriveQueue),
	}
}

// queueOf is the queue that a path names, and where it is kept.
func queueOf(s *Server, r *request) (world.Messenger, string, error) {
	name := r.PathValue("queue")
	return s.world.Messages(), name, world.CheckQueueName(name)
}

// undeclared says what to do about a queue that is not there.
func undeclared(err error, name string) error {
	if errors.Is(err, world.ErrNotFound) {
		return fmt.Errorf("%w: PUT /v1/queues/%s", err, url.PathEscape(name))
	}
	return err
}

// queueList is all queues.
type queueList struct {
	Queues []operate.Queue `json:"queues"`
}

func listQueues(s *Server, w http.ResponseWriter, r *request) error {
	k := s.world.Messages()
	all, err := k.Queues(r.Context())
	if err != nil {
		return err
	}
	list := queueList{make([]operate.Queue, len(all))}
	for i := range all {
		list.Queues[i] = operate.QueueOf(&all[i])
	}
	return answer(w, http.StatusOK, list)
}

func getQueue(s *Server, w http.ResponseWriter, r *request) error {
	k, name, err := queueOf(s, r)
	if err != nil {
		return err
	}
	return answerQueue(w, r, k, name)
}

// answerQueue answers with a queue as it is.
func answerQueue(w http.ResponseWriter, r *request, k world.Messenger, name string) error {
	all, err := k.Queues(r.Context(), name)
	if err == nil && len(all) == 0 {
		err = world.NoQueue(name)
	}
	if err != nil {
		return undeclared(err, name)
	}
	return answer(w, http.StatusOK, operate.QueueOf(&all[0]))
}

// declaration is the body of a queue that is declared.
type declaration struct {
	Visibility  duration `json:"visibility"`
	MaxReceives int      `json:"maxReceives"`

	Limits []queueLimit `json:"limits"`
}

// queueLimit is a limit of a queue that is declared.
type queueLimit struct {
	Name     string   `json:"name"`
	Number   int      `json:"number"`
	Path     string   `json:"path"`
	Computed bool     `json:"computed"`
	Per      duration `json:"per"`
	Burst    int      `json:"burst"`

	Weights map[string]int `json:"weights"`
}

func (b *declaration) world(name string) world.MessageQueue {
	q := world.MessageQueue{Name: name, Visibility: time.Duration(b.Visibility), MaxReceives: b.MaxReceives}
	if b.Limits != nil {
		q.Limits = []world.SaidLimit{}
	}
	for _, l := range b.Limits {
		q.Limits = append(q.Limits, world.SaidLimit{Name: cmp.Or(l.Name, name), Number: l.Number, Path: l.Path, Computed: l.Computed, Per: time.Duration(l.Per), Burst: l.Burst, Weights: l.Weights})
	}
	return q
}

func declareQueue(s *Server, w http.ResponseWriter, r *request) error {
	var b declaration
	if err := r.decode(&b); err != nil {
		return err
	}
	k, name, err := queueOf(s, r)
	if err != nil {
		return err
	}
	if err := k.DeclareQueue(r.Context(), b.world(name)); err != nil {
		return err
	}
	return answerQueue(w, r, k, name)
}

func dropQueue(s *Server, w http.ResponseWriter, r *request) error {
	k, name, err := queueOf(s, r)
	if err != nil {
		return err
	}
	if err := k.DropQueue(r.Context(), name); err != nil {
		return undeclared(err, name)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func pauseQueue(s *Server, w http.ResponseWriter, r *request) error {
	var b reason
	if err := r.decode(&b); err != nil {
		return err
	}
	r.because(b.Reason)
	return setPause(s, w, r, &world.QueuePause{By: acting.Who(r.Context()), Reason: b.Reason, Since: world.Now()})
}

func resumeQueue(s *Server, w http.ResponseWriter, r *request) error {
	if err := r.decode(&struct{}{}); err != nil {
		return err
	}
	return setPause(s, w, r, nil)
}

func setPause(s *Server, w http.ResponseWriter, r *request, pause *world.QueuePause) error {
	k, name, err := queueOf(s, r)
	if err != nil {
		return err
	}
	if err := k.PauseQueue(r.Context(), name, pause); err != nil {
		return undeclared(err, name)
	}
	return answerQueue(w, r, k, name)
}

// queueChanged says how many messages an act has changed.
type queueChanged struct {
	Messages int  `json:"messages"`
	More     bool `json:"more"` // there are others: ask again
}

// purge is the body of a purge.
type purge struct {
	Dead bool `json:"dead"`
}

func purgeQueue(s *Server, w http.ResponseWriter, r *request) error {
	var b purge
	if err := r.decode(&b); err != nil {
		return err
	}
	return changeQueue(s, w, r, func(ctx context.Context, k world.Messenger, queue string) (int, bool, error) {
		return k.PurgeMessages(ctx, queue, b.Dead)
	})
}

// redrive is the body of a redrive.
type redrive struct {
	IDs []string `json:"ids"` // nil: all
}

func redriveQueue(s *Server, w http.ResponseWriter, r *request) error {
	var b redrive
	if err := r.decode(&b); err != nil {
		return err
	}
	if b.IDs != nil && (len(b.IDs) == 0 || len(b.IDs) > world.MaxBatch) {
		return invalid("%d ids: want 1 to %d, or none for all dead letters", len(b.IDs), world.MaxBatch)
	}
	for _, id := range b.IDs {
		if _, ok := world.MessageNumber(id); !ok {
			return invalid("%.60q is not the ID of a message", id)
		}
	}
	return changeQueue(s, w, r, func(ctx context.Context, k world.Messenger, queue string) (int, bool, error) {
		return k.RedriveMessages(ctx, queue, b.IDs...)
	})
}

// changeQueue changes messages, piece by piece, as long as a request may take.
func changeQueue(s *Server, w http.ResponseWriter, r *request, some func(ctx context.Context, k world.Messenger, queue string) (n int, more bool, err error)) error {
	k, name, err := queueOf(s, r)
	if err != nil {
		return err
	}
	var all queueChanged
	for end := time.Now().Add(s.bulkTime); ; {
		n, more, err := some(r.Context(), k, name)
		if err != nil {
			return undeclared(err, name)
		}
		all.Messages, all.More = all.Messages+n, more
		if !more || time.Now().After(end) || s.drains() {
			return answer(w, http.StatusOK, all)
		}
	}
}
