// Package acting says on whose behalf a program acts, for programs that carry out what others wish, as servers do.
package acting

import "context"

type key struct{}

// For returns a context with which an App acts for somebody: the log names who paused, resumed, woke and cancelled a run,
// and who forked it. Without it, and with an empty name, that is the App: see Name of stepwell.Config.
func For(ctx context.Context, who string) context.Context {
	return context.WithValue(ctx, key{}, who)
}

// Who is for whom one acts with a context; "": nobody was named.
func Who(ctx context.Context) string {
	who, _ := ctx.Value(key{}).(string)
	return who
}
