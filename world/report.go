package world

import "log/slog"

// Reporter is a [World] that tells operators of storage trouble that no call returns: a reader that
// prevents a checkpoint, a failed disk sync.
type Reporter interface {
	// Report writes a line to log when trouble begins and when it ends, until stop is called.
	Report(log *slog.Logger) (stop func())
}
