package api

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

// Span is a [time.Duration] whose text is like 90s, 36h, 7d or 1d12h. It is not negative.
type Span time.Duration

func (s Span) String() string { return human.SpanText(time.Duration(s)) }

// MarshalText returns the same text as String.
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalJSON reads a text. It returns [world.ErrInvalid] for another.
func (s *Span) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return fmt.Errorf("%w: duration %.40s: want a string like \"90s\"", world.ErrInvalid, b)
	}
	d, err := human.ParseSpan(text)
	if err != nil {
		return fmt.Errorf("%w: duration %.40q: %w", world.ErrInvalid, text, err)
	}
	*s = Span(d)
	return nil
}
