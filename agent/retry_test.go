package agent_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/agent"
	"github.com/stepwell/stepwell/agent/internal/wiretest"
)

// refusal is an error of a provider, with a header.
func refusal(status int, header ...string) wiretest.Answer {
	a := wiretest.Answer{Status: status, Error: "some_error", Headers: map[string]string{}}
	if len(header) > 0 {
		a.Headers[header[0]] = header[1]
	}
	return a
}

func TestWhatIsTriedAgain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, model func(url, key string) agent.Model, stream string) {
		for _, c := range []struct {
			name  string
			first wiretest.Answer
			waits time.Duration // at least
			again bool
			lost  int
		}{
			{"429 with Retry-After", refusal(429, "Retry-After", "67"), 67 * time.Second, true, 0},
			{"429 in milliseconds", refusal(429, "Retry-After-Ms", "67000"), 67 * time.Second, true, 0},
			{"529", refusal(529), time.Second / 2, true, 0},
			{"500", refusal(500), time.Second / 2, true, 0},
			{"400 to be tried", refusal(400, "X-Should-Retry", "true"), 0, true, 0},
			{"a cut answer", wiretest.Answer{Pieces: []string{"No"}, Break: "cut", In: 7}, 0, true, 1},
			{"400", refusal(400), 0, false, 0},
			{"404", refusal(404), 0, false, 0},
			{"429 without credit", wiretest.Answer{Status: 429, Error: "insufficient_quota"}, 0, false, 0},
			{"500 not to be tried", refusal(500, "X-Should-Retry", "false"), 0, false, 0},
		} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				if c.first.Error == "insufficient_quota" && strings.Contains(t.Name(), "anthropic") {
					c.first.Status = 402 // as it says that
				}
				s := wiretest.New(t, func(n int, _ *wiretest.Request) wiretest.Answer {
					if n == 1 {
						return c.first
					}
					return wiretest.Answer{Pieces: []string{"Yes"}, In: 7}
				})
				env, r := start(t, agent.Options{Model: model(s.URL, wiretest.Key), Stream: stream}, "?")
				began := env.Now()
				if !c.again {
					err := r.MustFail()
					step, ok := errors.AsType[*stepwell.StepError](err)
					if n := len(s.Requests()); n != 1 || !ok || !step.Permanent || !strings.Contains(err.Error(), "as the script says") {
						t.Errorf("got %d requests, %v", n, err)
					}
					return
				}
				got := r.MustComplete()
				if n := len(s.Requests()); n != 2 || got.Text != "Yes" || got.Spent.Attempts != 2 || got.Spent.Lost != c.lost {
					t.Errorf("got %d requests, %+v", n, got)
				}
				if d := env.Now().Sub(began); d < c.waits || d > c.waits+2*time.Second {
					t.Errorf("it took %s, want %s", d, c.waits)
				}
			})
		}
		t.Run("401", func(t *testing.T) {
			t.Parallel()
			s := wiretest.New(t, umbrella)
			err := run(t, agent.Options{Model: model(s.URL, "wrong"), Stream: stream}, "?").MustFail()
			if n := len(s.Requests()); n != 1 || !strings.Contains(err.Error(), "401") {
				t.Errorf("got %d requests, %v", n, err)
			}
		})
	})
}

// TestAStreamThatBreaks: what its readers saw is void, and what it cost is known as far as the provider told.
func TestAStreamThatBreaks(t *testing.T) {
	t.Parallel()
	for name, model := range providers {
		for _, how := range []string{"cut", "eof", "overloaded"} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				s := wiretest.New(t, func(n int, _ *wiretest.Request) wiretest.Answer {
					if n == 1 {
						return wiretest.Answer{Pieces: []string{"I ", "thin"}, In: 7, Out: 9, Break: how}
					}
					return wiretest.Answer{Calls: []agent.Call{call("c", "none", `{}`)}, In: 7, Out: 2, Stop: agent.StopRefused}
				})
				env, r := start(t, agent.Options{Model: model(s.URL, wiretest.Key), Stream: "words"}, "?")
				if err := r.MustFail(); !errors.Is(err, agent.ErrRefused) {
					t.Fatal(err)
				}
				seen := chunks(t, env, r.ID())
				if len(seen) != 1 || !strings.Contains(seen[0], "refused") {
					t.Errorf("got chunks %q, want none of the first attempt", seen)
				}
			})
		}
	}
	s := wiretest.New(t, func(n int, _ *wiretest.Request) wiretest.Answer {
		if n == 1 {
			return wiretest.Answer{Pieces: []string{"I ", "thin"}, In: 7, Out: 9, Break: "cut"}
		}
		return wiretest.Answer{Pieces: []string{"Yes"}, In: 7, Out: 2}
	})
	got := run(t, agent.Options{Model: providers["anthropic"](s.URL, wiretest.Key), Stream: "words"}, "?").MustComplete()
	if want := (agent.Spent{Turns: 1, Attempts: 2, Lost: 1, Usage: agent.Usage{Input: 14, Output: 3}}); got.Spent != want {
		t.Errorf("got %+v, want %+v", got.Spent, want)
	}
}

// TestLostAnswersCount: a limit of tokens holds for answers that are lost again and again.
func TestLostAnswersCount(t *testing.T) {
	t.Parallel()
	s := wiretest.New(t, func(int, *wiretest.Request) wiretest.Answer {
		return wiretest.Answer{Pieces: []string{"I "}, In: 100, Break: "cut"}
	})
	err := run(t, agent.Options{Model: providers["anthropic"](s.URL, wiretest.Key), Stream: "words", MaxTokens: 250}, "?").MustFail()
	limit, ok := errors.AsType[*agent.LimitError](err)
	if !ok || limit.Limit != agent.LimitTokens || limit.Spent.Lost != 3 || limit.Spent.Turns != 0 || len(s.Requests()) != 3 {
		t.Errorf("got %v, %+v, %d requests", err, limit, len(s.Requests()))
	}
}

// TestAnAnswerThatIsAlwaysLost: each may have been paid, so it is not asked for an hour long.
func TestAnAnswerThatIsAlwaysLost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, model func(url, key string) agent.Model, stream string) {
		s := wiretest.New(t, func(int, *wiretest.Request) wiretest.Answer { return wiretest.Answer{Break: "cut"} })
		err := run(t, agent.Options{Model: model(s.URL, wiretest.Key), Stream: stream}, "?").MustFail()
		if n := len(s.Requests()); n != 5 || !strings.Contains(err.Error(), "lost 5 times") {
			t.Errorf("got %d requests, %v", n, err)
		}
	})
}

// TestAProviderThatIsNotThere is tried for an hour: nothing is paid.
func TestAProviderThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := wiretest.New(t, umbrella)
	s.Close()
	env, r := start(t, agent.Options{Model: providers["openai"](s.URL, wiretest.Key)}, "?")
	began := env.Now()
	err := r.MustFail()
	if d := env.Now().Sub(began); d < 50*time.Minute || d > time.Hour || strings.Contains(err.Error(), "lost") {
		t.Errorf("got %v after %s", err, d)
	}
}
