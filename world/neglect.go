package world

// This file is about places of limits that open tasks hold whose steps nobody can do, and runs whose code nobody has.

import "time"

// NeglectAfter is for how long no live worker has had a step, as far as a world has seen, when its open tasks give
// back the places of limits that they hold, and leave their lines; and so the runs of a class that nobody owns, but for
// the places that those which have begun keep until their end. They are ready all the same: who claims one has it take
// its places then. It is long enough for most restarts.
const NeglectAfter = 10 * time.Second

// NeglectPage is how many tasks, or runs, give back their places in one transaction.
const NeglectPage = 500
