package world_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/world"
)

func TestTemplate(t *testing.T) {
	t.Parallel()
	m := &world.Message{
		Payload: []byte(`{"order":{"id":"o-7","n":12345678901234567890,"paid":true,"lines":[1]},"a":null}`),
		Headers: map[string]string{world.HeaderTopic: "order.paid", world.HeaderPublication: "publ_1", "x.y": "z"},
	}
	for template, want := range map[string]string{
		"plain": "plain", "": "", "order-{payload.order.id}": "order-o-7", "{payload.order.n}/{payload.order.paid}": "12345678901234567890/true",
		"{topic}:{id}": "order.paid:publ_1", "{header.x.y}": "z", "{{a}}": "{a}", "{{{topic}}}": "{order.paid}",
	} {
		if err := world.CheckTemplate(template); err != nil {
			t.Errorf("%q: %v", template, err)
		}
		if got, err := world.FillTemplate(template, m); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", template, got, err, want)
		}
	}
	if got, err := world.FillTemplate("{payload}", &world.Message{Payload: []byte(`"text"`)}); err != nil || got != "text" {
		t.Errorf("the whole payload: got %q, %v", got, err)
	}
	for template, why := range map[string]string{
		"{payload.order.none}": "no such field", "{payload.order.id.x}": "no such field", "{payload.order}": "want a string", "{payload.a}": "want a string",
		"{payload.order.lines}": "want a string", "{header.none}": "no such header",
	} {
		if err := world.CheckTemplate(template); err != nil {
			t.Errorf("%q: %v", template, err)
		}
		if _, err := world.FillTemplate(template, m); !errors.Is(err, world.ErrInvalid) || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: got %v, want %s", template, err, why)
		}
	}
	for _, bad := range []string{"{", "}", "a{b", "{payload", "{payload.}", "{payload..a}", "{}", "{other}", "{topic.x}", "{header}", "{a{b}}", strings.Repeat("x", 1001)} {
		if err := world.CheckTemplate(bad); !errors.Is(err, world.ErrInvalid) {
			t.Errorf("%q: got %v, want ErrInvalid", bad, err)
		}
	}
}
