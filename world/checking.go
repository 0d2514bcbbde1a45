package world

// This file keeps databases shut in a process that is only to hold its code against histories.

import (
	"fmt"
	"os"
)

// CheckVariable is set in the environment of a program that stepwell check has started: it is to hold its code against histories, and to touch
// no database.
const CheckVariable = "STEPWELL_CHECK"

// MayOpen refuses, with [ErrInvalid], where [CheckVariable] is set. Worlds that keep anything call it before they open it, so that a program that
// does not know of the check cannot begin to work by mistake.
func MayOpen() error {
	if os.Getenv(CheckVariable) == "" {
		return nil
	}
	return fmt.Errorf("%w: %s is set, so this program must only check histories and cannot open a database: call stepwell.Main, or check.Main first in main", ErrInvalid, CheckVariable)
}
