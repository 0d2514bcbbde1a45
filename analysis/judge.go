package analysis

// Each function held against the rules that are about how code is built, rather than what it calls.

func (c *code) judge() {
	variables{c}.globals()
	c.roundTrips()
	definitions{c}.registered()
	for _, f := range c.order {
		switch {
		case f.role == workflow:
			orders{c}.mapOrder(f)
			endings{c}.errors(f)
			endings{c}.leaves(f)
			rounds{c}.loops(f)
			endings{c}.deferred(f)
			bodies{c}.keeps(f)
		case f.role == body && f.lit != nil:
			bodies{c}.body(f)
		case f.role == foreign:
			bodies{c}.elsewhere(f)
		}
	}
}
