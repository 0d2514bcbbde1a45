package cli

// This file tells whoever waits at a terminal how far long work is.

import (
	"fmt"
	"time"

	"github.com/stepwell/stepwell/internal/human"
)

// progressPause is the time between two words about long work.
const progressPause = 2 * time.Second

// progress counts things that are done one after the other. It writes to standard error, and only where that is a terminal.
type progress struct {
	o    *output
	what string // was done to them: "exported"
	noun string
	n    int
	next time.Time
}

func (o *output) progress(what, noun string) *progress {
	return &progress{o: o, what: what, noun: noun, next: o.now().Add(progressPause)}
}

// step counts one more.
func (p *progress) step() {
	p.n++
	if now := p.o.now(); p.o.watched && !now.Before(p.next) {
		fmt.Fprintf(p.o.stderr, "%s so far: %s\n", p.what, human.Count(p.n, p.noun))
		p.next = now.Add(progressPause)
	}
}

// end says how many there were, unless one line says it already.
func (p *progress) end() {
	if p.o.watched && p.n > 1 {
		fmt.Fprintf(p.o.stderr, "%s: %s\n", p.what, human.Count(p.n, p.noun))
	}
}

// still says at a terminal that something is going on, where it has not been stopped for a while.
func (o *output) still(doing string) (stop func()) {
	if !o.watched {
		return func() {}
	}
	t := time.AfterFunc(progressPause, func() { fmt.Fprintf(o.stderr, "still %s\n", doing) })
	return func() { t.Stop() }
}
