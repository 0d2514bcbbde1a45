package main

// This file says what is shown of why a run does not move: its sentence is made anew, from what is shown.

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
)

// Why says why a run does not move, or what it does.
type Why struct {
	Kind     stepwell.WhyKind `json:"kind"`
	Text     string           `json:"text" jsonschema:"the answer as a sentence"`
	At       time.Time        `json:"at" jsonschema:"when this was so"`
	Step     string           `json:"step,omitempty" jsonschema:"name of the step or wait"`
	ID       string           `json:"id,omitempty" jsonschema:"its correlation ID, for get_events"`
	Event    string           `json:"event,omitempty" jsonschema:"name of the event that it waits for"`
	Peer     string           `json:"peer,omitempty" jsonschema:"the run that it waits for"`
	PeerIs   string           `json:"peerIs,omitempty"`
	Since    time.Time        `json:"since,omitzero"`
	Until    time.Time        `json:"until,omitzero"`
	Attempt  int              `json:"attempt,omitempty"`
	Deaths   int              `json:"deaths,omitempty" jsonschema:"attempts of the step that ended their process"`
	Error    *Failure         `json:"error,omitempty"`
	Block    *Block           `json:"block,omitempty"`
	Worker   string           `json:"worker,omitempty"`
	By       string           `json:"by,omitempty" jsonschema:"who paused or cancelled it, or holds its workflow"`
	Reason   string           `json:"reason,omitempty" jsonschema:"and why"`
	Workers  int              `json:"workers" jsonschema:"that are alive"`
	Mail     int              `json:"mail,omitempty" jsonschema:"deliveries in its inbox"`
	More     int              `json:"more,omitempty" jsonschema:"further steps and waits that are open"`
	Limit    string           `json:"limit,omitempty" jsonschema:"name of the limit in whose line it stands"`
	Versions []int            `json:"versions,omitempty" jsonschema:"of the workflow, that live workers have"`
	Cancel   string           `json:"cancel,omitempty" jsonschema:"what a cancel would not do"`
	Restart  string           `json:"restart,omitempty" jsonschema:"what a restart would do again"`
	Fork     string           `json:"fork,omitempty" jsonschema:"what a fork would do again"`
}

// Block is why a run cannot go on.
type Block struct {
	Code    string    `json:"code"`
	Message string    `json:"message,omitempty" jsonschema:"hidden unless payloads are shown"`
	Seq     int64     `json:"seq,omitempty" jsonschema:"number of the event where it was found"`
	Step    string    `json:"step,omitempty"`
	Since   time.Time `json:"since"`
	Tries   int       `json:"tries"`
	Build   string    `json:"build,omitempty"`
}

func (v view) why(w *stepwell.Why) Why {
	is := v.plain(*w)
	out := Why{
		Kind: is.Kind, Text: short(is.String()), At: is.At, Step: short(is.Step), ID: is.ID, Event: short(is.Event), Peer: is.Peer, PeerIs: is.PeerIs, Since: is.Since,
		Until: is.Until, Attempt: is.Attempt, Deaths: is.Deaths, Error: v.attempt(is.Error), Worker: short(is.Worker), By: short(is.By), Reason: short(is.Reason),
		Workers: is.Workers, Mail: is.Mail, More: is.More, Versions: some(is.Versions), Cancel: short(is.Cancel), Restart: short(is.Restart), Fork: short(is.Fork),
	}
	if is.Line != nil {
		out.Limit = is.Line.Limit
	}
	if b := is.Block; b != nil {
		out.Block = &Block{Code: b.Code, Message: short(b.Message), Seq: b.Seq, Step: b.Step, Since: b.Since, Tries: b.Tries, Build: short(b.Build)}
	}
	return out
}

// plain is an answer without what is hidden, so that its sentence has none of it either.
func (v view) plain(w stepwell.Why) stepwell.Why {
	if w.Token != "" {
		w.Token = "hidden"
	}
	w.Also = slices.DeleteFunc(slices.Clone(w.Also), func(open string) bool { return strings.Contains(open, "(token ") })
	if v.payloads {
		return w
	}
	w.Match = nil
	if w.Error != nil {
		e := *w.Error
		e.Message = hidden
		w.Error = &e
	}
	if w.Block != nil {
		b := *w.Block
		b.Message = hidden
		w.Block = &b
	}
	if w.Line != nil {
		l := *w.Line
		l.Key = ""
		w.Line = &l
	}
	if w.Kind == stepwell.WhyLimit {
		name, err := strconv.QuotedPrefix(strings.TrimPrefix(w.Waiting, "limit ")) // the key stands behind it
		if w.Waiting = "limit " + name; err != nil {
			w.Waiting = "a limit"
		}
	}
	w.Holds = slices.Clone(w.Holds)
	for i := range w.Holds {
		w.Holds[i].Key = ""
	}
	w.Aside = slices.Clone(w.Aside)
	for i := range w.Aside {
		w.Aside[i].Reason = hidden
	}
	return w
}
