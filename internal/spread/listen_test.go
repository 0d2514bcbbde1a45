package spread

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// past is what was published before waits looked back.
type past struct {
	world.Publisher
	waits     []world.Listener // by place
	shapes    []world.Shape
	published []world.Publication // the oldest first
	reads     int                 // pages of publications
	got       map[string][]string // payloads by wait
}

func (p *past) Due(context.Context, world.DueQuery) (world.Due, error) {
	return world.Due{Now: time.Unix(2e9, 0)}, nil
}

func (p *past) Shapes(context.Context) ([]world.Shape, error) { return p.shapes, nil }

func (p *past) Listeners(_ context.Context, q world.ListenerQuery) (out []world.Listener, err error) {
	for _, l := range p.waits {
		if l.Place > q.After && len(out) < q.Limit {
			out = append(out, l)
		}
	}
	return out, nil
}

func (p *past) Publications(_ context.Context, q world.PublicationQuery) (page world.PublicationPage, err error) {
	p.reads++
	end := len(p.published)
	if q.Cursor != "" {
		end, _ = strconv.Atoi(q.Cursor)
	}
	first := max(end-q.Limit, 0)
	for _, x := range slices.Backward(p.published[first:end]) {
		if q.Fits(x.Topic) {
			page.Publications = append(page.Publications, x)
		}
	}
	if first > 0 {
		page.Cursor = strconv.Itoa(first)
	}
	return page, nil
}

func (p *past) Spread(_ context.Context, s world.Spread) (bool, error) {
	if err := world.CheckSpread(&s); err != nil {
		return false, err
	}
	for i := range s.Mail {
		id := s.Mail[i].Events[0].ID
		p.got[id] = append(p.got[id], string(s.Mail[i].Events[0].Payload))
	}
	p.waits = slices.DeleteFunc(p.waits, func(l world.Listener) bool { return slices.Contains(s.Looked, l.Place) })
	return true, nil
}

// wait is one that looks back for a match.
func (p *past) wait(n int, match string) {
	l := world.NewListen("order.*", time.Hour, json.RawMessage(match), "", nil)
	if s, err := world.ReadShape(l.Shape); err == nil && !slices.ContainsFunc(p.shapes, func(x world.Shape) bool { return x.String() == l.Shape }) {
		p.shapes = append(p.shapes, s)
	}
	id := fmt.Sprintf("wait_%06d", n)
	p.waits = append(p.waits, world.Listener{Place: id, Run: "r", Wait: id, Shape: l.Shape, Hash: l.Hash, From: time.Unix(1e9, 0).Add(-time.Hour)})
}

// Waits that look back read what was published together, up to a thousand at once, and each gets what is for it, the
// oldest first, however much that is.
func TestLookBackTogether(t *testing.T) {
	t.Parallel()
	p := &past{got: make(map[string][]string)}
	const waits, orders = 3_000, 5_000
	for i := range orders {
		p.published = append(p.published, published(int64(i+1), "order.paid", fmt.Sprintf(`{"order":%d}`, i)))
	}
	for i := range waits {
		p.wait(i, fmt.Sprintf(`{"order":%d}`, i*2))
	}
	if _, err := (&Spreader{Topics: p}).All(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range waits {
		want := []string{fmt.Sprintf(`{"order":%d}`, i*2)}
		if i*2 >= orders {
			want = nil
		}
		if got := p.got[fmt.Sprintf("wait_%06d", i)]; !slices.Equal(got, want) {
			t.Fatalf("wait %d got %q, want %q", i, got, want)
		}
	}
	if most := waits / world.MaxBatch * orders / 1_000; p.reads > most || len(p.waits) > 0 {
		t.Errorf("%d pages were read, %d waits look back yet; want %d at most, and none", p.reads, len(p.waits), most)
	}
}

// What does not fit into one spread comes with the next: each wait gets the hundred oldest.
func TestLookBackForMuch(t *testing.T) {
	t.Parallel()
	p := &past{got: make(map[string][]string)}
	text := strings.Repeat("x", 30_000)
	for i := range 150 {
		p.published = append(p.published, published(int64(i+1), "order.paid", fmt.Sprintf(`{"all":true,"n":%d,"text":%q}`, i, text)))
	}
	for i := range 12 {
		p.wait(i, `{"all":true}`)
	}
	p.wait(12, `{"n":149}`)
	p.wait(13, `{"n":-1}`)
	if _, err := (&Spreader{Topics: p}).All(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		got := p.got[fmt.Sprintf("wait_%06d", i)]
		if len(got) != mostBack || got[0] != string(p.published[0].Payload) || got[99] != string(p.published[99].Payload) {
			t.Errorf("wait %d got %d", i, len(got))
		}
	}
	if n, none := len(p.got["wait_000012"]), len(p.got["wait_000013"]); n != 1 || none != 0 || len(p.waits) > 0 {
		t.Errorf("the others got %d and %d; %d look back yet", n, none, len(p.waits))
	}
}

// A wait finds the oldest of its window, however many are newer, and is never shown what its pattern does not fit.
func TestLookBackAsFarAsItSays(t *testing.T) {
	t.Parallel()
	p := &past{got: make(map[string][]string)}
	const many = 200_000
	for i := range many {
		topic := "other"
		if i%2 == 0 {
			topic = "order.paid"
		}
		p.published = append(p.published, published(int64(i+1), topic, fmt.Sprintf(`{"n":%d}`, i)))
	}
	p.wait(0, `{"n":0}`)
	p.wait(1, `{"n":2000}`)
	p.wait(2, `{"n":2001}`) // not its topic
	if _, err := (&Spreader{Topics: p}).All(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]string{{`{"n":0}`}, {`{"n":2000}`}, nil} {
		if got := p.got[fmt.Sprintf("wait_%06d", i)]; !slices.Equal(got, want) {
			t.Errorf("wait %d got %q, want %q", i, got, want)
		}
	}
	if most := many/1_000 + 1; p.reads > most || len(p.waits) > 0 {
		t.Errorf("%d pages were read, %d waits look back yet; want %d at most, and none", p.reads, len(p.waits), most)
	}
}
