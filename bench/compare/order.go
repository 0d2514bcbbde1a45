package compare

// This file has what parent and child say to each other. A measurement is a process of its own: what it holds in memory and uses is that
// engine's alone. The parent reads the counters, at the two moments that the child names, and so measures nothing of its own doing.

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/stepwell/stepwell/bench/engine"
	"github.com/stepwell/stepwell/bench/measure"
	"github.com/stepwell/stepwell/bench/work"
)

// order is what a child is told, as JSON on its command line.
type order struct {
	Engine  string        `json:"engine"` // "floor": see package floor
	Store   engine.Store  `json:"store"`
	Point   work.Point    `json:"point"`
	Limit   time.Duration `json:"limit"`             // after which it gives up
	Victim  int           `json:"victim,omitempty"`  // it is to begin so many runs, and to wait for its death
	Pgbench string        `json:"pgbench,omitempty"` // the program
}

// message is what a child says, a line each on its third descriptor. Each but the last is answered with a line.
type message struct {
	Mark   string          `json:"mark,omitempty"` // begin, end, ready
	Result *measure.Result `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
}

const (
	markBegin = "begin"
	markEnd   = "end"
	markReady = "ready" // of a victim
)

// line is a child's side of the talk.
type line struct {
	out     *json.Encoder
	answers *bufio.Reader
}

func newLine() *line {
	return &line{json.NewEncoder(os.NewFile(3, "messages")), bufio.NewReader(os.NewFile(4, "answers"))}
}

// mark tells the parent of a moment, and waits until it has read the counters.
func (l *line) mark(what string) error {
	if err := l.out.Encode(message{Mark: what}); err != nil {
		return err
	}
	if _, err := l.answers.ReadString('\n'); err != nil {
		return fmt.Errorf("the parent does not answer: %w", err)
	}
	return nil
}

// listen reads a child's messages to the end. For each mark it calls marked, and lets the child go on.
func listen(messages io.Reader, answers io.Writer, marked func(what string) error) (*measure.Result, error) {
	in := json.NewDecoder(messages)
	var result *measure.Result
	for {
		var m message
		switch err := in.Decode(&m); {
		case errors.Is(err, io.EOF) && result != nil:
			return result, nil
		case err != nil:
			return nil, fmt.Errorf("the child ended without a result: %w", err)
		case m.Error == work.ErrNotOffered.Error():
			return nil, work.ErrNotOffered
		case m.Error != "":
			return nil, errors.New(m.Error)
		case m.Result != nil:
			result = m.Result
			continue
		}
		if err := marked(m.Mark); err != nil {
			return nil, err
		}
		if _, err := io.WriteString(answers, "\n"); err != nil {
			return nil, err
		}
	}
}
