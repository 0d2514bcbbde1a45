package human_test

import (
	"math"
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/human"
)

func TestSpan(t *testing.T) {
	const day = 24 * time.Hour
	for d, want := range map[time.Duration]string{
		0:                                  "0 s",
		400 * time.Microsecond:             "under 1 ms",
		38400 * time.Microsecond:           "38 ms",
		999600 * time.Microsecond:          "1 s",
		1240 * time.Millisecond:            "1.2 s",
		9960 * time.Millisecond:            "10 s",
		59600 * time.Millisecond:           "1 m",
		5 * time.Minute:                    "5 m",
		3*time.Minute + 20*time.Second:     "3 m 20 s",
		time.Hour - 400*time.Millisecond:   "1 h",
		2*time.Hour + 29*time.Second:       "2 h",
		4*day + 19*time.Hour + time.Minute: "4 d 19 h",
		400 * day:                          "1 y 35 d",
		-5 * time.Second:                   "5 s",
		time.Duration(math.MinInt64):       "292 y 171 d",
		23*time.Hour + 59*time.Minute + 40*time.Second: "1 d",
	} {
		if got := human.Span(d); got != want {
			t.Errorf("Span(%s) = %q, want %q", d, got, want)
		}
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 40 * time.Millisecond: "40 ms", 4900 * time.Millisecond: "4 s", 90 * time.Minute: "1 h", 50 * time.Hour: "2 d",
	} {
		if got := human.Age(d); got != want {
			t.Errorf("Age(%s) = %q, want %q", d, got, want)
		}
	}
}

func TestWhen(t *testing.T) {
	now := time.Date(2026, 11, 22, 14, 12, 0, 0, time.FixedZone("CET", 3600))
	for _, test := range []struct {
		at   time.Duration
		want string
	}{
		{0, "14:12:00 (now)"},
		{90 * time.Second, "14:13:30 (in 1 m 30 s)"},
		{-3 * time.Hour, "11:12:00 (3 h ago)"},
		{114 * time.Hour, "Fri 27 Nov 08:12 (in 4 d 18 h)"},
		{60 * 24 * time.Hour, "Thu 21 Jan 14:12 (in 60 d)"},
		{400 * 24 * time.Hour, "Mon 27 Dec 2027 14:12 (in 1 y 35 d)"},
	} {
		if got := human.When(now.Add(test.at).UTC(), now); got != test.want {
			t.Errorf("When(now + %s) = %q, want %q", test.at, got, test.want)
		}
	}
	for year, want := range map[int]string{9999: "Fri 31 Dec 9999 23:59 (in 7973 y)", 1: "Mon 31 Dec 0001 23:59 (2025 y ago)"} { // too far for a duration
		if got := human.When(time.Date(year, 12, 31, 23, 59, 0, 0, now.Location()), now); got != want {
			t.Errorf("in the year %d: %q, want %q", year, got, want)
		}
	}
}

func TestFold(t *testing.T) {
	for _, test := range []struct {
		text  string
		width int
		want  string
	}{
		{`{"a": 1}`, 20, `{"a": 1}`},
		{"two\nlines", 20, "two lines"},
		{"0123456789012345678901234567890", 20, "012345678901… (31 B)"},
		{"\x1b[31mred", 20, `\u001b[31mred`},
	} {
		got := human.Fold(test.text, test.width)
		if got != test.want {
			t.Errorf("Fold(%q) = %q, want %q", test.text, got, test.want)
		}
	}
	if got, want := human.Cut("0123456789\n0", 9), "01234567…"; got != want {
		t.Errorf("Cut = %q, want %q", got, want)
	}
	if got, want := human.Cut("01234567\n0", 10), "01234567 0"; got != want {
		t.Errorf("Cut = %q, want %q", got, want)
	}
	for n, want := range map[int]string{812: "812 B", 3210: "3.2 kB", 1 << 20: "1.0 MB"} {
		if got := human.Size(n); got != want {
			t.Errorf("Size(%d) = %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int]string{0: "0 steps", 1: "1 step", 2: "2 steps"} {
		if got := human.Count(n, "step"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestParseMoment(t *testing.T) {
	now := time.Date(2026, 11, 27, 9, 12, 0, 0, time.UTC)
	zone := time.FixedZone("", 3600)
	for text, want := range map[string]time.Time{
		"90s": now.Add(-90 * time.Second), "7d": now.Add(-7 * 24 * time.Hour), "0s": now,
		"2026-11-20": time.Date(2026, 11, 20, 0, 0, 0, 0, zone), "2026-11-20 08:30": time.Date(2026, 11, 20, 8, 30, 0, 0, zone),
		"2026-11-20T08:30": time.Date(2026, 11, 20, 8, 30, 0, 0, zone), "2026-11-20T08:30:01.5Z": time.Date(2026, 11, 20, 8, 30, 1, 5e8, time.UTC),
	} {
		if got, err := human.ParseMoment(text, now, zone); err != nil || !got.Equal(want) {
			t.Errorf("%q is %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-5m", "yesterday", "9", "2026-13-01", "106752d", "2026-11-20T08:30:00"} {
		if got, err := human.ParseMoment(text, now, zone); err == nil {
			t.Errorf("%q is %s, want an error", text, got)
		}
	}
}

func TestSpanTextReadsBack(t *testing.T) {
	for _, d := range []time.Duration{0, time.Nanosecond, 250 * time.Millisecond, 90 * time.Second, 36 * time.Hour, 7 * 24 * time.Hour, 106751 * 24 * time.Hour} {
		if got, err := human.ParseSpan(human.SpanText(d)); err != nil || got != d {
			t.Errorf("%s is written %s, read as %s, %v", d, human.SpanText(d), got, err)
		}
	}
}
