package ui

// This file tells pages that they are out of date, over server-sent events: they load themselves anew and take over what has changed.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/stepwell/stepwell/world"
)

// live is one open page.
type live struct {
	v  *visit
	rc *http.ResponseController
}

func (v *visit) live() *live { return &live{v, http.NewResponseController(v.w)} }

// follow begins the answer with its first message, and cuts the connection where it breaks off.
func (l *live) follow(watch func() error) error {
	err := watch()
	if err != nil && l.v.begun {
		if errors.Is(err, os.ErrDeadlineExceeded) || l.v.Context().Err() != nil {
			return nil
		}
		panic(http.ErrAbortHandler) // the page comes again
	}
	return err
}

// say sends one message; data is one JSON string.
func (l *live) say(event, id, data string) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	msg := fmt.Appendf(nil, "event: %s\ndata: %s\n\n", event, text)
	if id != "" {
		msg = append([]byte("id: "+id+"\n"), msg...)
	}
	return l.send(msg)
}

func (l *live) keepalive() error { return l.send([]byte(": \n\n")) }

func (l *live) send(b []byte) error {
	if !l.v.begun {
		h := l.v.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("X-Accel-Buffering", "no") // proxies would keep it until it is large
		l.v.begun = true
		l.v.w.WriteHeader(http.StatusOK)
	}
	_, write := l.v.u.host.Patience()
	_ = l.rc.SetWriteDeadline(time.Now().Add(write))
	if _, err := l.v.w.Write(b); err != nil {
		return err
	}
	return l.rc.Flush()
}

// runLive tells when a run's log has grown behind what the page shows, and when the run is over.
func (u *UI) runLive(v *visit) error {
	info, err := u.find(v)
	if err != nil {
		return err
	}
	seq, _ := strconv.ParseInt(v.URL.Query().Get("from"), 10, 64)
	if last, err := strconv.ParseInt(v.Header.Get("Last-Event-ID"), 10, 64); err == nil {
		seq = last
	}
	seq = max(seq, 0)
	l := v.live()
	said := time.Time{}
	return l.follow(func() error {
		return u.host.Watch(v.Context(), info.ID, func() (bool, error) { return u.newsOf(v, l, info.ID, &seq, &said) }, l.keepalive)
	})
}

// newsOf looks at a run once.
func (u *UI) newsOf(v *visit, l *live, run string, seq *int64, said *time.Time) (done bool, err error) {
	info, err := u.app.Get(v.Context(), run) // before the log is read: what ended it is in the log then
	if err != nil {
		return false, err
	}
	grown := false
	for {
		page, err := u.world.Events(v.Context(), run, world.EventQuery{Cursor: world.Cursor(*seq), Limit: 100})
		if err != nil {
			return false, err
		}
		if n := len(page.Events); n > 0 {
			grown = true
			*seq = max(*seq, page.Events[n-1].Seq)
		}
		if !page.More || len(page.Events) == 0 {
			break
		}
	}
	if !grown && !info.Status.Terminal() {
		if grown, err = progressed(v.Context(), u.world, run, said); err != nil {
			return false, err
		}
	}
	id := strconv.FormatInt(*seq, 10)
	switch {
	case info.Status.Terminal():
		return true, l.say("end", id, string(info.Status))
	case grown:
		return false, l.say("change", id, "")
	case !v.begun:
		return false, l.keepalive()
	}
	return false, nil
}

// progressed reports whether a step of a run has said how far it is since the last look, of which said keeps when that was.
func progressed(ctx context.Context, w world.Streams, run string, said *time.Time) (bool, error) {
	rows, err := w.StreamsOf(ctx, run)
	if err != nil {
		return false, err
	}
	before := *said
	*said = time.Unix(0, 0)
	for i := range rows {
		if world.ProgressOf(rows[i].Name) != "" && rows[i].At.After(*said) {
			*said = rows[i].At
		}
	}
	return !before.IsZero() && said.After(before), nil // the first look is of what the page shows
}
