package server

// This file writes answers.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// writer gives a client so long to read, from when the answer begins: what comes before is the server's time.
type writer struct {
	http.ResponseWriter
	timeout time.Duration
	begun   bool

	room    *room // nil: answers are not counted
	who     string
	ctx     context.Context // of the request
	portion *portion        // nil: it has none yet
}

func newWriter(to http.ResponseWriter, timeout time.Duration) *writer {
	w := &writer{ResponseWriter: to, timeout: timeout}
	w.deadline(time.Time{}) // the connection's last answer left its own
	return w
}

func (w *writer) deadline(t time.Time) {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(t) // not every ResponseWriter has deadlines
}

// WriteHeader begins the answer.
func (w *writer) WriteHeader(status int) {
	if !w.begun {
		w.begun = true
		w.deadline(time.Now().Add(w.timeout))
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write writes a piece of the answer.
func (w *writer) Write(b []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap is for [http.ResponseController].
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// answer writes a value as JSON, payloads as they are in the log: <, > and & are not escaped.
func answer(w http.ResponseWriter, status int, v any) error {
	text, err := encoded(v)
	if err != nil {
		return err
	}
	return answerText(w, status, text)
}

// encoded is a value as it is answered.
func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("write the answer: %w", err)
	}
	return b.Bytes(), nil
}

// answerText writes JSON.
func answerText(w http.ResponseWriter, status int, text []byte) error {
	if to, ok := w.(*writer); ok {
		if err := to.crowd(int64(len(text))); err != nil { // what it was put together of is not needed any more
			return err
		}
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write(text) // a client that is gone is not told
	return nil
}

// accepted answers that something is durable and will be seen to.
type accepted struct {
	Accepted bool `json:"accepted"`
}

func accept(w http.ResponseWriter) error { return answer(w, http.StatusAccepted, accepted{true}) }
