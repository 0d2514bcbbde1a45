package layout

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/stepwell/stepwell/world"
)

// ScheduleRow is how a schedule is kept, and its checksum.
func ScheduleRow(s *world.Schedule) (said string, sum Sum, err error) {
	b, err := json.Marshal(s)
	return string(b), subscriptionSum(s.Name, string(b)), err
}

// FirstChange is the number of the change that makes a schedule: by chance, so that who has read one of the same name
// that was deleted since changes nothing of the new one. The next ones count on from there. JSON of all languages has
// such numbers.
func FirstChange() int64 { return 1 + rand.Int64N(1<<52) }

// ReadSchedule reads the row of a schedule. What cannot be right is told with it: it starts nothing.
func ReadSchedule(name, said string, sum Sum, change int64) (s world.Schedule) {
	err := json.Unmarshal([]byte(said), &s)
	if err == nil && (!sum.Is(subscriptionSum(name, said)) || s.Name != name) {
		err = errSum
	}
	if err != nil {
		s = world.Schedule{Name: name, Damage: fmt.Sprintf("schedule %s: %v", name, err)}
	}
	s.Change = change
	return s
}

// CloneSchedule is a schedule as a store gives it back: it shares no memory, and times are as they are kept.
func CloneSchedule(s *world.Schedule) world.Schedule {
	said, sum, err := ScheduleRow(s)
	if err != nil { // times of years that have five digits: they were refused
		return *s
	}
	return ReadSchedule(s.Name, said, sum, s.Change)
}
