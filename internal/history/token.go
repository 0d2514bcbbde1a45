package history

// This file gives the hooks of a fork their tokens, and tells its code of them.
//
//  1. A hook keeps its token where that is free and the source over: see [Cut].KeepToken. Else it has another; Peer tells replay that it is not what the
//     code asks for, or would be given.
//  2. A token that nobody chose is in the log wherever the code put it, and it is like nothing else: in the fork the new one stands in its place, in
//     results and names too. So the code, which is given the fork's own, finds in the log what it asks for.
//  3. A token that names the source, as approve-RUN does, names the fork where its code asks: the fork's is made of that, or keeps the source's name, and Peer
//     tells which that is.
//  4. A chosen token may stand anywhere for another reason. What the log holds of it stands; strict replay takes the fork's own for the one that was
//     asked for. Attributes with it are left out: the code sets them anew, to its own.

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/stepwell/stepwell/world"
)

// retoken decides which tokens the fork's hooks have, and puts those that nobody chose into what the cut takes.
func (f *cutter) retoken() {
	f.tokens = map[string]string{}
	var pairs, carried []string
	if next := f.h.Events[f.newest-1].Next; next != nil {
		carried = next.Hooks
	}
	for i := range f.h.Events[:f.At] {
		e := &f.h.Events[i]
		if e.Type != world.HookCreated || e.Seq < f.newest && !slices.Contains(carried, e.ID) || f.state.Hook(e.ID) != nil && f.KeepToken != nil && f.KeepToken(e.Token) {
			continue
		}
		token := f.another(e)
		f.tokens[e.ID] = token
		if e.Chosen {
			f.chosen = append(f.chosen, e.Token)
		} else {
			pairs = append(pairs, e.Token, token)
		}
	}
	if pairs == nil {
		return
	}
	h, r := *f.h.History, strings.NewReplacer(pairs...)
	h.Events = make([]world.Event, len(f.h.Events))
	for i, e := range f.h.Events {
		e.Name, e.Payload, e.Match = r.Replace(e.Name), replaced(r, e.Payload), replaced(r, e.Match)
		if e.Next != nil {
			next := *e.Next
			next.Attributes = maps.Clone(next.Attributes)
			for name, v := range next.Attributes {
				next.Attributes[name] = replaced(r, v)
			}
			e.Next = &next
		}
		h.Events[i] = e
	}
	f.h.History = &h
}

func replaced(r *strings.Replacer, b json.RawMessage) json.RawMessage {
	if b == nil {
		return nil
	}
	return json.RawMessage(r.Replace(string(b)))
}

// another is a new token for a hook of the source.
func (f *cutter) another(e *world.Event) string {
	asked, letters := e.Token, strings.ToLower(rand.Text())
	if e.Peer != "" { // the source is a fork itself
		asked, _ = world.AskedIn(f.h.Run, e.Peer, e.Token)
	}
	asked = strings.ReplaceAll(asked, f.h.Run, f.Run)
	switch {
	case e.Chosen && asked != "":
		return world.ForkToken(asked, letters)
	case strings.HasPrefix(e.Token, world.WebhookToken):
		return world.WebhookToken + letters
	}
	return letters
}

// of is the run that a chosen token names, and that replay has to read as the fork; else what the source's hook says of it.
func (f *cutter) of(e *world.Event) string {
	if names := e.Peer != "" && strings.Contains(e.Token, e.Peer); !names && strings.Contains(e.Token, f.h.Run) {
		return f.h.Run
	}
	return e.Peer
}

// holds reports whether a value has a chosen token in it that is another in the fork.
func (f *cutter) holds(value []byte) bool {
	for _, token := range f.chosen {
		if bytes.Contains(value, []byte(token)) {
			return true
		}
	}
	return false
}
