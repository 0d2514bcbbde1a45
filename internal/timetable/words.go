package timetable

// This file explains expressions.

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell/internal/human"
)

// Words explain what the times of a schedule are.
func (t *Times) Words() string {
	var all []string
	for _, e := range t.all {
		all = append(all, e.words())
	}
	text := strings.Join(all, "; and ")
	if t.zone != time.UTC {
		text += ", in " + t.zone.String()
	}
	return text
}

func (a at) words() string { return "once, at " + time.Time(a).Format(time.RFC3339) }

func (e every) words() string {
	text := "every " + human.SpanText(e.span)
	if e.offset > 0 {
		text += ", " + human.SpanText(e.offset) + " later"
	}
	return text
}

var named = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

func (f *fields) words() string {
	text := strings.ToLower(f.text)
	if full := named[text]; full != "" {
		text = full
	}
	p := strings.Fields(text)
	if len(p) == 5 {
		p = append([]string{"0"}, p...)
	}
	if len(p) != 6 {
		return f.text
	}
	out := clock(p[0], p[1], p[2])
	day, week := fieldWords(p[3], "day", nil), fieldWords(p[5], "", weekdays)
	if nth, which, ok := strings.Cut(p[5], "#"); ok {
		week = "the " + nthWords(which) + " " + fieldWords(nth, "", weekdays)
	}
	switch {
	case p[3] == "l":
		day = "the last day"
	case p[3] == "lw":
		day = "the last weekday"
	case strings.HasPrefix(p[3], "l-"):
		day = p[3][2:] + " days before the last day"
	case strings.HasSuffix(p[3], "w"):
		day = "the weekday nearest to day " + p[3][:len(p[3])-1]
	}
	if day != "" {
		day += " of the month"
	}
	switch {
	case day != "" && week != "":
		out += ", on " + day + ", and on " + week
	case day+week != "":
		out += ", on " + day + week
	}
	if month := fieldWords(p[4], "", months); month != "" {
		out += ", in " + month
	}
	return out
}

var (
	weekdays = []string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
	months   = []string{"", "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}
)

func nthWords(n string) string {
	switch n {
	case "1":
		return "first"
	case "2":
		return "second"
	case "3":
		return "third"
	case "4":
		return "fourth"
	case "5":
		return "fifth"
	}
	return "last"
}

// mostClocks is how many times of a day are told one by one.
const mostClocks = 6

// clock says at what times of a day.
func clock(second, minute, hour string) string {
	if times := clocks(second, minute, hour); times != nil {
		return "at " + strings.Join(times, ", ")
	}
	var parts []string
	if second != "0" {
		parts = append(parts, unit(second, "second"))
	}
	if minute != "*" || second == "0" {
		parts = append(parts, unit(minute, "minute"))
	}
	if hour != "*" || !strings.HasPrefix(minute, "*") {
		parts = append(parts, unit(hour, "hour"))
	}
	return strings.Join(parts, ", of ")
}

// clocks are the times, where hours and minutes are few numbers; nil: they are not.
func clocks(second, minute, hour string) (out []string) {
	s, err := strconv.Atoi(second)
	if err != nil {
		return nil
	}
	for h := range strings.SplitSeq(hour, ",") {
		for m := range strings.SplitSeq(minute, ",") {
			hours, err1 := strconv.Atoi(h)
			minutes, err2 := strconv.Atoi(m)
			if err1 != nil || err2 != nil || len(out) == mostClocks {
				return nil
			}
			text := fmt.Sprintf("%02d:%02d", hours, minutes)
			if s > 0 {
				text += fmt.Sprintf(":%02d", s)
			}
			out = append(out, text)
		}
	}
	return out
}

// unit says which seconds, minutes or hours.
func unit(field, name string) string {
	if step, ok := strings.CutPrefix(field, "*/"); ok {
		if step == "1" {
			return "every " + name
		}
		return "every " + step + " " + name + "s"
	}
	if field == "*" {
		return "every " + name
	}
	return fieldWords(field, name, nil)
}

// fieldWords says which of them; "": all.
func fieldWords(field, name string, names []string) string {
	if field == "*" || field == "?" {
		return ""
	}
	var out []string
	for part := range strings.SplitSeq(field, ",") {
		span, step, stepped := strings.Cut(part, "/")
		low, high, through := strings.Cut(span, "-")
		text := nameOf(low, names)
		switch {
		case span == "*":
			text = "each"
		case through:
			text += " through " + nameOf(high, names)
		case stepped:
			text += " on"
		}
		if stepped {
			text = "every " + step + " from " + text
			if span == "*" {
				text = "every " + step
			}
		}
		out = append(out, text)
	}
	return strings.TrimSpace(name + " " + strings.Join(out, ", "))
}

// nameOf is a number or a name of the field as people read it.
func nameOf(s string, names []string) string {
	if n, err := strconv.Atoi(s); err == nil && names != nil && n >= 0 && n < len(names) {
		return names[n]
	}
	for _, name := range names {
		if len(s) == 3 && len(name) >= 3 && strings.EqualFold(name[:3], s) {
			return name
		}
	}
	return s
}
