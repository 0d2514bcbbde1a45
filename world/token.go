package world

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// WebhookToken begins the token of a webhook. A webhook takes only HTTP requests, which may have to
// be signed.
const WebhookToken = "wh_"

// WebhookAnswers is what the names of the streams begin with that hold answers to webhooks' requests.
const WebhookAnswers = "webhook/"

// CheckToken returns [ErrInvalid] unless a hook's token has 1 to 512 bytes of printable UTF-8. The
// error does not show the token.
func CheckToken(token string) error {
	return checkText("hook token", token, MaxKey, func(token string) string { return fmt.Sprintf("%q", ShownToken(token)) })
}

// ShownToken returns how messages show a hook's token, because errors are recorded, and anyone with
// a token may send: the first four characters and an ellipsis. Of a token of at most eight
// characters it is the ellipsis alone, and of "" nothing.
func ShownToken(token string) string {
	if token == "" {
		return ""
	}
	if utf8.RuneCountInString(token) <= 8 {
		return "…"
	}
	n := 0
	for range 4 {
		_, size := utf8.DecodeRuneInString(token[n:])
		n += size
	}
	return token[:n] + "…"
}

// This file says what a hook's token is in a fork. The source may hold the token that the code chose, so the fork's hook has another, which tells
// the one that was asked for: code that asks for that again, in a later segment too, binds to the hook.

// forkMark is what a fork's token has behind the token that was asked for: ~ and this many letters.
const forkMark = 10

// ForkToken returns the token of a fork's hook, from the token that the code chose and unguessable
// letters: ten of the letters count, or all if the token is too long to precede them.
func ForkToken(token, letters string) string {
	if len(token)+1+forkMark > MaxKey {
		return letters
	}
	return token + "~" + letters[:forkMark]
}

// AskedToken returns the token that the code chose, from a [ForkToken]. ok is false if it was too
// long.
func AskedToken(token string) (asked string, ok bool) {
	i := strings.LastIndexByte(token, '~')
	if i < 0 || len(token)-i-1 != forkMark {
		return "", false
	}
	return token[:i], true
}

// Unfork replaces fork tokens in text by the token that the code chose.
func Unfork(text []byte, asked string) []byte {
	mark := []byte(asked + "~")
	var out []byte
	for {
		at := bytes.Index(text, mark)
		if at < 0 || len(text) < at+len(mark)+forkMark {
			break
		}
		out = append(append(out, text[:at]...), asked...)
		text = text[at+len(mark)+forkMark:]
	}
	if out == nil {
		return text
	}
	return append(out, text...)
}

// AskedIn returns the token that a run's code asks for, if its hook, whose token the code chose,
// may have another one: peer is the hook's Peer, the run that it was forked from. A token that
// contains that run's ID, as approve-RUN, contains the run's own ID in its own code.
func AskedIn(run, peer, token string) (asked string, ok bool) {
	if peer == "" {
		return "", false
	}
	if asked, ok = AskedToken(token); !ok {
		asked, ok = token, strings.Contains(token, peer) // it is the source's, and was free
	}
	if !ok {
		return "", false
	}
	return strings.ReplaceAll(asked, peer, run), true
}
