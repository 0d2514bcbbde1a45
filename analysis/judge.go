package analysis

// Each function held against the rules that are about how code is built, rather than what it calls.

func (c *code) judge() {
	c.globals()
	c.roundTrips()
	c.registered()
	for _, f := range c.order {
		switch {
		case f.role == workflow:
			c.mapOrder(f)
			c.errors(f)
			c.leaves(f)
			c.loops(f)
			c.deferred(f)
			c.keeps(f)
		case f.role == body && f.lit != nil:
			c.body(f)
		case f.role == foreign:
			c.elsewhere(f)
		}
	}
}
