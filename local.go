package stepwell

// What one evaluation of a run's code keeps beside the machine.

// local is what is kept; each evaluation has its own.
type local struct {
	list     []undo              // undo functions, in the order in which they were registered; nil: there never were any
	answered map[string]struct{} // requests of webhooks that were answered, by where their answers go
}

// localOf is nil on a foreign goroutine: the run is blocked for that.
func localOf(ctx Context) *local {
	at := ctx.x.Local()
	if at == nil {
		return nil
	}
	l, _ := (*at).(*local)
	if l == nil {
		l = &local{}
		*at = l
	}
	return l
}
