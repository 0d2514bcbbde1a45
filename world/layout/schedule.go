package layout

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/stepwell/stepwell/world"
)

// ScheduleRow returns the stored form of a schedule, and its checksum.
func ScheduleRow(s *world.Schedule) (said string, sum Sum, err error) {
	b, err := json.Marshal(s)
	return string(b), subscriptionSum(s.Name, string(b)), err
}

// FirstChange returns the change number of a new schedule. It is random, so that a writer that has
// read a deleted schedule of the same name changes nothing. Later changes count from it. It fits
// the numbers of JSON in all languages.
func FirstChange() int64 { return 1 + rand.Int64N(1<<52) }

// ReadSchedule parses the row of a schedule. Invalid data is reported in its Damage; it then starts
// nothing.
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

// CloneSchedule returns a schedule as a store would return it: it shares no memory, and times have
// stored precision.
func CloneSchedule(s *world.Schedule) world.Schedule {
	said, sum, err := ScheduleRow(s)
	if err != nil { // times of years that have five digits: they were refused
		return *s
	}
	return ReadSchedule(s.Name, said, sum, s.Change)
}
