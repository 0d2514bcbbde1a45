package world

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// WebhookToken is what the token of a webhook begins with, so that it can be told from other hooks': a webhook takes requests, which may have to be
// signed, and nothing else.
const WebhookToken = "wh_"

// WebhookAnswers is what the names of the streams begin with that hold answers to webhooks' requests.
const WebhookAnswers = "webhook/"

// CheckToken refuses tokens of hooks that are not 1 to 512 bytes of printable UTF-8. The error does not tell the token.
func CheckToken(token string) error {
	return checkText("hook token", token, MaxKey, func(token string) string { return fmt.Sprintf("%q", ShownToken(token)) })
}

// ShownToken is what texts show of a hook's token: errors are recorded, and whoever reads a token may send. It is the first four characters and an
// ellipsis; of a token of eight characters or less, the ellipsis alone; of none, nothing.
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

// ForkToken makes the token that a fork's hook has in place of one that the code chose, with letters that nobody can guess; ten of them count, and all
// where the token is too long to stand before them.
func ForkToken(token, letters string) string {
	if len(token)+1+forkMark > MaxKey {
		return letters
	}
	return token + "~" + letters[:forkMark]
}

// AskedToken is the token that the code asked for, where a fork's hook has a token of [ForkToken]; ok is false where that was too long to tell.
func AskedToken(token string) (asked string, ok bool) {
	i := strings.LastIndexByte(token, '~')
	if i < 0 || len(token)-i-1 != forkMark {
		return "", false
	}
	return token[:i], true
}

// Unfork puts the token that was asked for in the place of those that forks' hooks have for it.
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

// AskedIn is the token that the code of a run asks for, where its hook, of a token that the code chose, has another one or may have: peer is the hook's, the
// run that it was forked from. A token that names that run, as approve-RUN does, names the run itself where its own code asks.
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
