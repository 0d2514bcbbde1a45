package analysis

// Each function held against the rules that are about how code is built, rather than what it calls.

func (c *code) judge() {
	variables{c}.globals()
	c.roundTrips()
	definitions{c}.registered()
	records{c}.changed()
	for _, f := range c.order {
		bodies{c}.returns(f)
		if f.role == workflow || f.role == body {
			loose{c}.durations(f)
		}
		switch {
		case f.role == workflow:
			orders{c}.mapOrder(f)
			endings{c}.errors(f)
			endings{c}.leaves(f)
			rounds{c}.loops(f)
			endings{c}.deferred(f)
			bodies{c}.keeps(f)
			bodies{c}.methodBodies(f)
			bodies{c}.sameInLoops(f)
			captures{c}.loops(f)
			loose{c}.asserted(f)
		case f.role == body && f.lit != nil:
			bodies{c}.body(f)
		case f.role == foreign:
			bodies{c}.elsewhere(f)
		}
	}
}
