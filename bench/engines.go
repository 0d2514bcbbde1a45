package main

// This file lists the engines.

import (
	"github.com/stepwell/stepwell/bench/engine"
	"github.com/stepwell/stepwell/bench/engines/dbos"
	"github.com/stepwell/stepwell/bench/engines/durabletask"
	"github.com/stepwell/stepwell/bench/engines/goworkflows"
	"github.com/stepwell/stepwell/bench/engines/restate"
	"github.com/stepwell/stepwell/bench/engines/river"
	"github.com/stepwell/stepwell/bench/engines/stepwell"
	"github.com/stepwell/stepwell/bench/engines/temporal"
)

var engines = []*engine.Maker{
	&stepwell.Maker, &dbos.Maker, &goworkflows.Maker, &durabletask.Maker, &temporal.Maker, &restate.Maker, &river.Maker,
}
