package agent_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/agent"
	"github.com/stepwell/stepwell/agent/internal/wiretest"
)

// TestLimits: the model asks for its tool for ever.
func TestLimits(t *testing.T) {
	t.Parallel()
	s := wiretest.New(t, func(n int, _ *wiretest.Request) wiretest.Answer {
		return wiretest.Answer{Pieces: []string{"Hm"}, Calls: []agent.Call{call(fmt.Sprint("c", n), "weather", `{"city":"Bergen"}`)}, In: 100, Out: 10}
	})
	for _, c := range []struct {
		name  string
		o     agent.Options
		limit agent.Limit
		turns int
	}{
		{"turns", agent.Options{MaxTurns: 3}, agent.LimitTurns, 3},
		{"turns unless told", agent.Options{}, agent.LimitTurns, agent.DefaultTurns},
		{"tokens", agent.Options{MaxTokens: 440}, agent.LimitTokens, 4},
		{"cost", agent.Options{MaxCost: 0.001, Price: price}, agent.LimitCost, 3}, // 0.00045 each
		{"cost without turns", agent.Options{MaxCost: 0.01, Price: price, MaxTurns: stepwell.Unlimited}, agent.LimitCost, 23},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Model, c.o.Tools = providers["openai"](s.URL, wiretest.Key), []agent.Tool{weatherTool}
			before := len(s.Requests())
			r := run(t, c.o, "?")
			err := r.MustFail()
			limit, ok := errors.AsType[*agent.LimitError](err)
			if !ok || limit.Limit != c.limit || limit.Spent.Turns != c.turns || limit.Spent.Usage.Total() != int64(110*c.turns) ||
				err.Code != "AGENT_LIMIT" {
				t.Errorf("got %v, %+v", err, limit)
			}
			if n := len(s.Requests()) - before; n != c.turns {
				t.Errorf("got %d requests, want %d", n, c.turns)
			}
			used := 0
			for _, en := range r.Journal().Entries {
				if en.Name == "tool weather" {
					used++
				}
			}
			if used != c.turns-1 {
				t.Errorf("the tool was used %d times, want %d: not behind the last turn", used, c.turns-1)
			}
		})
	}
}
