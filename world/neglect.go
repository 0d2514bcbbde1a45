package world

// This file is about places of limits that open tasks hold whose steps nobody can do, runs whose code nobody has, and
// messages that nobody receives.

import "time"

// NeglectAfter is how long a store has seen no live worker with a step before the step's open tasks
// give back their places of limits and leave their lines. The same applies to runs of a class that
// nobody owns, except for places that begun runs keep until their end. They stay ready: the worker
// that claims one makes it take its places then. Most restarts are shorter.
const NeglectAfter = 10 * time.Second

// A message that could have been received for that time is as neglected where nothing of its queue is out and the queue
// shares a limit with others: all of that queue's messages give back their places, and leave their lines. Who receives
// one has it take its places then.

// NeglectPage is how many tasks, runs or messages give back their places in one transaction.
const NeglectPage = 500
