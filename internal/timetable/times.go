// Package timetable is what programs and servers do for schedules: it knows what their times are, decides what becomes
// of one that is due, has its run started, and changes schedules for those who ask. What is kept of a schedule is a
// [world.Schedule].
package timetable

// This file reads expressions and computes times. The clock of a zone is ours, the fields of cron are a library's: that
// is asked for the next reading of a clock that never changes, and this file says when a clock on the wall reads so.
//
//   - An expression that names its hours is about the clock on the wall. A reading that a change of the clocks leaves
//     out is the moment of the change, once however many there are; one that comes twice is the first.
//   - One for every hour, and @every, is about time that passes: neither a gap nor a repetition is seen.

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // zones are the same on machines that have none

	cron "github.com/netresearch/go-cron"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

// searchYears is how far a time may be: the 29th of February on a Monday can be 40 years away.
const searchYears = 41

// mostExpression is how long an expression may be.
const mostExpression = 256

var parser = cron.MustNewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor | cron.Extended | cron.DowOrDom).WithMaxSearchYears(searchYears)

// Times are those of a schedule. They are safe for concurrent use.
type Times struct {
	all  []expression
	zone *time.Location
	name string
	says *world.ScheduleSpec
}

// expression is one of them: it has times.
type expression interface {
	// next is the first time after another; zero: there is none.
	next(after time.Time, zone *time.Location) time.Time
	// words explain it.
	words() string
}

var zones sync.Map // of those that were read, by name

// notZones are names, or begin them, that some machines have for what is no zone, is their own, or counts leap seconds.
var notZones = map[string]bool{"Local": true, "localtime": true, "posixrules": true, "posix": true, "right": true, "Factory": true}

func zoneOf(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	if z, ok := zones.Load(name); ok {
		return z.(*time.Location), nil
	}
	z, err := time.LoadLocation(name)
	first, _, _ := strings.Cut(name, "/")
	if err != nil || notZones[first] {
		return nil, fmt.Errorf("%w: unknown time zone %.60q: want a name such as Europe/Berlin", world.ErrInvalid, name)
	}
	zones.Store(name, z)
	return z, nil
}

// Parse reads the times of a schedule. The error is [world.ErrInvalid], and says which expression is wrong.
func Parse(name string, says *world.ScheduleSpec) (*Times, error) {
	zone, err := zoneOf(says.Zone)
	if err != nil {
		return nil, err
	}
	t := &Times{zone: zone, name: name, says: says}
	for _, text := range says.Times {
		e, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("%w: %.80q: %w", world.ErrInvalid, text, err)
		}
		t.all = append(t.all, e)
	}
	return t, nil
}

// Check refuses, with [world.ErrInvalid] or [world.ErrTooLarge], a schedule that no store keeps, that has an expression
// which is none, or one that never comes.
func Check(s *world.Schedule) error {
	if err := world.CheckSchedule(s); err != nil {
		return err
	}
	t, err := Parse(s.Name, &s.Says)
	if err != nil {
		return fmt.Errorf("schedule %s: %w", s.Name, err)
	}
	begin := cmp.Or(s.Says.From, time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)).Add(-time.Second)
	for i, e := range t.all {
		if _, single := e.(at); !single && e.next(begin, t.zone).IsZero() {
			return fmt.Errorf("schedule %s: %w: %.80q never comes", s.Name, world.ErrInvalid, s.Says.Times[i])
		}
	}
	if t.Next(begin).IsZero() && !s.Says.From.IsZero() {
		return fmt.Errorf("schedule %s: %w: it has no time from %s to %s", s.Name, world.ErrInvalid, s.Says.From.Format(time.RFC3339), s.Says.Until.Format(time.RFC3339))
	}
	return nil
}

// Next is the first time after another, within the schedule's bounds; zero: there is none.
func (t *Times) Next(after time.Time) (first time.Time) {
	if from := t.says.From; after.Before(from) {
		after = from.Add(-1)
	}
	for _, e := range t.all {
		if n := e.next(after, t.zone); !n.IsZero() && (first.IsZero() || n.Before(first)) {
			first = n
		}
	}
	if until := t.says.Until; first.IsZero() || !until.IsZero() && first.After(until) || first.After(world.MaxTime) {
		return time.Time{}
	}
	return first.UTC()
}

// last is the last time from one on that is not behind another moment; it is that one where none is.
func (t *Times) last(from, until time.Time) time.Time {
	seconds := int(until.Sub(from) / time.Second)
	return from.Add(time.Duration(sort.Search(max(seconds, 0), func(s int) bool {
		next := t.Next(from.Add(time.Duration(s) * time.Second))
		return next.IsZero() || next.After(until)
	})) * time.Second)
}

// Some are the first n times after another, in the schedule's zone.
func (t *Times) Some(after time.Time, n int) (out []time.Time) {
	for len(out) < n {
		if after = t.Next(after); after.IsZero() {
			break
		}
		out = append(out, after.In(t.zone))
	}
	return out
}

// due is when the run of a time starts: so much later as the jitter has it, which is always the same, and not behind
// the schedule's end.
func (t *Times) due(at time.Time) time.Time {
	if at.IsZero() || t.says.Jitter < time.Millisecond {
		return at
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s\n%d", t.name, at.Unix()) // it never fails
	late := world.After(at, time.Duration(h.Sum64()%uint64(t.says.Jitter/time.Millisecond))*time.Millisecond)
	if until := t.says.Until; !until.IsZero() && late.After(until) {
		return until
	}
	return late
}

func parse(text string) (expression, error) {
	if len(text) > mostExpression {
		return nil, fmt.Errorf("it has %d bytes: want %d at most", len(text), mostExpression)
	}
	trimmed := strings.TrimSpace(text)
	word, rest, _ := strings.Cut(trimmed, " ")
	switch strings.ToLower(word) {
	case "@every":
		return parseEvery(strings.TrimSpace(rest))
	case "@at":
		when, err := time.Parse(time.RFC3339, strings.TrimSpace(rest))
		if err == nil {
			err = world.CheckTime("it", when)
		}
		if err != nil {
			return nil, fmt.Errorf("want a time as @at 2026-12-24T18:00:00+01:00: %w", err)
		}
		return at(when.Truncate(time.Second)), nil
	case "@reboot":
		return nil, fmt.Errorf("a schedule cannot use @reboot")
	}
	if strings.Contains(trimmed, "=") {
		return nil, fmt.Errorf("use the zone of the schedule")
	}
	if emptyEntry(trimmed) {
		return nil, fmt.Errorf("a list has an empty entry: want no comma at its ends, and no two beside each other")
	}
	parsed, err := parser.Parse(strings.ToLower(trimmed)) // it takes the H of THU for a hash
	if err != nil {
		return nil, wrongFields(strings.ToLower(trimmed))
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, fmt.Errorf("it is not a cron expression")
	}
	spec.Location = time.UTC
	if strings.HasPrefix(trimmed, "@") {
		spec.MaxSearchYears = searchYears
	}
	return &fields{spec, trimmed}, nil
}

// emptyEntry reports whether a field has a list with nothing between two commas, or at an end: the parser takes it.
func emptyEntry(text string) bool {
	return slices.ContainsFunc(strings.Fields(text), func(field string) bool { return strings.Contains(","+field+",", ",,") })
}

// fieldsOf are the fields of an expression, and what they take.
var fieldsOf = []struct{ name, want string }{
	{"second", "0 to 59"}, {"minute", "0 to 59"}, {"hour", "0 to 23"}, {"day of the month", "1 to 31, L or 15W"}, {"month", "1 to 12, or jan to dec"},
	{"weekday", "0 to 7, or sun to sat, fri#2 or friL"},
}

// wrongFields says what is wrong with an expression that the parser refused, in words of ours.
func wrongFields(text string) error {
	fields := strings.Fields(text)
	switch {
	case strings.HasPrefix(text, "@"):
		return fmt.Errorf("want @hourly, @daily, @weekly, @monthly, @yearly, @every 6h, or @at 2026-12-24T18:00:00Z")
	case len(fields) != 5 && len(fields) != 6:
		return fmt.Errorf("it has %d fields: want 5, minute, hour, day, month and weekday, or 6 with seconds before them", len(fields))
	}
	for i, field := range fields {
		at := i + 6 - len(fields)
		alone := slices.Repeat([]string{"*"}, 6)
		alone[at] = field
		if _, err := parser.Parse(strings.Join(alone, " ")); err != nil {
			return fmt.Errorf("the %s is %q: want %s, lists such as 1,3, ranges such as 1-5, and steps such as */2", fieldsOf[at].name, field, fieldsOf[at].want)
		}
	}
	return fmt.Errorf("it is not a cron expression")
}

// at is a single time.
type at time.Time

func (a at) next(after time.Time, _ *time.Location) time.Time {
	if t := time.Time(a); t.After(after) {
		return t
	}
	return time.Time{}
}

// every is each multiple of a span since 1970, and an offset.
type every struct{ span, offset time.Duration }

func parseEvery(text string) (expression, error) {
	span, offset, more := strings.Cut(text, "+")
	var e every
	var err error
	if e.span, err = human.ParseSpan(strings.TrimSpace(span)); err == nil && more {
		e.offset, err = human.ParseSpan(strings.TrimSpace(offset))
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("want @every 6h, @every 7d, or @every 6h+15m")
	case e.span < time.Second || e.span%time.Second != 0 || e.span > world.MaxScheduleSpan || e.offset < 0 || e.offset >= e.span || e.offset%time.Second != 0:
		return nil, fmt.Errorf("want whole seconds, from 1s to %s, and a shorter offset", world.MaxScheduleSpan)
	}
	return e, nil
}

func (e every) next(after time.Time, _ *time.Location) time.Time {
	span, offset := int64(e.span/time.Second), int64(e.offset/time.Second)
	n := after.Unix() - offset
	whole := n / span
	if n%span < 0 {
		whole--
	}
	return time.Unix((whole+1)*span+offset, 0).UTC()
}

// fields are those of cron.
type fields struct {
	spec *cron.SpecSchedule
	text string
}

// anyHour is the library's mark of a field that is *.
const anyHour = 1 << 63

func (f *fields) next(after time.Time, zone *time.Location) time.Time {
	if f.spec.Hour&anyHour != 0 {
		return f.passing(after, zone)
	}
	for reading := readingOf(after.In(zone)); ; {
		if reading = f.spec.Next(reading); reading.IsZero() {
			return reading
		}
		if t := whenItReads(reading, zone); t.After(after) {
			return t
		}
	}
}

// passing is next by time that passes: within each stretch in which the clock is not changed.
func (f *fields) passing(after time.Time, zone *time.Location) time.Time {
	for {
		local := after.In(zone)
		_, seconds := local.Zone()
		ahead := time.Duration(seconds) * time.Second
		reading := f.spec.Next(readingOf(local))
		end := changeBehind(local)
		t := reading.Add(-ahead)
		if !reading.IsZero() && (end.IsZero() || t.Before(end)) {
			return t
		}
		if reading.IsZero() {
			return time.Time{}
		}
		if t = end.In(zone); f.spec.Next(readingOf(t).Add(-time.Second)).Equal(readingOf(t)) {
			return end.UTC()
		}
		after = end
	}
}

// changeBehind is when the clock of a time's zone is changed next; zero: never. A bound that the standard library tells
// may be none, and on the last day of a leap year it is not behind the time: its years have 365 days there.
func changeBehind(t time.Time) time.Time {
	_, end := t.ZoneBounds()
	if end.IsZero() || end.After(t) {
		return end
	}
	const day = 24 * time.Hour
	_, offset := t.Zone()
	changed := func(t time.Time) bool { _, o := t.Zone(); return o != offset }
	for n := range 400 {
		if from := t.Add(time.Duration(n) * day); changed(from.Add(day)) {
			return from.Add(time.Duration(sort.Search(int(day/time.Second), func(s int) bool { return changed(from.Add(time.Duration(s) * time.Second)) })) * time.Second)
		}
	}
	return time.Time{}
}

// readingOf is what the clock on the wall reads, as if that were UTC.
func readingOf(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// whenItReads is the first time at which the clock of a zone reads so, or, where it never does, at which it was changed
// instead.
func whenItReads(reading time.Time, zone *time.Location) time.Time {
	about := time.Date(reading.Year(), reading.Month(), reading.Day(), reading.Hour(), reading.Minute(), reading.Second(), 0, zone)
	start, end := about.ZoneBounds()
	first := time.Time{}
	for _, near := range []time.Time{start.Add(-1), about, end} { // the stretch before, this one, and the next
		_, seconds := near.In(zone).Zone()
		t := reading.Add(-time.Duration(seconds) * time.Second)
		if readingOf(t.In(zone)).Equal(reading) && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	switch {
	case !first.IsZero():
		return first
	case !start.IsZero() && readingOf(start.In(zone)).After(reading): // it is left out where about begins
		return start.UTC()
	}
	return end.UTC()
}
