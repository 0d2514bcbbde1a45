package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell/world"
)

var created = time.Date(2026, 11, 21, 9, 0, 0, 123456000, time.UTC)

func sample() *History {
	return &History{Run: "wrun_1", ExportedAt: created.Add(time.Hour), Events: []world.Event{
		{Seq: 1, Type: world.RunCreated, Time: created, Payload: json.RawMessage(`{"a":"<&>"}`), Build: "4f1c2aa",
			Birth: &world.Birth{Workflow: "order", Version: 2, Seed: 1 << 63, Retention: time.Hour, Priority: 1, Attributes: map[string]json.RawMessage{"k": []byte(`1`)}}},
		{Seq: 2, Type: world.RunStarted, Time: created},
		{Seq: 3, Type: world.StepCreated, ID: "step_1", Kind: world.KindClosure, Name: "pay", Time: created, Payload: json.RawMessage("null")},
		{Seq: 4, Type: world.SignalReceived, Name: "go", Delivery: "d1", Time: created, Payload: json.RawMessage(` { "x" : 1 }`)},
		{Seq: 5, Type: world.StepStarted, ID: "step_1", Attempt: 1, Time: created.Add(time.Microsecond)},
		{Seq: 6, Type: world.StepFailed, ID: "step_1", Attempt: 1, Time: created.Add(time.Second), Error: &world.Error{Message: "no\nway", Causes: []*world.Error{{Message: "x"}}}},
	}}
}

func write(t *testing.T, to *bytes.Buffer, h *History) {
	t.Helper()
	w, err := NewWriter(to, Format, h.Run, h.ExportedAt)
	for i := range h.Events {
		if err == nil {
			err = w.Add(&h.Events[i])
		}
	}
	if err == nil {
		err = w.End()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestHistoriesComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	first, second := sample(), sample()
	second.Run = "wrun_2"
	write(t, &b, first)
	write(t, &b, second)
	var got []*History
	for h, err := range Read(&b) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, h)
	}
	if diff := cmp.Diff([]*History{first, second}, got); diff != "" {
		t.Errorf("written -, read +:\n%s", diff)
	}
}

func TestWhatIsNoHistoryIsRefused(t *testing.T) {
	t.Parallel()
	var whole bytes.Buffer
	write(t, &whole, sample())
	lines := strings.SplitAfter(whole.String(), "\n")
	lines = lines[:len(lines)-1]
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"no JSON":        {"hello\n", world.ErrInvalid},
		"no head":        {strings.Join(lines[1:], ""), world.ErrInvalid},
		"no end":         {strings.Join(lines[:len(lines)-1], ""), world.ErrInvalid},
		"cut in a line":  {whole.String()[:whole.Len()/2], world.ErrInvalid},
		"a hole":         {lines[0] + lines[1] + strings.Join(lines[3:], ""), world.ErrCorrupt},
		"twice the same": {lines[0] + lines[1] + lines[1], world.ErrCorrupt},
		"a newer format": {`{"history":99,"run":"wrun_1"}`, world.ErrFormat},
		"a bad ID":       {`{"history":1,"run":"a b"}`, world.ErrInvalid},
		"a wrong end":    {strings.Join(lines[:3], "") + `{"end":7}`, world.ErrInvalid},
	} {
		n := 0
		for h, err := range Read(strings.NewReader(c.text)) {
			if n++; h != nil || !errors.Is(err, c.want) || !strings.Contains(err.Error(), "line ") {
				t.Errorf("%s: got %v, %v; want %v with its line", name, h, err, c.want)
			}
		}
		if n != 1 {
			t.Errorf("%s: yielded %d times, want once", name, n)
		}
	}
}
