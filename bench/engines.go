package main

// This file lists the engines.

import (
	"github.com/stepwell/stepwell/bench/engine"
	"github.com/stepwell/stepwell/bench/engines/dbos"
	"github.com/stepwell/stepwell/bench/engines/stepwell"
)

var engines = []*engine.Maker{&stepwell.Maker, &dbos.Maker}
