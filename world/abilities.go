package world

import "time"

// Abilities are the optional interfaces of a store, besides [World]. Nil: the store does not have
// it. The package comment says what each is for. A type that embeds a World has its abilities. Turn
// one off by a method of your own:
//
//	func (w *mine) Abilities() world.Abilities {
//		a := w.World.Abilities()
//		a.Poller = nil
//		return a
//	}
type Abilities struct {
	Poller     Poller
	Timekeeper Timekeeper
	Transactor Transactor
	Reporter   Reporter
	Doctor     Doctor
	Mender     Mender
	Decrypter  Decrypter
}

// Poller is a [Notifier] that knows how reliable its notices currently are.
type Poller interface {
	// Poll returns how often a worker must look for work besides notices and [Claimed.Next]; 0: as
	// often as it is configured. It may change with each notice.
	Poll() time.Duration
}

// Timekeeper is a store that knows its time without a request: it is in this process, or has
// measured the difference between the database's clock and the process's monotonic one.
type Timekeeper interface {
	// Time returns the store's time; zero: unknown.
	Time() time.Time
}
