package stepwell_test

import (
	"errors"
	"testing"

	"github.com/stepwell/stepwell"
)

// touchy cannot stand what comes from outside.
type touchy struct{}

func (*touchy) UnmarshalJSON([]byte) error { panic("boom") }

// A body comes from anybody: where a type panics over it, the workflow hears so, and is not blocked for it.
func TestWebhookBodyThatATypePanicsOver(t *testing.T) {
	for _, body := range []string{`{"level":"boom"}`, `{`, ``} {
		r := &stepwell.WebhookRequest{Body: []byte(body)}
		if err := r.Decode(&struct{ Level touchy }{}); !errors.Is(err, stepwell.ErrInvalid) {
			t.Errorf("%s: %v, want %v", body, err, stepwell.ErrInvalid)
		}
	}
}
