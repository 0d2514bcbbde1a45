// Package acting names the person for whom a program acts. Servers use it for their callers.
package acting

import "context"

type key struct{}

// For returns a context with which an App acts for somebody. The log then names who paused,
// resumed, woke, cancelled or forked a run. Without it, or with an empty name, the log names the
// App: see Name of stepwell.Config.
func For(ctx context.Context, who string) context.Context {
	return context.WithValue(ctx, key{}, who)
}

// Who returns the name that [For] gave the context; "": none.
func Who(ctx context.Context) string {
	who, _ := ctx.Value(key{}).(string)
	return who
}
