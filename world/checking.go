package world

// This file keeps databases shut in a process that is only to hold its code against histories.

import (
	"fmt"
	"os"
)

// CheckVariable is the environment variable that stepwell check sets in the program that it starts.
// Such a program checks its code against histories, and must not open a database.
const CheckVariable = "STEPWELL_CHECK"

// MayOpen returns [ErrInvalid] if [CheckVariable] is set. Stores call it before they open a
// database, so that a program that does not support the check cannot start to work.
func MayOpen() error {
	if os.Getenv(CheckVariable) == "" {
		return nil
	}
	return fmt.Errorf("%w: %s is set, so this program must only check histories and cannot open a database: call stepwell.Main, or check.Main first in main", ErrInvalid, CheckVariable)
}
