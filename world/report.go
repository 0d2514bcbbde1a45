package world

import "log/slog"

// Reporter is a [World] that tells operators of trouble with its storage which no call's answer tells: a reader that keeps a file from being tidied up, a disk
// that failed to sync.
type Reporter interface {
	// Report makes log get a line at the beginning of a trouble and at its end, until stop is called.
	Report(log *slog.Logger) (stop func())
}
