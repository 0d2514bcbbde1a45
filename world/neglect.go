package world

// This file is about places of limits that open tasks hold whose steps nobody can do, runs whose code nobody has, and
// messages that nobody receives.

import "time"

// NeglectAfter is for how long no live worker has had a step, as far as a world has seen, when its open tasks give
// back the places of limits that they hold, and leave their lines; and so the runs of a class that nobody owns, but for
// the places that those which have begun keep until their end. They are ready all the same: who claims one has it take
// its places then. It is long enough for most restarts.
const NeglectAfter = 10 * time.Second

// A message that could have been received for that time is as neglected where nothing of its queue is out and the queue
// shares a limit with others: all of that queue's messages give back their places, and leave their lines. Who receives
// one has it take its places then.

// NeglectPage is how many tasks, runs or messages give back their places in one transaction.
const NeglectPage = 500
