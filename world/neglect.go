package world

// This file is about places of limits that open tasks hold whose steps nobody can do.

import "time"

// NeglectAfter is for how long no live worker has had a step, as far as a world has seen, when its open tasks give
// back the places of limits that they hold, and leave their lines. They are ready all the same: who claims one has it
// take its places then. It is long enough for most restarts.
const NeglectAfter = 10 * time.Second

// NeglectPage is how many tasks give back their places in one transaction.
const NeglectPage = 500
