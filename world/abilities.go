package world

// This file finds what a world can do beside [World], through whatever is wrapped around it.

// Abilities are the optional interfaces of a store, besides [World]. Nil: the store does not have
// it. The package comment says what each is for.
type Abilities struct {
	Notifier       Notifier
	Poller         Poller
	Timekeeper     Timekeeper
	Transactor     Transactor
	Reporter       Reporter
	TaskReader     TaskReader
	ReadyReader    ReadyReader
	Holder         Holder
	Doctor         Doctor
	Mender         Mender
	KeyBook        KeyBook
	Definer        Definer
	MetricsKeeper  MetricsKeeper
	MessageKeeper  MessageKeeper
	TopicKeeper    TopicKeeper
	ScheduleKeeper ScheduleKeeper
	StartKeeper    StartKeeper
	LimitKeeper    LimitKeeper
	Decrypter      Decrypter
	ApartKeeper    ApartKeeper
}

// Wrapper is a [World] that states its own abilities, such as one that wraps another store: it
// passes on the abilities of the other and replaces those that it changes. A type that embeds a
// Wrapper is a Wrapper, and so states its own changes.
//
//	func (w *mine) Abilities() world.Abilities {
//		a := world.AbilitiesOf(w.World)
//		a.Poller = nil
//		return a
//	}
type Wrapper interface {
	// Abilities returns all its abilities; its other methods are not examined. They do not change
	// while it is open.
	Abilities() Abilities
}

// AbilitiesOf returns the abilities of a store, through all wrappers. A store that is not a
// [Wrapper] has the abilities whose methods it has. Call it once after opening, and keep the
// result.
func AbilitiesOf(w World) (a Abilities) {
	if by, ok := w.(Wrapper); ok {
		return by.Abilities()
	}
	a.Notifier, _ = w.(Notifier)
	a.Poller, _ = w.(Poller)
	a.Timekeeper, _ = w.(Timekeeper)
	a.Transactor, _ = w.(Transactor)
	a.Reporter, _ = w.(Reporter)
	a.TaskReader, _ = w.(TaskReader)
	a.ReadyReader, _ = w.(ReadyReader)
	a.Holder, _ = w.(Holder)
	a.Doctor, _ = w.(Doctor)
	a.Mender, _ = w.(Mender)
	a.KeyBook, _ = w.(KeyBook)
	a.Definer, _ = w.(Definer)
	a.MetricsKeeper, _ = w.(MetricsKeeper)
	a.MessageKeeper, _ = w.(MessageKeeper)
	a.TopicKeeper, _ = w.(TopicKeeper)
	a.ScheduleKeeper, _ = w.(ScheduleKeeper)
	a.StartKeeper, _ = w.(StartKeeper)
	a.LimitKeeper, _ = w.(LimitKeeper)
	a.Decrypter, _ = w.(Decrypter)
	a.ApartKeeper, _ = w.(ApartKeeper)
	return a
}
