// Package wiretest has a server that speaks to the client libraries of two providers as those providers do, written
// from their documentation: whole answers and streams, errors, and the rules by which they refuse a request. What it
// answers is a script.
package wiretest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stepwell/stepwell/agent"
)

// Key is the only key that the server takes.
const Key = "key-of-the-test"

// Answer is what the server says to a request.
type Answer struct {
	Status  int // of an error; 0: it is none
	Headers map[string]string
	Error   string // its type, or its code

	Thinks string   // thinking of Claude before the text
	Pieces []string // of the text: one each in a stream
	Calls  []agent.Call
	Stop   agent.Stop // "": what fits
	In     int64      // tokens
	Out    int64
	Cached int64 // tokens of the input that a cache had

	// Break ends the stream behind the pieces as no provider means to: "" not, "cut" the connection, "eof" the answer,
	// "overloaded" an error as an event.
	Break string
	Hold  <-chan struct{} // waited for behind the pieces
}

// Request is what a client asked.
type Request struct {
	Path   string
	Stream bool
	Header http.Header
	Body   json.RawMessage
	Talk   []string // the conversation: "user: …", "assistant: …", "tool ID: …", "call ID: …"
	Tools  []string
}

// Last is the last thing that was said.
func (r *Request) Last() string { return r.Talk[len(r.Talk)-1] }

// Server is one that listens.
type Server struct {
	*httptest.Server
	script func(n int, r *Request) Answer
	fault  func(format string, args ...any)

	mu  sync.Mutex
	all []*Request
}

// New starts a server that answers its request number n, from 1, by a script.
func New(t testing.TB, script func(n int, r *Request) Answer) *Server {
	s := &Server{script: script, fault: t.Errorf}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// Requests are those that came.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Request(nil), s.all...)
}

// wire is how a provider speaks.
type wire interface {
	parse(h http.Header, body []byte) (*Request, string)
	fail(a *Answer) any
	whole(a *Answer) any
	begin(e *events, a *Answer)
	piece(e *events, text string)
	overloaded(e *events)
	end(e *events, a *Answer)
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var is wire
	switch r.Method + " " + r.URL.Path {
	case "POST /v1/messages":
		is = claude{}
	case "POST /v1/chat/completions":
		is = chat{}
	default:
		s.fault("%s %s: no provider has that", r.Method, r.URL.Path)
		w.WriteHeader(http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	asked, wrong := is.parse(r.Header, body)
	asked.Path, asked.Header, asked.Body = r.URL.Path, r.Header, body
	s.mu.Lock()
	s.all = append(s.all, asked)
	n := len(s.all)
	s.mu.Unlock()
	a := Answer{Status: http.StatusBadRequest, Error: wrong}
	switch {
	case wrong == "key":
		a = Answer{Status: http.StatusUnauthorized, Error: "authentication_error"}
	case wrong != "":
		s.fault("request %d: %s\n%s", n, wrong, body)
	default:
		a = s.script(n, asked)
	}
	for name, value := range a.Headers {
		w.Header().Set(name, value)
	}
	switch {
	case a.Status != 0:
		reply(w, a.Status, is.fail(&a))
	case !asked.Stream:
		if a.Hold != nil {
			<-a.Hold
		}
		if a.Break != "" {
			panic(http.ErrAbortHandler)
		}
		reply(w, http.StatusOK, is.whole(&a))
	default:
		stream(w, r, is, &a)
	}
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func stream(w http.ResponseWriter, r *http.Request, is wire, a *Answer) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	e := &events{w: w}
	is.begin(e, a)
	for _, text := range a.Pieces {
		is.piece(e, text)
	}
	if a.Hold != nil {
		select {
		case <-a.Hold:
		case <-r.Context().Done():
			return
		}
	}
	switch a.Break {
	case "cut":
		panic(http.ErrAbortHandler)
	case "eof":
	case "overloaded":
		is.overloaded(e)
	default:
		is.end(e, a)
	}
}

// events are server-sent ones.
type events struct {
	w http.ResponseWriter
	n int // blocks that Claude has begun
}

// send sends an event, without a name where that is "".
func (e *events) send(name string, data any) {
	b, _ := json.Marshal(data)
	if name != "" {
		fmt.Fprintf(e.w, "event: %s\n", name)
	}
	fmt.Fprintf(e.w, "data: %s\n\n", b)
	e.w.(http.Flusher).Flush()
}

// object is one of JSON.
type object map[string]any

func (a *Answer) text() string {
	s := ""
	for _, p := range a.Pieces {
		s += p
	}
	return s
}

func (a *Answer) stop() agent.Stop {
	switch {
	case a.Stop != "":
		return a.Stop
	case len(a.Calls) > 0:
		return agent.StopTools
	}
	return agent.StopEnd
}
