package world

// This file finds what a world can do beside [World], through whatever is wrapped around it.

// Abilities are what a world can do beside [World]; nil: it cannot. The package's documentation tells what each is for.
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

// Wrapper is a [World] that says by itself what it can do, as one around another world does: it gives on what that can
// do, and puts its own in the place of what it must change. A type that embeds a Wrapper is one, and so says what it
// changes itself.
//
//	func (w *mine) Abilities() world.Abilities {
//		a := world.AbilitiesOf(w.World)
//		a.Poller = nil
//		return a
//	}
type Wrapper interface {
	// Abilities are all that it has; its other methods are not looked at. They do not change while it is open.
	Abilities() Abilities
}

// AbilitiesOf finds what a world can do, through all wrappers. A world that is no [Wrapper] has those abilities whose
// methods it has. Whoever opens a world asks once, and keeps the answer.
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
