package agent

// One call of the model: the body of a step. Whatever depends on the options is decided here and recorded, so that a
// run goes on after a deploy that changes them.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"

	"github.com/stepwell/stepwell"
)

// turn is what a step that asks the model records.
type turn struct {
	Reply    *Reply   `json:"reply,omitempty"`   // nil: the model was not asked, as of Over
	Refused  []string `json:"refused,omitempty"` // what is wrong with each call of a tool; "": it is used
	Attempts int      `json:"attempts"`
	Lost     int      `json:"lost,omitempty"`
	Usage    Usage    `json:"usage"`
	Cost     float64  `json:"cost,omitempty"`
	Over     Limit    `json:"over,omitempty"` // the limit that the run has reached
}

// lost is the progress of a step: what earlier attempts have used, and this one so far. It is written before the answer
// of a stream is shown to anybody, and otherwise after a second.
type lost struct {
	Answers int   `json:"answers"`
	Usage   Usage `json:"usage"`
}

// ask asks the model once.
func ask(ctx context.Context, o *Options, talk []Message, before Spent) (*turn, error) {
	was, _, err := stepwell.Progress[lost](ctx)
	if err != nil {
		return nil, err
	}
	is := &turn{Attempts: stepwell.Info(ctx).Attempt, Lost: was.Answers, Usage: was.Usage}
	is.Cost = o.Price.Cost(is.Usage)
	if is.Over = o.over(before.plus(is)); is.Over != "" {
		return is, nil
	}
	s := &show{ctx: ctx, was: was, turn: before.Turns + 1}
	if err := stepwell.Heartbeat(ctx, s.so(Usage{})); err != nil {
		return nil, err
	}
	var tell func(string, Usage) error
	if o.Stream != "" {
		s.to, tell = stepwell.Stream[Chunk](ctx, o.Stream), s.tell
	}
	reply, err := o.Model.Call(ctx, &Request{System: o.System, Messages: talk, Tools: o.Tools}, tell)
	if err != nil {
		return nil, s.failed(err)
	}
	is.Reply, is.Usage = reply, was.Usage.plus(reply.Usage)
	is.Cost = o.Price.Cost(is.Usage)
	if reply.Role = Assistant; reply.Stop == StopCut || reply.Stop == StopRefused {
		reply.Calls, reply.Raw = nil, nil // they may be half
	}
	for i := range reply.Calls {
		is.Refused = append(is.Refused, o.accept(&reply.Calls[i]))
	}
	switch after := before.plus(is); {
	case reply.Stop == StopCut:
		is.Over = LimitAnswer
	case reply.goesOn() && after.Turns == cmp.Or(o.MaxTurns, DefaultTurns):
		is.Over = LimitTurns
	case reply.goesOn():
		is.Over = o.over(after)
	}
	if s.to == nil {
		return is, nil
	}
	return is, s.to.Write(Chunk{Turn: s.turn, Calls: reply.Calls, End: reply.Stop})
}

// mostLost is how many answers of one turn may be lost before it fails: each may have been paid.
const mostLost = 5

// failed is the error of a call: the next attempt is told whether this one may have been paid.
func (s *show) failed(err error) error {
	if !s.began && unpaid(err) {
		if gone := stepwell.Heartbeat(s.ctx, s.was); gone != nil {
			return gone
		}
		return err
	}
	if n := s.was.Answers + 1; n >= mostLost {
		return stepwell.Fatal(fmt.Errorf("the answer was lost %d times: %w", n, err))
	}
	return err
}

// unpaid reports whether a call that failed was never answered: it was refused, or did not come to the provider.
func unpaid(err error) bool {
	_, refused := errors.AsType[*RefusedError](err)
	net, ok := errors.AsType[*net.OpError](err)
	return refused || ok && net.Op == "dial"
}

// over is the limit of tokens or cost that is reached; "": none.
func (o *Options) over(s Spent) Limit {
	switch {
	case o.MaxTokens > 0 && s.Usage.Total() >= o.MaxTokens:
		return LimitTokens
	case o.MaxCost > 0 && s.Cost >= o.MaxCost:
		return LimitCost
	}
	return ""
}

// accept says what is wrong with a call of a tool.
func (o *Options) accept(c *Call) string {
	if len(c.Input) == 0 { // a tool without arguments
		c.Input = json.RawMessage("{}")
	}
	if !json.Valid(c.Input) {
		said := string(c.Input)
		c.Input = json.RawMessage("{}")
		return fmt.Sprintf("the input is no JSON: %.200s", said)
	}
	t := find(o.Tools, c.Tool)
	if t == nil {
		return fmt.Sprintf("there is no tool %q", c.Tool)
	}
	if err := t.fits(c.Input); err != nil {
		return fmt.Sprintf("the input does not fit: %v", err)
	}
	return ""
}

// show is where a stream of an answer goes.
type show struct {
	ctx   context.Context
	was   lost
	turn  int
	to    *stepwell.StreamWriter[Chunk]
	began bool
}

// so is the progress of this attempt.
func (s *show) so(far Usage) lost { return lost{s.was.Answers + 1, s.was.Usage.plus(far)} }

func (s *show) tell(text string, sofar Usage) error {
	say := stepwell.Heartbeat[lost]
	if !s.began {
		s.began, say = true, stepwell.HeartbeatNow[lost]
	}
	if err := say(s.ctx, s.so(sofar)); err != nil || text == "" {
		return err
	}
	return s.to.Write(Chunk{Turn: s.turn, Text: text})
}
