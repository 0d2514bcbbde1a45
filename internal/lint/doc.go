// Package lint holds the house rules as tests: which package may import which, what names mean nothing, what tests may not
// do, what needs a comment. An exception stands on the line that needs it, as a comment //lint:allow with a reason.
package lint
