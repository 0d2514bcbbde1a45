package replay

// Panics that fail the run instead of blocking it. Such a panic is to the run what an error is that its function returns: all that its code left behind is
// cancelled, what was registered for its end runs, and then it fails. It comes of the code and the log alone, so it is the same on replay.

// thrown is what workflow code has thrown.
type thrown struct {
	early error       // is the machine's failure, as code that panics asked for something: the panic itself takes its place
	crash *PanicError // the first panic that fails the run; nil: none
}

// Crash is the panic that fails the run; nil: there is none. The workflow's function is not called again behind it: what is called in its place sees to the end.
func (x *Ctx) Crash() *PanicError {
	if _, err := x.m.enter(); err != nil {
		return nil
	}
	return x.m.thrown.crash
}

// crashes reports whether the coroutine's panic fails the run, and begins with that. What ends its goroutine, as runtime.Goexit does, ends that of the
// machine too: it goes no further.
func (c *coro) crashes(err *PanicError) bool {
	m := c.m
	if err.Value == nil || m.failure != nil || m.cfg.Fails == nil || !m.cfg.Fails(err) {
		return false
	}
	if m.thrown.crash == nil {
		m.thrown.crash = err
	}
	m.cancelScope(m.root)
	if c.crashed != nil {
		c.crashed()
	}
	if c.path == "" {
		call(m)
	}
	return true
}

// LocalOf is what the code of a machine keeps beside it: see [Ctx.Local]. It is for whoever feeds the machine.
func LocalOf(m *Machine) any { return m.local }
