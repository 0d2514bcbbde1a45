package world_test

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/world"
)

// naive is a pattern as a regular expression over a topic that ends with a dot.
func naive(pattern string) *regexp.Regexp {
	var b strings.Builder
	for w := range strings.SplitSeq(pattern, ".") {
		switch w {
		case "*":
			b.WriteString(`[^.]+\.`)
		case "#":
			b.WriteString(`([^.]+\.)*`)
		default:
			b.WriteString(regexp.QuoteMeta(w) + `\.`)
		}
	}
	return regexp.MustCompile("^" + b.String() + "$")
}

func TestFits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, topic string
		want           bool
	}{
		{"order.paid", "order.paid", true}, {"order.paid", "order", false}, {"order", "order.paid", false}, {"*", "a", true}, {"*", "a.b", false},
		{"a.*.c", "a.b.c", true}, {"a.*.c", "a.c", false}, {"#", "a.b.c", true}, {"a.#", "a", true}, {"a.#", "a.b.c", true}, {"a.#", "ab", false},
		{"#.z", "z", true}, {"#.z", "a.b.z", true}, {"#.z", "z.a", false}, {"a.#.z", "a.z", true}, {"a.#.z", "a.b.c.z", true}, {"a.#.b.#.c", "a.b.b.c", true},
		{"#.*", "a", true}, {"#.*.#", "a.b", true}, {"*.#.*", "a", false},
	} {
		if got := world.Fits(c.pattern, c.topic); got != c.want {
			t.Errorf("Fits(%q, %q) = %t, want %t", c.pattern, c.topic, got, c.want)
		}
	}
	draw := rand.New(rand.NewPCG(1, 2))
	text := func(words ...string) string {
		var all []string
		for range 1 + draw.IntN(6) {
			all = append(all, words[draw.IntN(len(words))])
		}
		return strings.Join(all, ".")
	}
	fit := 0
	for range 20_000 {
		pattern, topic := text("a", "b", "*", "#"), text("a", "b", "aa")
		got := world.Fits(pattern, topic)
		if want := naive(pattern).MatchString(topic + "."); got != want {
			t.Fatalf("Fits(%q, %q) = %t, want %t", pattern, topic, got, want)
		}
		if got {
			fit++
		}
	}
	if fit < 1_000 {
		t.Errorf("%d of 20000 fit: the test says little", fit)
	}
}

// What a pattern may be fits what a regular expression does, in little time, and what is no topic is refused.
func FuzzPattern(f *testing.F) {
	for _, p := range []string{"a.b", "a.*", "#", "#.#.#.a", "a..b", ".", "*a", "ä", strings.Repeat("#.", 15) + "x", strings.Repeat("a", 300)} {
		f.Add(p, "a.b.c")
	}
	f.Fuzz(func(t *testing.T, pattern, topic string) {
		p, q := world.CheckPattern(pattern), world.CheckTopic(topic)
		for _, err := range []error{p, q} {
			if err != nil && !errors.Is(err, world.ErrInvalid) {
				t.Fatal(err)
			}
		}
		if q == nil && world.CheckPattern(topic) != nil {
			t.Fatalf("the topic %q is no pattern", topic)
		}
		if p != nil || q != nil {
			return
		}
		if got, want := world.Fits(pattern, topic), naive(pattern).MatchString(topic+"."); got != want {
			t.Fatalf("Fits(%q, %q) = %t, want %t", pattern, topic, got, want)
		}
		if !world.Fits("#", topic) || !world.Fits(topic, topic) {
			t.Fatalf("%q does not fit what it must", topic)
		}
	})
}

// What was published can be put into queues: its headers leave room for what is added to them.
func TestPublicationHasRoom(t *testing.T) {
	t.Parallel()
	topic := strings.Repeat("x", world.MaxTopic)
	for size := world.MaxHeaders - 600; size < world.MaxHeaders; size++ {
		p := world.Publication{Topic: topic, Payload: []byte(`1`), Headers: map[string]string{"h": strings.Repeat("y", size-1)}}
		if world.CheckPublications([]world.Publication{p}) != nil {
			continue
		}
		p.ID, p.At = world.PublicationID(world.MaxTime, 1<<62), world.MaxTime
		if err := world.CheckMessages([]world.Message{p.Message("q", "")}); err != nil {
			t.Fatalf("headers of %d bytes: %v", size, err)
		}
	}
}
