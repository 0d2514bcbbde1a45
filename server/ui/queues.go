package ui

// This file shows queues of messages, and pauses, resumes and redrives them.

import (
	"net/http"
	"net/url"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/ops"
	"github.com/stepwell/stepwell/world"
)

// queueRow is a queue.
type queueRow struct {
	api.MessageQueue
	Path   string
	Oldest *moment
	Status *status // nil: nothing is to be said
	Paused string  // by whom, and why
	May    bool    // act
}

// messageRow is a message.
type messageRow struct {
	api.Message
	Status  status
	Sent    *moment
	Until   *moment
	Payload *payload
	Error   string
}

// queueView is a queue, and some of its messages.
type queueView struct {
	queueRow
	State  string // of the messages that are shown; "": all
	States []string
	Rows   []messageRow
	Next   string // the address of the next page; "": there is none
}

func queuePath(queue string) string { return Base + "queues/" + url.PathEscape(queue) }

func (v *visit) queueRow(q *world.QueueStats) queueRow {
	row := queueRow{MessageQueue: ops.QueueOf(q), Path: queuePath(q.Name), Oldest: v.moment(q.Oldest), May: v.may(Operator)}
	switch p := q.Paused; {
	case p != nil:
		row.Status = &status{"paused", warm, "‖"}
		if row.Paused = "by " + visible(p.By); p.By == "" {
			row.Paused = ""
		}
		if p.Reason != "" {
			row.Paused += ": " + human.Cut(visible(p.Reason), 300)
		}
	case row.Counts.Dead > 0:
		row.Status = &status{"dead letters", bad, "!"}
	}
	return row
}

func queues(u *UI, v *visit) error {
	k := u.world.Messages()
	all, err := k.Queues(v.Context())
	if err != nil {
		return err
	}
	rows := make([]queueRow, len(all))
	for i := range all {
		rows[i] = v.queueRow(&all[i])
	}
	v.draw(http.StatusOK, "queues", "Queues", rows)
	return nil
}

// messageStates are what messages can be, by what pages show of it.
var messageStates = map[world.MessageState]status{
	world.MessageReady: {"ready", good, "○"}, world.MessageDelayed: {"delayed", warm, "○"}, world.MessageOut: {"out", busy, "●"},
	world.MessageParked: {"parked", quiet, "‖"}, world.MessageDead: {"dead", bad, "✗"},
}

// messagesPage is how many messages a page shows.
const messagesPage = 50

func oneQueue(u *UI, v *visit) error {
	k := u.world.Messages()
	name, query := v.PathValue("queue"), v.URL.Query()
	if err := world.CheckQueueName(name); err != nil {
		return err
	}
	all, err := k.Queues(v.Context(), name)
	if err == nil && len(all) == 0 {
		err = world.NoQueue(name)
	}
	if err != nil {
		return err
	}
	p := &queueView{queueRow: v.queueRow(&all[0]), State: query.Get("state"), States: []string{"ready", "delayed", "out", "parked", "dead"}}
	if !query.Has("state") && p.Counts.Dead > 0 {
		p.State = string(world.MessageDead)
	}
	var page world.MessagePage
	page.Messages, page.Cursor, err = withLast(query.Get("cursor"), messagesPage, func(cursor string, limit int) ([]world.Message, string, error) {
		page, err := k.PeekMessages(v.Context(), world.PeekQuery{Queue: name, State: world.MessageState(p.State), Cursor: cursor, Limit: limit})
		return page.Messages, page.Cursor, err
	})
	if err != nil {
		return err
	}
	for i, m := range ops.MessagesOf(page.Messages) {
		row := messageRow{
			Message: m, Status: messageStates[m.State], Sent: v.moment(m.SentAt), Payload: payloadOf(m.Payload, someBytes, ""), Error: human.Cut(visible(m.Error), 300),
		}
		switch {
		case m.Sealed != "":
			row.Payload = encryptedPayload(m.Sealed, page.Messages[i].Payload)
		case m.Damage != "":
			row.Error = human.Cut(visible(m.Damage), 300)
		}
		if m.State == world.MessageDelayed || m.State == world.MessageOut {
			row.Until = v.moment(m.Until)
		}
		row.Group = human.Cut(visible(m.Group), 100)
		p.Rows = append(p.Rows, row)
	}
	if page.Cursor != "" {
		p.Next = p.Path + "?" + url.Values{"state": {p.State}, "cursor": {page.Cursor}}.Encode()
	}
	v.draw(http.StatusOK, "queue", p.Name, p)
	return nil
}

func queueAct(u *UI, v *visit) (err error) {
	name, act := v.PathValue("queue"), v.PathValue("act")
	switch act {
	case "pause":
		_, err = api.Do(v.Context(), u.api, api.PauseQueueOp, api.PauseQueue{Queue: name, Reason: v.Form.Get("reason")})
	case "resume":
		_, err = api.Do(v.Context(), u.api, api.ResumeQueueOp, api.ResumeQueue{Queue: name})
	case "redrive":
		in := api.RedriveQueue{Queue: name}
		for _, id := range v.Form["message"] {
			if id != "" {
				in.IDs = append(in.IDs, id)
			}
		}
		_, err = api.Do(v.Context(), u.api, api.RedriveQueueOp, in)
	default:
		return errNoPage
	}
	if err != nil {
		return err
	}
	v.redirect(queuePath(name) + "?did=queue-" + act)
	return nil
}
