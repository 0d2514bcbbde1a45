// Package ui is the web page of a server: what runs do, why one does not move, and buttons to do something about it. It is HTML made on the
// server, with one style sheet and one script of its own; each page works without the script, which only makes it live.
//
// It has no rules: what is shown, [stepwell.App] says, in the same words as the API and the command line, and what is legal, the App decides. What it needs
// of the server around it is [Host]: who may come in, what an error is called, and how a run's news is heard.
//
// # How it is made
//
// routes (routes.go) is the table of all pages: path, who may see it, and its handler. A handler returns a view, which a template draws, or an error,
// which becomes a page too. What is drawn is bounded: lists have cursors, journals and logs have pages, payloads are folded.
package ui
