package cli

// Operations whose answers are parts: pieces, pages, and waits that are longer than one receive.

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stepwell/stepwell/api"
)

// answers is a Caller that answers with a function.
type answers func(in, out any)

func (f answers) Call(_ context.Context, _ *api.Row, in, out any) error {
	f(in, out)
	return nil
}

func TestWholeAddsPieces(t *testing.T) {
	calls := 0
	do := whole{answers(func(_, out any) {
		calls++
		*out.(*api.QueueChanged) = api.QueueChanged{Messages: calls, More: calls < 3}
	})}
	got, err := api.Do(t.Context(), do, api.PurgeQueueOp, api.PurgeQueue{})
	if want := (api.QueueChanged{Messages: 6}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestWholeWaits(t *testing.T) {
	calls := 0
	do := whole{answers(func(in, out any) {
		if wait := in.(*api.ReceiveMessages).Wait; wait > api.Span(longestWait) {
			t.Errorf("one receive waits for %s", wait)
		}
		if calls++; calls == 3 {
			out.(*api.ReceivedMessages).Messages = []api.Message{{ID: "m"}}
		}
	})}
	in := api.ReceiveMessages{Wait: api.Span(time.Hour)}
	got, err := api.Do(t.Context(), do, api.ReceiveMessagesOp, in)
	if err != nil || len(got.Messages) != 1 || calls != 3 {
		t.Errorf("got %+v, %v after %d receives", got, err, calls)
	}
	calls = 0
	if got, err := api.Do(t.Context(), do, api.ReceiveMessagesOp, api.ReceiveMessages{}); err != nil || len(got.Messages) > 0 || calls != 1 {
		t.Errorf("without a wait: got %+v, %v after %d receives", got, err, calls)
	}
}

func TestEachAsksForPages(t *testing.T) {
	var asked []int
	do := answers(func(in, out any) {
		q := in.(*api.PeekMessages)
		asked = append(asked, q.Limit)
		first, _ := strconv.Atoi(q.Cursor)
		page := out.(*api.MessagePage)
		page.Messages, page.Cursor = make([]api.Message, min(q.Limit, 260-first)), ""
		if last := first + len(page.Messages); last < 260 {
			page.Cursor = strconv.Itoa(last)
		}
	})
	for _, test := range []struct {
		limit, n int
		more     bool
		asked    []int
	}{
		{20, 20, true, []int{20}}, {250, 250, true, []int{100, 100, 50}}, {900, 260, false, []int{100, 100, 100}},
	} {
		asked = nil
		in := api.PeekMessages{Limit: test.limit}
		n, more, err := each(t.Context(), do, api.PeekMessagesOp, in, func(*api.Message) error { return nil })
		if err != nil || n != test.n || more != test.more || !slices.Equal(asked, test.asked) {
			t.Errorf("limit %d: got %d, %t, %v after %v", test.limit, n, more, err, asked)
		}
	}
}
