// Package ui is the web UI of a server: it shows what runs do and why one does not move, and has
// buttons to act on them. It is HTML from the server, with one style sheet and one script. Each
// page works without the script, which only updates it live.
//
// It has no rules of its own: [stepwell.App] decides what is shown, in the words of the API and the
// command line, and what is legal. Its server implements [Host]: access, error texts, and changes
// of runs.
//
// # Implementation
//
// routes (routes.go) is the table of all pages: path, required level, and handler. A handler
// returns a view, which a template draws, or an error, which becomes a page too. Pages are bounded:
// lists have cursors, journals and logs have pages, payloads are folded.
package ui
