// Package allowed has allowances.
package allowed

import (
	"time"

	"github.com/stepwell/stepwell"
)

func flow(ctx stepwell.Context, n int) time.Time {
	_ = time.Now() //stepwell:allow time it is only shown
	_ = time.Now() // want `time.Now in workflow code`
	func() {}()    //stepwell:allow time it is only shown // want `nothing here breaks the rule time`
	_ = time.Now() // want `time.Now in workflow code`
	//stepwell:allow time it is only shown
	_ = time.Now()
	//stepwell:allow random it is only shown // want `nothing here breaks the rule random`
	_ = time.Now() // want `time.Now in workflow code`
	//stepwell:allow time // want `an allowance of time without a reason`
	_ = time.Now() // want `time.Now in workflow code`
	//stepwell:allow clock it is only shown // want `an allowance of "clock", which is not a rule`
	return stamp()
}

// stamp is called by workflow code.
//
//stepwell:allow time what it returns is only shown
func stamp() time.Time {
	return time.Now() // near: allow
}

//stepwell:allow time all of it
func whole(ctx stepwell.Context) time.Time {
	time.Sleep(1)
	return time.Now()
}
