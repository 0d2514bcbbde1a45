package codec

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"
	_ "time/tzdata"
)

// TestMain: the tests run in a process whose zone changes its clocks, as many a server's does.
func TestMain(m *testing.M) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	time.Local = berlin
	os.Exit(m.Run())
}

type stamp time.Time

func (s *stamp) UnmarshalJSON(data []byte) error { return (*time.Time)(s).UnmarshalJSON(data) }

type embedded struct{ time.Time }

type tree struct {
	At   time.Time
	Kids []*tree
	Next *tree
}

// private keeps what it decodes where encoding/json sees nothing; with a way back to itself.
type private struct {
	at   time.Time
	ptr  *time.Time
	list []time.Time
	any  any
	self *private
	lock chan int
}

func (p *private) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &p.at); err != nil {
		return err
	}
	at := p.at
	p.ptr, p.list, p.any, p.self, p.lock = &at, []time.Time{at}, at, p, make(chan int)
	return nil
}

// TestDecodedTimesHaveNoZoneOfTheProcess: the same data give the same time with the same arithmetic in each process.
func TestDecodedTimesHaveNoZoneOfTheProcess(t *testing.T) {
	const text = `"2026-01-15T12:00:00+01:00"`
	for _, c := range []struct {
		name string
		data string
		got  func(data []byte) ([]time.Time, error)
	}{
		{"a time", text, timesIn(func(v *time.Time) []time.Time { return []time.Time{*v} })},
		{"a pointer", text, timesIn(func(v **time.Time) []time.Time { return []time.Time{**v} })},
		{"a type of its own", text, timesIn(func(v *stamp) []time.Time { return []time.Time{time.Time(*v)} })},
		{"embedded", text, timesIn(func(v *embedded) []time.Time { return []time.Time{v.Time} })},
		{"a slice", "[" + text + "," + text + "]", timesIn(func(v *[]time.Time) []time.Time { return *v })},
		{"an array", "[" + text + "]", timesIn(func(v *[1]time.Time) []time.Time { return v[:] })},
		{"a map", `{"2026-01-15T12:00:00+01:00":` + text + `}`, timesIn(func(v *map[time.Time]time.Time) (all []time.Time) {
			for k, e := range *v {
				all = append(all, k, e)
			}
			return all
		})},
		{"a tree", `{"At":` + text + `,"Kids":[{"At":` + text + `}],"Next":{"At":` + text + `}}`, timesIn(func(v *tree) []time.Time {
			return []time.Time{v.At, v.Kids[0].At, v.Next.At}
		})},
		{"a type that decodes itself", text, timesIn(func(v *private) []time.Time {
			return []time.Time{v.at, *v.ptr, v.list[0], v.any.(time.Time)}
		})},
		{"in a map of such", `{"a":` + text + `}`, timesIn(func(v *map[string]private) []time.Time {
			p := (*v)["a"]
			return []time.Time{p.at, *p.ptr, p.any.(time.Time)}
		})},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, err := c.got([]byte(c.data))
			if err != nil || len(all) == 0 {
				t.Fatalf("got %v, %v", all, err)
			}
			for _, at := range all {
				if later := at.AddDate(0, 6, 0); at.Location() == time.Local || later.Format(time.RFC3339) != "2026-07-15T12:00:00+01:00" {
					t.Errorf("%v, half a year later %v: want the fixed zone +01:00", at, later)
				}
			}
		})
	}
}

func timesIn[T any](times func(*T) []time.Time) func([]byte) ([]time.Time, error) {
	return func(data []byte) ([]time.Time, error) {
		var v T
		if err := Decode(data, &v); err != nil {
			return nil, err
		}
		return times(&v), nil
	}
}

// TestRoundTripHasNoZoneOfTheProcess: what live code is given, too.
func TestRoundTripHasNoZoneOfTheProcess(t *testing.T) {
	in := struct{ At time.Time }{time.Date(2026, 1, 15, 12, 0, 0, 0, time.Local)}
	_, k, err := RoundTrip(&in, 0)
	if err != nil || k == nil || k.Value.At.Location() == time.Local || fmt.Sprint(k.Value.At) != "2026-01-15 12:00:00 +0100 +0100" {
		t.Errorf("got %v, %v", k, err)
	}
}

// BenchmarkDecodeWithoutTimes is what a value without times pays.
func BenchmarkDecodeWithoutTimes(b *testing.B) {
	data := []byte(`{"a":1,"b":"two","c":[1,2,3]}`)
	for b.Loop() {
		var v struct {
			A int
			B string
			C []int
		}
		if err := Decode(data, &v); err != nil {
			b.Fatal(err)
		}
	}
}
